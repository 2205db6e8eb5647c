// Driver: owns what one client has requested from this member and not received yet: one object for each
// connection, in the own process or remote. The door has checked each request before; this file sends it to
// the log, to the state, or to the leader.

import type { Link, LinkReply, LinkRequest } from '@latchkey/client'
import {
  fitsRecord,
  isPlainPut,
  type KvStore,
  RecordSource,
  toldAs,
  type Watch,
  type WatchSink,
} from '@latchkey/kv'
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
  type Read,
  type TicketResult,
  READ,
  SESSION_OVER_ANSWER,
} from '@latchkey/protocol'
import type { Outcome, RaftNode } from '@latchkey/raft'
import type { Admin } from './admin-calls.js'
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
  refusalOfRead,
  refusalOfWatch,
} from './required-rights.js'
import { type HiddenFields, heldBackOf, ownerWithoutContext, ticketWithoutContext } from './hidden-fields.js'
import { refusalError, tooMany, tooWide, viewGone } from './request-errors.js'
import type { Identity, Right } from './rights.js'

export interface ClientConnectionPorts {
  readonly node: RaftNode
  readonly kv: KvStore
  readonly forwarder: Forwarder
  readonly admin: Admin
  readonly turns: ReadTurns
  readonly commands: CommandQueue
  tell(reply: LinkReply): void
  /** The identity of this connection's client. */
  readonly identity: Identity
  /** Grants to this session are pushed to this client connection from now on. */
  attach(session: number, clientConnection: ClientConnection): void
  ended(clientConnection: ClientConnection): void
}

/** An answer must fit into one message. */
const MOST_ANSWER = CAPS.maxPayload - CAPS.frameBytes
/** The most watches of one connection; the next one fails with ERR_BUSY. */
const MOST_WATCHES = 1_000
/** The most sessions that one connection opens at the same time (it needs one): ERR_BUSY beyond. */
const MOST_OPENING = 64
/** The most waiting reads of one connection; the next one fails with ERR_BUSY. */
const MOST_READS = 20_000

type Command = Extract<LinkRequest, { kind: 'command' }>
type Decoded = Parameters<CommandQueue['submit']>[5]
type Told = Outcome | { type: 'returned'; answer: Uint8Array }

export class ClientConnection implements Link {
  readonly #ports: ClientConnectionPorts
  readonly #watches = new Map<number, Watch>()
  /** The events that wait until the watch is open. */
  readonly #credit = new Map<number, number>()
  /** The frozen views that this client connection opened: it cannot read or close those of others. */
  readonly #views = new Set<number>()
  readonly #record = new RecordSource()
  readonly #anonymous: boolean
  #reading = 0
  #opening = 0
  #closed = false

  constructor(ports: ClientConnectionPorts) {
    this.#ports = ports
    this.#anonymous = isAnonymous(ports.identity)
  }

