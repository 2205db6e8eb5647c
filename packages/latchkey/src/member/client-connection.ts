// Driver: the connection of one client, in this process or remote. Each request was checked before this file
// gets it. This file sends commands to the log or to the leader, reads to client-reads.ts, and watches to
// client-watches.ts.

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
import { ClientReads } from './client-reads.js'
import { ClientWatches } from './client-watches.js'
import { type DoorCounters, TimedRequests } from './call-counters.js'
import { ConnectionTraces } from './connection-traces.js'
import type { CommandQueue } from './command-queue.js'
import type { Forwarder } from './forwarder.js'
import type { ReadTurns } from './read-turns.js'
import {
  isAnonymous,
  isLimited,
  isOthersSession,
  mayTouchLock,
  openerName,
  refusalOfCommand,
} from './required-rights.js'
import { type HiddenFields, heldBackOf, ownerWithoutContext } from './hidden-fields.js'
import { failedReply, refusalError, refusedReply, tooWide } from './request-errors.js'
import type { RequestTracer } from './request-tracer.js'
import type { Identity, Right } from './rights.js'

export interface ClientConnectionPorts {
  readonly node: RaftNode
  readonly kv: KvStore
  readonly forwarder: Forwarder
  readonly admin: Admin
  readonly turns: ReadTurns
  readonly commands: CommandQueue
  /** The counters of the way by which this client is connected. */
  readonly calls: DoorCounters
  /** Undefined if requests are not traced. */
  readonly tracer: RequestTracer | undefined
  tell(reply: LinkReply): void
  /** The identity of this connection's client. */
  readonly identity: Identity
  /** From now on, grants to this session are pushed to this client connection. */
  attach(session: number, clientConnection: ClientConnection): void
  ended(clientConnection: ClientConnection): void
}

/**
 * How many sessions one connection may open at the same time. A client needs one session. A further request
 * fails with ERR_BUSY.
 */
const MOST_OPENING = 64

type Command = Extract<LinkRequest, { kind: 'command' }>
type Decoded = Parameters<CommandQueue['submit']>[5]
type Told = Outcome | { type: 'returned'; answer: Uint8Array }

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

  /** Pushes a grant to the session to which this connection is attached. */
  granted(key: Uint8Array, owner: OwnerResult): void {
    if (!mayTouchLock(this.#ports.identity, key)) return
    const shown = this.#may('read') ? owner : ownerWithoutContext(owner)
    this.tell({ kind: 'granted', key, owner: shown })
  }

  /** Pushes the end of a wait at a latch or a barrier to the session to which this connection is attached. */
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

  // ---- Commands

  #command(command: Command): void {
    const { id, body } = command
    const { identity } = this.#ports
    if (!identity.rights.includes('write')) return this.#refuse(id, new LatchkeyError('ERR_FORBIDDEN'))
    if (body.length > CAPS.commandBytes) return this.#refuse(id, new LatchkeyError('ERR_TOO_LARGE'))
    if (!fitsRecord(command)) return this.#refuse(id, tooWide())
    // The answer says that the session has ended. A client whose token has a new name then opens
    // another session.
    if (this.#isOthers(command.session)) return this.#answer(id, 0, SESSION_OVER_ANSWER)
    // Nearly all writes are plain puts. Plain puts are not decoded here, because the state machine decodes
    // them anyway.
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
    const told = holdBack && ((outcome: Told, at: number) => this.#told(outcome, at, holdBack))
    if (decoded[0] === OP.openSession) return this.#openSession(command, decoded[1])
    this.#handOn(command, decoded[0] === OP.endSession, told, decoded)
    if (isPlain) this.#ports.kv.expectPut(body)
  }

  /**
   * Opens a session. This member, and not the client, names the identity that opens the session, because
   * sessions are counted by that name.
   */
  #openSession(command: Command, life: number): void {
    const by = openerName(this.#ports.identity.name)
    const body = encodeCommand([OP.openSession, life, by])
    if (this.#opening >= MOST_OPENING) return this.#refuse(command.id, new LatchkeyError('ERR_BUSY'))
    this.#opening++
    const told = (outcome: Told, id: number) => {
      this.#opening--
      this.#told(outcome, id)
    }
    const refusal =
      this.#ports.node.role === 'leader' ? this.#ports.kv.openSessions.refusalFor(by) : undefined
    if (refusal === undefined) this.#handOn({ ...command, body }, true, told)
    else told({ type: 'returned', answer: refusal }, command.id)
  }

  #handOn(command: Command, alone: boolean, told = this.#told, decoded?: Decoded): void {
    const { node, forwarder, commands } = this.#ports
    const leader = node.raft.leader
    if (node.role === 'leader') return commands.submit(this, command, told, command.id, alone, decoded)
    if (leader === undefined) return node.submit(this.#record.of(command), told, alone, command.id)
    forwarder.command(leader, command, (outcome) => told(outcome, command.id))
  }

  /**
   * Handles the outcomes of all commands of this connection. The second argument is the client's own request
   * id.
   */
  readonly #told = (outcome: Told, id: number, holdBack: HiddenFields = asItIs): void => {
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

  // ---- Other requests

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
 * Returns the cluster time that the answer proves, or 0. A stored answer to an earlier attempt does not prove
 * that this member leads, and only a proof of leadership bounds cluster time (CT5).
 */
export const provenTime = ({ answer, time }: Extract<Outcome, { type: 'applied' }>): number =>
  answer.fromTable ? 0 : time
