// Driver: the connection of one client, which runs in this process or elsewhere. Other code has already
// checked the form of each request. This file sends commands to the log or to the leader, reads to
// reads-and-views-of-connection.ts, and watches to client-watches.ts.

import type { Link, LinkReply, LinkRequest } from '@latchkey/client'
import { fitsRecord, isPlainPut, type KvStore, RecordSource, sentForm } from '@latchkey/kv'
import {
  type Answer,
  CAPS,
  decodeCommand,
  encodeCommand,
  errorAnswer,
  isBadCommand,
  LatchkeyError,
  okAnswer,
  OP,
  overBudget,
  type OwnerResult,
  type PartyResult,
  type PartyTicket,
  SESSION_OVER_ANSWER,
} from '@latchkey/protocol'
import type { Outcome, RaftNode } from '@latchkey/raft'
import type { Admin } from './admin-calls.js'
import { ClientReads } from './reads-and-views-of-connection.js'
import { ClientWatches } from './client-watches.js'
import { type SourceCounters, TimedRequests } from './call-counters.js'
import { ConnectionTraces } from './traced-requests-of-connection.js'
import type { CommandQueue } from './fair-command-queue.js'
import type { Forwarder } from './forwarded-requests.js'
import type { ReadTurns } from './read-answer-bytes-per-turn.js'
import {
  isAnonymous,
  isLimited,
  isOthersSession,
  mayTouchLock,
  openerName,
  refusalOfCommand,
} from './required-rights.js'
import { type HiddenFields, heldBackOf, ownerWithoutContext } from './remove-hold-contexts-from-answers.js'
import { failedReply, refusalError, refusedReply, tooWide } from './request-errors.js'
import type { RequestTracer } from './request-tracer.js'
import type { Identity, Right } from './identity-and-rights.js'

export interface ClientConnectionPorts {
  readonly node: RaftNode
  readonly kv: KvStore
  readonly forwarder: Forwarder
  readonly admin: Admin
  readonly turns: ReadTurns
  readonly commands: CommandQueue
  readonly calls: SourceCounters
  /** Undefined if requests are not traced. */
  readonly tracer: RequestTracer | undefined
  tell(reply: LinkReply): void
  readonly identity: Identity
  /** From this call on, the client connection gets the grants and the ends of waits of the session. */
  attach(session: number, clientConnection: ClientConnection): void
  ended(clientConnection: ClientConnection): void
}

/**
 * How many openSession commands of one connection may be unanswered. A further one fails with ERR_BUSY. A
 * client needs only one session.
 */
const MOST_OPENING = 64

type Command = Extract<LinkRequest, { kind: 'command' }>
type Decoded = Parameters<CommandQueue['submit']>[5]
type CommandOutcome = Outcome | { type: 'returned'; answer: Uint8Array }

export class ClientConnection implements Link {
  readonly #ports: ClientConnectionPorts
  readonly #reads: ClientReads
  readonly #watches: ClientWatches
  readonly #record = new RecordSource()
  readonly #anonymous: boolean
  readonly #timed = new TimedRequests()
  readonly #traces: ConnectionTraces
  #opening = 0
  #closed = false

  constructor(ports: ClientConnectionPorts) {
    this.#ports = ports
    this.#anonymous = isAnonymous(ports.identity)
    const tell = (reply: LinkReply) => this.tell(reply)
    this.#traces = new ConnectionTraces(ports.tracer, () => ports.node.role)
    this.#reads = new ClientReads(ports, tell)
    this.#watches = new ClientWatches(ports, tell)
  }