  tell(reply: LinkReply): void {
    if (!this.#closed) this.#ports.tell(reply)
  }

  send(request: LinkRequest): void {
    if (this.#closed) return
    switch (request.kind) {
      case 'command':
        return this.#command(request)
      case 'read':
        return this.#read(request.id, request.stale, request.read)
      case 'watch':
        return this.#watch(request)
      case 'watchMore':
        return this.#watchMore(request.id, request.events)
      case 'watchEnd':
        return this.#endWatch(request.id)
      case 'attach':
        if (this.#may('write') && !this.#isOthers(request.session)) this.#ports.attach(request.session, this)
        return
      case 'admin':
        return this.#admin(request)
    }
  }

  /** A grant to the session to which this connection is attached. */
  granted(key: Uint8Array, owner: OwnerResult): void {
    if (!mayTouchLock(this.#ports.identity, key)) return
    const shown = this.#may('read') ? owner : ownerWithoutContext(owner)
    this.tell({ kind: 'granted', key, owner: shown })
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const watch of this.#watches.values()) watch.close()
    this.#watches.clear()
    this.#ports.kv.closeViews(this.#views)
    this.#ports.turns.left(this)
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

  // ---- commands

  #command(command: Command): void {
    const { id, body } = command
    const { identity } = this.#ports
    if (!identity.rights.includes('write')) return this.#refuse(id, new LatchkeyError('ERR_FORBIDDEN'))
    if (body.length > CAPS.commandBytes) return this.#refuse(id, new LatchkeyError('ERR_TOO_LARGE'))
    if (!fitsRecord(command)) return this.#refuse(id, tooWide())
    // The answer is that of an ended session: a client whose token has a new name then opens another session.
    if (this.#isOthers(command.session)) return this.#answer(id, 0, SESSION_OVER_ANSWER)
    // Nearly all writes are plain puts. They are not decoded here, because the machine decodes them once
    // more.
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

  /** The opener is named here, and not by the client: sessions are counted by this name. */
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

  /** One function for all commands: the second argument is the client's own request id. */
  readonly #told = (outcome: Told, id: number, holdBack: HiddenFields = asItIs): void => {
    switch (outcome.type) {
      case 'applied':
        return this.#answer(id, provenTime(outcome), holdBack(toldAs(outcome.answer)))
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
    this.tell({
      kind: 'answer',
      id,
      time: 0,
      never: true,
      answer: errorAnswer(error.code, error.message, error),
    })
  }

  // ---- reads

  #read(id: number, stale: boolean, read: Read): void {
    const refusal = refusalOfRead(this.#ports.identity, read)
    if (refusal !== undefined) return this.#refuse(id, refusal)
    const view = viewOf(read)
    if (view !== 0 && !this.#views.has(view)) {
      if (read[0] !== READ.closeView) return this.#failed(id, viewGone())
      return this.#served(id, read, undefined, 0)
    }
    // A view is frozen: its content was confirmed when it was opened.
    if (stale || view !== 0) return this.#serve(id, read, 0)
    if (this.#reading >= MOST_READS) return this.#refuse(id, new LatchkeyError('ERR_BUSY'))
    this.#reading++
    this.#ports.node.read((outcome) => {
      this.#reading--
      if (outcome.ok) this.#serve(id, read, outcome.time)
      else this.#refuse(id, new LatchkeyError('ERR_NO_LEADER'))
    })
    this.#ports.kv.expect(read)
  }

  /** Runs the read now, or in a later turn after the reads of other connections. */
  #serve(id: number, read: Read, time: number): void {
    if (!this.#closed) this.#ports.turns.run(this, () => this.#serveNow(id, read, time))
  }

  /** The approximate bytes of the answer. A page of rows is read outside the event loop. */
  #serveNow(id: number, read: Read, time: number): number {
    if (this.#closed) return 0
    try {
      const result = this.#ports.kv.read(read, time === 0 ? undefined : time, this.#ports.identity.name)
      if (result instanceof Promise)
        result
          .then((later) => this.#served(id, read, later, time))
          .catch((error: unknown) => this.#failed(id, error))
      else this.#served(id, read, result, time)
      return result instanceof Promise ? 0 : weigh(result)
    } catch (error) {
      this.#failed(id, error)
      return 0
    }
  }

  #served(id: number, read: Read, result: unknown, time: number): void {
    const many = read[0] === READ.multiGet || read[0] === READ.lockQuery
    if (many && weigh(result) > MOST_ANSWER) return this.#failed(id, tooMany())
    if (read[0] === READ.page || read[0] === READ.backup)
      this.#keepView(read[1], (result as readonly [number])[0])
    if (read[0] === READ.closeView) this.#views.delete(read[1])
    const shown =
      read[0] === READ.ticket && !this.#may('read') ? ticketWithoutContext(result as TicketResult) : result
    this.tell({ kind: 'answer', id, time, never: false, answer: okAnswer(shown) })
  }

  #keepView(asked: number, open: number): void {
    if (asked !== open) this.#views.delete(asked)
    if (open !== 0) this.#views.add(open)
    if (this.#closed) this.#ports.kv.closeViews(this.#views)
  }

  #failed(id: number, error: unknown): void {
    const known =
      error instanceof LatchkeyError
        ? error
        : new LatchkeyError('ERR_STORAGE_FAILED', String(error), { cause: error })
    this.tell({
      kind: 'answer',
      id,
      time: 0,
      never: false,
      answer: errorAnswer(known.code, known.message, known),
    })
  }

  // ---- watches

  #watch(request: Extract<LinkRequest, { kind: 'watch' }>): void {
    const { id } = request
    const refusal = refusalOfWatch(this.#ports.identity, [request.start, request.end], request.of)
    if (refusal !== undefined) return this.#watchOver(id, refusal)
    // A watch id that is used again ends the watch that had it.
    this.#endWatch(id)
    if (this.#watches.size + this.#credit.size >= MOST_WATCHES)
      return this.#watchOver(id, new LatchkeyError('ERR_BUSY'))
    this.#credit.set(id, 0)
    this.#ports.node.read((outcome) => {
      if (this.#closed || !this.#credit.has(id)) return
      if (outcome.ok) this.#openWatch(request)
      else this.#watchOver(id, new LatchkeyError('ERR_NO_LEADER'))
    })
  }

  #openWatch({ id, start, end, from, of }: Extract<LinkRequest, { kind: 'watch' }>): void {
    try {
      const sink: WatchSink = {
        events: (events, upTo) => this.tell({ kind: 'events', ids: [id], events, upTo }),
        over: (error) => this.#watchOver(id, error),
      }
      const watch = this.#ports.kv.watch({ start, end }, from, sink, this.#ports.identity.name, of)
      this.#watches.set(id, watch)
      watch.more(this.#credit.get(id) ?? 0)
      this.#credit.delete(id)
      // The first report is sent at once: the watcher learns the revision after which its watch begins.
      if (from === 0 && of === undefined)
        this.tell({ kind: 'events', ids: [id], events: [], upTo: this.#ports.kv.revision })
    } catch (error) {
      this.#watchOver(
        id,
        error instanceof LatchkeyError ? error : new LatchkeyError('ERR_BUSY', String(error)),
      )
    }
  }

  #watchMore(id: number, events: number): void {
    const waiting = this.#credit.get(id)
    if (waiting === undefined) this.#watches.get(id)?.more(events)
    else this.#credit.set(id, waiting + events)
  }

  #watchOver(id: number, error: LatchkeyError): void {
    this.#watches.delete(id)
    this.#credit.delete(id)
    this.tell({ kind: 'watchOver', id, answer: errorAnswer(error.code, error.message, error) })
  }

  #endWatch(id: number): void {
    this.#watches.get(id)?.close()
    this.#watches.delete(id)
    this.#credit.delete(id)
  }

  // ---- other requests

  #admin({ id, call, args }: Extract<LinkRequest, { kind: 'admin' }>): void {
    const { admin } = this.#ports
    if (!this.#may(admin.right(call))) return this.#refuse(id, new LatchkeyError('ERR_FORBIDDEN'))
    admin.run(call, args).then(
      (result) => this.tell({ kind: 'answer', id, time: 0, never: false, answer: okAnswer(result) }),
      (error) => this.#failed(id, error),
    )
  }
}

const asItIs: HiddenFields = (answer) => answer

/**
 * A stored answer to an earlier attempt proves no leadership (CT5: only a proof of leadership bounds cluster
 * time).
 */
export const provenTime = ({ answer, time }: Extract<Outcome, { type: 'applied' }>): number =>
  answer.fromTable ? 0 : time

const viewOf = (read: Read): number =>
  read[0] === READ.page || read[0] === READ.closeView || read[0] === READ.backup ? read[1] : 0

function weigh(value: unknown): number {
  if (value instanceof Uint8Array || typeof value === 'string') return value.length + 5
  return Array.isArray(value) ? value.reduce((sum: number, part) => sum + weigh(part), 5) : 9
}
