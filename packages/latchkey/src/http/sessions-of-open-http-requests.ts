// Driver: the sessions of HTTP callers. A caller opens a session by a request whose answer stays open, and
// the session ends with that connection. Calls that acquire locks may name the session, and their holds then
// end with the session.
//
// Laws
// - When the caller's connection closes, the member releases the holds of its session and ends the session's
//   waits (C74). Without this law: a script with a lease of an hour is killed after a minute. The next script
//   waits for the rest of the hour.
// - The session renews no lease. Without this law: a machine loses its network, and TCP notices the loss only
//   after a quarter of an hour. Until then the lock stays held, although its lease is ten seconds.
// - A member that stops releases no hold (C75). Without this law: a restart of a member takes the locks from
//   running scripts, which could renew their leases at another member.
// - The member answers for another caller's session as for a session that has ended. Without this law: a
//   caller guesses an id, learns that the id exists, or ends the holds of another caller.

import { onAbort, type Timer } from '@latchkey/base'
import type { LockPort } from '@latchkey/lock'
import {
  CAPS,
  isLatchkeyError,
  LatchkeyError,
  nameOfLockKey,
  OP,
  READ,
  type TicketArg,
  type TicketResult,
} from '@latchkey/protocol'
import type { Identity } from '../member/identity-and-rights.js'
import { holdName } from './lease-durations-by-hold.js'
import { keyJson, problem } from './http-status-of-errors.js'
import { eventStream, type SentEvent } from './server-sent-events.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { objectOf } from './json-body.js'

/** In ms. The pause before the next attempt, after a release or a read of a hold has failed. */
const RETRY_MS = 1_000
/** In ms. The shortest pause between two reads of the same hold. */
const LEAST_MS = 50
const READ_MS = 5_000

interface BoundAsk {
  readonly session: string | undefined
  readonly lease: number
  readonly tickets: readonly TicketArg[]
}

interface Hold {
  readonly session: Session
  readonly ticket: TicketArg
  readonly lease: number
  timer: Timer | undefined
}

export class CallerSessions {
  readonly #sessions = new Map<string, Session>()
  /**
   * The holds of all sessions. If two sessions acquire the same hold, the hold belongs to the later session.
   */
  readonly #holds = new Map<string, Hold>()

