// Driver: runs the requests that other members send to this member. Such a request is a command that the
// other member forwards for its client, or an admin call.
//
// Law: this member proposes a forwarded command or refuses it, and never forwards it again (M28). A sender
// that was wrong about the leader gets a refusal and sends the command to another member.

import { shortError } from '@latchkey/base'
import { isPlainPut, type KvStore } from '@latchkey/kv'
import {
  type AdminCall,
  type Answer,
  commandName,
  decodeCommand,
  encodeAnswer,
  errorAnswer,
  isBadCommand,
  LatchkeyError,
  okAnswer,
  OP,
  opOf,
} from '@latchkey/protocol'
import type { MemberId, Outcome, RaftNode } from '@latchkey/raft'
import type { Admin } from './admin-calls.js'
import { errorCodeIn } from './call-counters.js'
import type { CommandQueue } from './fair-command-queue.js'
import type { MemberMessage } from './non-raft-member-messages.js'
import { outcomeMessage } from './forwarded-command-outcome.js'
import { refusalError } from './request-errors.js'
import type { RequestTrace, RequestTracer } from './request-tracer.js'

interface RequestsOfMembersPorts {
  readonly node: RaftNode
  readonly kv: KvStore
  readonly commands: CommandQueue
  readonly admin: Admin
  /** Undefined if requests are not traced. */
  readonly tracer: RequestTracer | undefined
  readonly answer: (to: MemberId, message: MemberMessage) => void
}

type ForwardedCommand = Extract<MemberMessage, { kind: 'command' }>

export class RequestsOfMembers {
  readonly #ports: RequestsOfMembersPorts

  constructor(ports: RequestsOfMembersPorts) {
    this.#ports = ports
  }

  command(from: MemberId, command: ForwardedCommand): void {
    const { commands, kv, answer } = this.#ports
    const trace = this.#follow(from, command)
    const onOutcome = (outcome: Outcome) => {
      trace?.end(codeOfOutcome(outcome))
      answer(from, outcomeMessage(command.id, outcome))
    }
    // The sender has checked the form of the command and the rights of its client. A command with session 0
    // opens or ends a session, and has a log entry of its own. The leader knows how many sessions are open,
    // so the leader may refuse a new session.
    const alone = command.session === 0
    const refusal = alone ? this.#refusalOfSession(command.body) : undefined
    if (refusal !== undefined) {
      trace?.end(errorCodeIn(refusal))
      return answer(from, { kind: 'returned', id: command.id, answer: refusal })
    }
    commands.submit(`${from} ${command.session}`, command, onOutcome, command.id, alone)
    if (isPlainPut(command.body)) kv.expectPut(command.body)
  }

  #follow(from: MemberId, { trace, body }: ForwardedCommand): RequestTrace | undefined {
    if (trace === undefined) return undefined
    const { tracer, node } = this.#ports
    return tracer?.request(commandName(opOf(body)), trace, node.role, from)
  }

  #refusalOfSession(body: Uint8Array): Uint8Array | undefined {
    const { node, kv } = this.#ports
    const command = node.role === 'leader' ? decodeCommand(body) : undefined
    if (command === undefined || isBadCommand(command) || command[0] !== OP.openSession) return undefined
    return kv.openSessions.refusalFor(command[2] ?? '')
  }

  call(from: MemberId, { id, call, args }: Extract<MemberMessage, { kind: 'call' }>): void {
    const { admin, answer } = this.#ports
    const tell = (result: Answer) => answer(from, { kind: 'returned', id, answer: encodeAnswer(result) })
    admin
      .runHere(call as AdminCall, args)
      .then((result) => tell(okAnswer(result ?? null)))
      .catch((error: unknown) => {
        const known =
          error instanceof LatchkeyError ? error : new LatchkeyError('ERR_PROTOCOL', shortError(error))
        tell(errorAnswer(known.code, known.message, known))
      })
  }
}

function codeOfOutcome(outcome: Outcome): string | undefined {
  switch (outcome.type) {
    case 'applied':
      return errorCodeIn(outcome.answer.bytes)
    case 'refused':
      return refusalError(outcome.reason).code
    case 'unknown':
      return 'ERR_OUTCOME_UNKNOWN'
  }
}