  tell(reply: LinkReply): void {
    if (this.#closed) return
    if (reply.kind === 'answer') {
      this.#ports.calls.answered(reply, this.#timed)
      if (this.#traces.size > 0) this.#traces.end(reply)
    }
    this.#ports.tell(reply)
  }

  send(request: LinkRequest): void {
    if (this.#closed) return
    this.#ports.calls.came(request, this.#timed)
    this.#run(this.#traces.begin(request))
  }

  #run(request: LinkRequest): void {
    switch (request.kind) {
      case 'command':
        return this.#command(request)
      case 'read':
        return this.#reads.read(request.id, request.stale, request.read)
      case 'watch':
        return this.#watches.open(request)
      case 'watchMore':
        return this.#watches.more(request.id, request.events)
      case 'watchEnd':
        return this.#watches.end(request.id)
      case 'attach':
        if (this.#may('write') && !this.#isOthers(request.session)) this.#ports.attach(request.session, this)
        return
      case 'admin':
        return this.#admin(request)
    }
  }

  granted(key: Uint8Array, owner: OwnerResult): void {
    if (!mayTouchLock(this.#ports.identity, key)) return
    const shown = this.#may('read') ? owner : ownerWithoutContext(owner)
    this.tell({ kind: 'granted', key, owner: shown })
  }

  ended(ticket: PartyTicket, result: PartyResult): void {
    if (mayTouchLock(this.#ports.identity, ticket[1])) this.tell({ kind: 'ended', ticket, result })
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#watches.close()
    this.#reads.close()
    this.#traces.close()
    this.#ports.commands.leave(this)
    this.#ports.ended(this)
  }

  #may(right: Right): boolean {
    return this.#ports.identity.rights.includes(right)
  }

  #isOthers(session: number): boolean {
    if (this.#anonymous) return false
    return isOthersSession(this.#ports.identity, this.#ports.kv.openSessions.openerOf(session))
  }

  #command(command: Command): void {
    const { id, body } = command
    const { identity } = this.#ports
    if (!identity.rights.includes('write')) return this.#refuse(id, new LatchkeyError('ERR_FORBIDDEN'))
    if (body.length > CAPS.commandBytes) return this.#refuse(id, new LatchkeyError('ERR_TOO_LARGE'))
    if (!fitsRecord(command)) return this.#refuse(id, tooWide())
    // For a session of another identity, the answer is that the session has ended. So a client with a new
    // token opens a new session.
    if (this.#isOthers(command.session)) return this.#answer(id, 0, SESSION_OVER_ANSWER)
    // Nearly all writes are plain puts. The state machine decodes each plain put, so this function does not
    // decode the put a second time.
    const isPlain = isPlainPut(body)
    if (isPlain && !isLimited(identity)) {
      this.#handOn(command, false)
      return this.#ports.kv.expectPut(body)
    }
    const decoded = decodeCommand(body)
    if (isBadCommand(decoded))
      return this.#refuse(
        id,
        new LatchkeyError('ERR_PROTOCOL', `The command was refused: ${decoded.reason}.`),
      )
    const reason = overBudget(decoded)
    if (reason !== null) return this.#refuse(id, new LatchkeyError('ERR_TOO_LARGE', reason))
    const refusal = refusalOfCommand(identity, decoded)
    if (refusal !== undefined) return this.#refuse(id, refusal)
    const holdBack = this.#may('read') ? undefined : heldBackOf(decoded)
    const onOutcome =
      holdBack && ((outcome: CommandOutcome, at: number) => this.#onOutcome(outcome, at, holdBack))
    if (decoded[0] === OP.openSession) return this.#openSession(command, decoded[1])
    this.#handOn(command, decoded[0] === OP.endSession, onOutcome, decoded)
    if (isPlain) this.#ports.kv.expectPut(body)
  }

  /**
   * The member writes the identity into the command. Otherwise a client could name other identities, and
   * evade the limit of sessions for each identity.
   */
  #openSession(command: Command, life: number): void {
    const by = openerName(this.#ports.identity.name)
    const body = encodeCommand([OP.openSession, life, by])
    if (this.#opening >= MOST_OPENING) return this.#refuse(command.id, new LatchkeyError('ERR_BUSY'))
    this.#opening++
    const onOutcome = (outcome: CommandOutcome, id: number) => {
      this.#opening--
      this.#onOutcome(outcome, id)
    }
    const refusal =
      this.#ports.node.role === 'leader' ? this.#ports.kv.openSessions.refusalFor(by) : undefined
    if (refusal === undefined) this.#handOn({ ...command, body }, true, onOutcome)
    else onOutcome({ type: 'returned', answer: refusal }, command.id)
  }

  #handOn(command: Command, alone: boolean, onOutcome = this.#onOutcome, decoded?: Decoded): void {
    const { node, forwarder, commands } = this.#ports
    const leader = node.raft.leader
    if (node.role === 'leader') return commands.submit(this, command, onOutcome, command.id, alone, decoded)
    if (leader === undefined) return node.submit(this.#record.of(command), onOutcome, alone, command.id)
    forwarder.command(leader, command, (outcome) => onOutcome(outcome, command.id))
  }

  readonly #onOutcome = (outcome: CommandOutcome, id: number, holdBack: HiddenFields = asItIs): void => {
    switch (outcome.type) {
      case 'applied':
        return this.#answer(id, provenTime(outcome), holdBack(sentForm(outcome.answer)))
      case 'returned':
        return this.#answer(id, 0, holdBack(outcome.answer))
      case 'refused':
        return this.#refuse(id, refusalError(outcome.reason))
      case 'unknown':
        return this.tell({
          kind: 'answer',
          id,
          time: 0,
          never: false,
          answer: errorAnswer('ERR_OUTCOME_UNKNOWN'),
        })
    }
  }

  #answer(id: number, time: number, answer: Answer | Uint8Array): void {
    this.tell({ kind: 'answer', id, time, never: false, answer })
  }

  #refuse(id: number, error: LatchkeyError): void {
    this.tell(refusedReply(id, error))
  }

  #admin({ id, call, args }: Extract<LinkRequest, { kind: 'admin' }>): void {
    const { admin } = this.#ports
    if (!this.#may(admin.right(call))) return this.#refuse(id, new LatchkeyError('ERR_FORBIDDEN'))
    admin.run(call, args).then(
      (result) => this.tell({ kind: 'answer', id, time: 0, never: false, answer: okAnswer(result) }),
      (error) => this.tell(failedReply(id, error)),
    )
  }
}

const asItIs: HiddenFields = (answer) => answer

/**
 * Returns the cluster time of the log entry, or 0 if the answer does not prove that this member leads now
 * (CT5). A stored answer to an earlier attempt proves nothing about the present leader.
 */
export const provenTime = ({ answer, time }: Extract<Outcome, { type: 'applied' }>): number =>
  answer.fromTable ? 0 : time