  readonly open = async (call: Call): Promise<Reply> => {
    await objectOf(call)
    const { by, who, signal } = call
    let ofCaller = 0
    for (const session of this.#sessions.values()) if (session.who === who) ofCaller += 1
    if (this.#sessions.size >= CAPS.callerSessions || ofCaller >= CAPS.callerSessionsOfOne)
      throw new LatchkeyError(
        'ERR_BUSY',
        'This member has reached its limit of sessions that are bound to connections, or the limit for your token. Close some of your sessions, or ask another member.',
      )
    signal.throwIfAborted()
    by.lockPort.closed.throwIfAborted()
    const session = new Session(by.lockPort, who)
    this.#sessions.set(session.id, session)
    const offClosed = onAbort(by.lockPort.closed, () => this.#end(session, by.lockPort.closed.reason))
    onAbort(signal, () => {
      offClosed()
      this.#end(session, signal.reason)
    })
    return eventStream(call, session.events(), { event: 'session', data: { id: session.id } })
  }

  async acquire(call: Call, ask: BoundAsk, run: (call: Call) => Promise<Reply>): Promise<Reply> {
    if (ask.session === undefined) return run(call)
    const session = this.#sessions.get(ask.session)
    if (session === undefined || session.who !== call.who) return noSession()
    session.reserve(ask.tickets.length)
    const ending = new AbortController()
    const offs = [call.signal, session.ended].map((signal) =>
      onAbort(signal, () => ending.abort(signal.reason)),
    )
    if (call.signal.aborted) ending.abort(call.signal.reason)
    try {
      const reply = await run({ ...call, signal: ending.signal })
      if (reply.status === 200) this.#bind(session, ask)
      return session.isLeft ? noSession() : reply
    } catch (error) {
      // The cluster may have granted the hold, although the request failed here. So the session owns the
      // hold.
      if (isLatchkeyError(error) && error.outcome === 'unknown') this.#bind(session, ask)
      if (session.isLeft) return noSession()
      throw session.ended.aborted ? session.ended.reason : error
    } finally {
      session.pending -= ask.tickets.length
      for (const off of offs) off()
    }
  }

  released(key: Uint8Array, id: string): void {
    const hold = this.#holds.get(holdName(key, id))
    if (hold !== undefined) this.#drop(hold)
  }

  #bind(session: Session, { tickets, lease }: BoundAsk): void {
    if (session.isLeft) return void release(session.port, tickets, lease)
    if (session.ended.aborted) return
    for (const ticket of tickets) {
      this.released(...ticket)
      const hold: Hold = { session, ticket, lease, timer: undefined }
      this.#holds.set(holdName(...ticket), hold)
      session.holds.add(hold)
      this.#checkAfter(lease, hold)
    }
  }

  #drop(hold: Hold): void {
    hold.timer?.cancel()
    hold.session.holds.delete(hold)
    this.#holds.delete(holdName(...hold.ticket))
  }

  #checkAfter(millis: number, hold: Hold): void {
    const { clock } = hold.session.port
    hold.timer = clock.after(Math.max(millis, LEAST_MS), () => void this.#check(hold), { ref: false })
  }

  /**
   * Reads from the cluster whether the hold is still in force. If the hold is over, the stream of the session
   * gets an event. The deadline that this member knows does not show that the hold is over, because a renewal
   * may have reached the cluster through another member.
   */
  async #check(hold: Hold): Promise<void> {
    const { session, ticket } = hold
    const [key, id] = ticket
    const options = { timeout: READ_MS, signal: session.ended }
    const found = await session.port.read([READ.ticket, key, id], options).catch(() => undefined)
    if (this.#holds.get(holdName(key, id)) !== hold) return
    if (found === undefined) return this.#checkAfter(RETRY_MS, hold)
    const [state, owner] = found as TicketResult
    if (state === 'granted' && owner !== null) return this.#checkAfter(owner[2], hold)
    this.#drop(hold)
    session.lose({ event: 'lost', data: { ...keyJson(nameOfLockKey(key)), id } })
  }

  #end(session: Session, reason: unknown): void {
    if (!this.#sessions.delete(session.id)) return
    session.end(reason)
    const holds = [...session.holds]
    for (const hold of holds) this.#drop(hold)
    if (!session.isLeft || holds.length === 0) return
    const longest = Math.max(...holds.map(({ lease }) => lease))
    void release(
      session.port,
      holds.map(({ ticket }) => ticket),
      longest,
    )
  }
}

class Session {
  readonly id: string
  readonly port: LockPort
  readonly who: Identity | undefined
  readonly holds = new Set<Hold>()
  /** How many holds the unfinished calls of this session may still add. */
  pending = 0
  readonly #ending = new AbortController()
  readonly #lost: SentEvent[] = []
  #wake: () => void = () => {}

  constructor(port: LockPort, who: Identity | undefined) {
    this.id = port.newId()
    this.port = port
    this.who = who
  }

  get ended(): AbortSignal {
    return this.#ending.signal
  }

  /** True if the caller has disconnected. A stop of the member or a removed token does not count. */
  get isLeft(): boolean {
    return this.ended.aborted && !isLatchkeyError(this.ended.reason, 'ERR_CLOSED')
  }

  /**
   * Reserves room for `count` further holds, or throws ERR_BUSY. Events that the caller has not read count
   * like holds, because both use memory.
   */
  reserve(count: number): void {
    if (this.holds.size + this.pending + this.#lost.length + count > CAPS.callerSessionHolds)
      throw new LatchkeyError(
        'ERR_BUSY',
        `A session that is bound to a connection has at most ${CAPS.callerSessionHolds} holds. Release some, or open another session.`,
      )
    this.pending += count
  }

  lose(event: SentEvent): void {
    this.#lost.push(event)
    this.#wake()
  }

  end(reason: unknown): void {
    this.#ending.abort(reason)
    this.#wake()
  }

  async *events(): AsyncGenerator<SentEvent, undefined> {
    for (;;) {
      const lost = this.#lost.shift()
      if (lost !== undefined) yield lost
      else if (this.ended.aborted) throw this.ended.reason
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

/** Releases the holds. After a failure, this function tries again until the lease of the holds is over. */
async function release(port: LockPort, tickets: readonly TicketArg[], lease: number): Promise<void> {
  const until = port.clock.now() + lease
  for (let left = lease; left > 0 && !port.closed.aborted; left = until - port.clock.now()) {
    try {
      return void (await port.command([OP.releaseAll, tickets], { timeout: left }).result)
    } catch {
      await new Promise<void>((resolve) => port.clock.after(RETRY_MS, resolve, { ref: false }))
    }
  }
}

const noSession = (): Reply =>
  problem(
    404,
    'NOT_FOUND',
    'This member has no such session of yours: it has ended with its connection, or another member has it. Open one with POST /v1/sessions, and keep that connection open.',
  )
