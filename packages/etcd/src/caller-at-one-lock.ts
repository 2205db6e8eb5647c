// Driver: owns the state of one caller at one lock: its place in the queue, its hold, and their etcd leases.
//
// Laws:
// - The steps of a caller run one at a time, so a cancel knows every lease that a take has made.
// - If a transaction was not answered, its lease is doubtful, and is revoked before the next attempt (EN4,
//   EN5). etcd refuses a transaction that names a revoked lease. Without this law: a caller gives up, and
//   minutes later its delayed request takes the lock for a caller that no longer exists.
// - A hold lasts as long as the caller asked for, less the drift of the clocks. The time begins before the
//   lease request is sent, so the hold ends before the etcd lease (EN1, EN8).
// - A caller whose hold has ended by its own clock revokes the etcd lease, because the lease may be longer
//   than the hold. Without this law: other callers wait for the end of the lease.

import type { Clock, Timer } from '@latchkey/base'
import type { EngineHold, ReleaseAnswer, TakeAnswer, TakeRequest } from '@latchkey/lock'
import { CAPS, LatchkeyError } from '@latchkey/protocol'
import type { EtcdCalls, Lease } from './etcd-calls.js'
import type { TxnAnswer } from './etcd-types.js'
import { type Before, hadToken, type Info, type LockRows, otherHold, type Place } from './lock-rows.js'
import type { RowWatches } from './row-watches.js'

export interface Ports {
  readonly calls: EtcdCalls
  readonly rows: LockRows
  readonly watches: RowWatches
  /** Called when the waiter with this id may be the next holder. */
  readonly wake: (id: string) => void
  readonly clock: Clock
  readonly now: () => number
  /** The usable fraction of a lease. The fraction is less than 1, because clocks drift. */
  readonly part: number
}

interface OwnHold extends EngineHold {
  readonly lease: Lease
  readonly info: Info
}

interface OwnPlace extends Place {
  /**
   * The time, by this process's clock, at which the waiter leaves the queue. If the waiter asks again before,
   * this time moves to a later time (EN6).
   */
  readonly until: number
}

/**
 * How many rounds one take makes without a pause. A new round begins if the row that blocks the caller
 * (`Before.row`) is deleted during the take.
 */
const ROUNDS = 5
/** In ms, the pause before the caller takes again, if ROUNDS rounds were not enough. */
const SOON = 20

export class Contender {
  readonly #key: Uint8Array
  readonly #id: string
  readonly #ports: Ports
  /** Called when the caller has neither a place in the queue nor a hold any more. */
  readonly #done: () => void
  #lastStep: Promise<unknown> = Promise.resolve()
  #steps = 0
  #hold: OwnHold | undefined
  #place: OwnPlace | undefined
  readonly #doubtful = new Set<string>()
  #timer: Timer | undefined
  #watched: { readonly row: Buffer; readonly end: () => void } | undefined

  constructor(key: Uint8Array, id: string, ports: Ports, done: () => void) {
    this.#key = key
    this.#id = id
    this.#ports = ports
    this.#done = done
  }

  async #step<T>(run: () => Promise<T>): Promise<T> {
    this.#steps++
    const before = this.#lastStep
    const step = before.catch(() => {}).then(run)
    this.#lastStep = step
    try {
      return await step
    } finally {
      this.#steps--
      this.#arm()
    }
  }

  take(request: TakeRequest): Promise<TakeAnswer> {
    return this.#step(async () => {
      const begun = this.#ports.now()
      if (begun > request.before) return late(begun)
      await this.#revokeDoubtful()
      const again = await this.#reenter(request, begun)
      if (again !== undefined) return again
      return this.#acquire(request)
    })
  }

  async #acquire(request: TakeRequest): Promise<TakeAnswer> {
    const { queues, patience, before } = request
    let seen: Before | undefined
    for (let round = 0; round < ROUNDS; round++) {
      if (this.#place !== undefined) seen = await this.#stay(this.#place, patience)
      if (this.#place === undefined || seen?.row === undefined) {
        const answer = await this.#tryOnce(request)
        if ('code' in answer) return answer
        seen = answer
      }
      const now = this.#ports.now()
      if (now > before) return late(now)
      if (seen.row !== undefined && (!queues || this.#place !== undefined)) return this.#held(seen, queues)
      if (queues && this.#place === undefined) {
        seen = await this.#enter(request, seen)
        if (seen.row !== undefined) return this.#held(seen, true)
      }
    }
    return { ...this.#held(seen as Before, queues), again: SOON }
  }

  #held(seen: Before, queued: boolean): TakeAnswer {
    const now = this.#ports.now()
    if (queued && seen.row !== undefined) this.#watch(seen.row, seen.revision)
    return { now, code: 'HELD', hold: otherHold(seen.hold, now), queued }
  }

  #watch(row: Buffer, revision: string): void {
    if (this.#watched?.row.equals(row)) return
    this.#endWatch()
    const { watches, wake } = this.#ports
    const end = watches.begin(row, revision, () => {
      this.#watched = undefined
      wake(this.#id)
    })
    this.#watched = { row, end }
  }

  #endWatch(): void {
    this.#watched?.end()
    this.#watched = undefined
  }

  async #tryOnce(request: TakeRequest): Promise<TakeAnswer | Before> {
    const { key, id, lease: millis, context, before } = request
    const { calls, rows, now, clock } = this.#ports
    const begun = now()
    const lease = await calls.grant(millis)
    const info = { acquires: 1, context, lease: millis, since: clock.instant().wall }
    const taken = await this.#doubted([lease.id], () =>
      calls.txn(rows.take(key, id, lease.id, info, this.#place)),
    )
    if (!taken.succeeded) {
      void calls.revoke(lease.id).catch(() => {})
      const seen = rows.before(key, id, taken)
      if (seen.ownLease === undefined) this.#forgetPlace()
      return seen
    }
    this.#forgetPlace()
    const deadline = this.#deadline(begun, millis, lease)
    const token = Number(taken.header.revision)
    this.#hold = { id, token, deadline, acquires: 1, context, lease, info }
    const after = now()
    if (after <= before && after <= deadline) {
      const code = hadToken(taken) ? 'NEW_ACQUIRE' : 'FIRST_TIME'
      return { now: after, code, hold: this.#hold, queued: false }
    }
    await this.#end()
    if (after > before) return late(after)
    return { now: after, code: 'HELD', hold: undefined, queued: request.queues, again: SOON }
  }

  async #stay(place: OwnPlace, patience: number): Promise<Before> {
    const { calls, rows, now } = this.#ports
    const until = now() + patience
    const [kept, answer] = await Promise.all([
      calls.keep(place.lease),
      calls.txn(rows.look(this.#key, this.#id, place)),
    ])
    const seen = rows.before(this.#key, this.#id, answer)
    if (kept === 0 || seen.ownLease === undefined) this.#forgetPlace()
    else this.#place = { ...place, until }
    return seen
  }

  async #enter({ key, id, context, patience }: TakeRequest, seen: Before): Promise<Before> {
    const { calls, rows, now, clock } = this.#ports
    if (seen.waiters >= CAPS.waiters) throw new LatchkeyError('ERR_BUSY')
    if (seen.ownLease !== undefined) await calls.revoke(seen.ownLease)
    const until = now() + patience
    const lease = await calls.grant(patience)
    const info = { acquires: 0, context, lease: patience, since: clock.instant().wall }
    const answer = await this.#doubted([lease.id], () => calls.txn(rows.wait(key, id, lease.id, info)))
    this.#place = { lease: lease.id, revision: answer.header.revision, until }
    return rows.before(key, id, answer, 1)
  }

  async #reenter({ lease, context, before }: TakeRequest, begun: number): Promise<TakeAnswer | undefined> {
    const { calls, rows, now } = this.#ports
    const prolonged = await this.#prolong(lease, begun)
    if (prolonged === undefined) return undefined
    const { hold, deadline } = prolonged
    const acquires = hold.acquires + 1
    const info = { ...hold.info, acquires, context: context ?? hold.context }
    const told = await calls.txn(rows.updateInfo(this.#key, this.#id, hold.lease.id, info))
    if (!told.succeeded) return this.#abandon()
    const after = now()
    if (after > before) return late(after)
    this.#hold = { ...hold, acquires, deadline, context: info.context, info }
    return { now: after, code: 'REENTRANT', hold: this.#hold, queued: false }
  }

  /**
   * The caller must not rely on the new deadline before `confirm`, because etcd may already have removed the
   * hold.
   */
  renew(lease: number): Promise<{ readonly hold: OwnHold; readonly deadline: number } | undefined> {
    return this.#step(async () => {
      await this.#revokeDoubtful()
      return this.#prolong(lease, this.#ports.now())
    })
  }

  /**
   * Confirms a renewal. `isThere` is true if, after the renewal, the etcd row held/K (K is the key of the
   * lock) still had the lease of the hold.
   */
  confirm(hold: OwnHold, deadline: number, isThere: boolean): Promise<OwnHold | undefined> {
    return this.#step(async () => {
      const present = this.#hold
      if (present === undefined || present.lease.id !== hold.lease.id) return undefined
      const now = this.#ports.now()
      if (!isThere || now > deadline) return this.#abandon()
      this.#hold = { ...present, deadline: Math.max(present.deadline, deadline) }
      return this.#hold
    })
  }

  async #prolong(millis: number, begun: number): Promise<{ hold: OwnHold; deadline: number } | undefined> {
    const hold = this.#hold
    if (hold === undefined) return undefined
    if (begun > hold.deadline) return this.#abandon()
    if (millis > hold.lease.ttl) return this.#move(hold, millis, begun)
    const kept = await this.#ports.calls.keep(hold.lease.id)
    if (kept === 0) return this.#abandon()
    return { hold, deadline: Math.max(hold.deadline, this.#deadline(begun, millis, hold.lease)) }
  }

  /** The length of an etcd lease cannot change. So a longer hold needs a new lease. */
  async #move(
    old: OwnHold,
    millis: number,
    begun: number,
  ): Promise<{ hold: OwnHold; deadline: number } | undefined> {
    const { calls, rows } = this.#ports
    const lease = await calls.grant(millis)
    const info = { ...old.info, lease: millis }
    const from = old.lease.id
    const moved = await this.#doubted([lease.id], () =>
      calls.txn(rows.move(this.#key, this.#id, from, lease.id, info)),
    )
    if (!moved.succeeded) {
      void calls.revoke(lease.id).catch(() => {})
      return this.#abandon()
    }
    void calls.revoke(from).catch(() => {})
    const hold = { ...old, lease, info }
    this.#hold = hold
    return { hold, deadline: Math.max(old.deadline, this.#deadline(begun, millis, lease)) }
  }

  rotate(): Promise<OwnHold | undefined> {
    return this.#step(async () => {
      const { calls, rows, now } = this.#ports
      const hold = this.#hold
      if (hold === undefined) return undefined
      if (now() > hold.deadline) return this.#abandon()
      const rotated = await calls.txn(rows.rotate(this.#key, this.#id, hold.lease.id))
      if (!rotated.succeeded || now() > hold.deadline) return this.#abandon()
      this.#hold = { ...hold, token: Number(rotated.header.revision) }
      return this.#hold
    })
  }

  release(all: boolean): Promise<ReleaseAnswer> {
    return this.#step(async () => {
      const { calls, rows, now } = this.#ports
      const begun = now()
      await this.#revokeDoubtful()
      const hold = this.#hold
      const isInForce = hold !== undefined && begun <= hold.deadline
      if (isInForce && !all && hold.acquires > 1) {
        const info = { ...hold.info, acquires: hold.acquires - 1 }
        const told = await calls.txn(rows.updateInfo(this.#key, this.#id, hold.lease.id, info))
        if (told.succeeded) {
          this.#hold = { ...hold, acquires: info.acquires, info }
          return { now: begun, code: 'DECREMENTED', hold: this.#hold }
        }
      }
      const ended = await this.#end()
      if (ended?.succeeded) return { now: begun, code: isInForce ? 'RELEASED' : 'EXPIRED', hold }
      const answer = ended ?? (await calls.txn(rows.look(this.#key, this.#id, undefined)))
      const other = otherHold(rows.before(this.#key, this.#id, answer).hold, begun)
      if (other !== undefined) return { now: begun, code: 'NOT_OWNER', hold: other }
      return { now: begun, code: hold === undefined ? 'NOT_HELD' : 'EXPIRED', hold }
    })
  }

  /** Ends the wait and the hold. Resolves to the token of the hold, or to 0 without a hold in force. */
  cancel(): Promise<number> {
    return this.#step(async () => {
      const hold = this.#hold
      const token = hold !== undefined && this.#ports.now() <= hold.deadline ? hold.token : 0
      await this.#revokeDoubtful()
      await this.#end()
      return token
    })
  }

  get hold(): OwnHold | undefined {
    const hold = this.#hold
    return hold !== undefined && this.#ports.now() <= hold.deadline ? hold : undefined
  }

  /** Sends no request to etcd. The caller's rows in etcd end with their leases. */
  close(): void {
    this.#timer?.cancel()
    this.#endWatch()
    this.#hold = undefined
    this.#place = undefined
  }

  #deadline(begun: number, millis: number, { ttl }: Lease): number {
    return begun + Math.floor(Math.min(millis, ttl) * this.#ports.part) - 1
  }

  async #doubted(leases: readonly string[], run: () => Promise<TxnAnswer>): Promise<TxnAnswer> {
    for (const lease of leases) this.#doubtful.add(lease)
    const answer = await run()
    for (const lease of leases) this.#doubtful.delete(lease)
    return answer
  }

  async #revokeDoubtful(): Promise<void> {
    for (const lease of [...this.#doubtful]) {
      await this.#ports.calls.revoke(lease)
      this.#doubtful.delete(lease)
      if (this.#hold?.lease.id === lease) this.#hold = undefined
    }
  }

  async #end(): Promise<TxnAnswer | undefined> {
    const { calls, rows } = this.#ports
    const [place, hold] = [this.#place, this.#hold]
    if (place !== undefined) {
      await calls.revoke(place.lease)
      this.#forgetPlace()
    }
    if (hold === undefined) return undefined
    const ended = await calls.txn(rows.end(this.#key, this.#id, hold.lease.id))
    this.#abandon()
    return ended
  }

  #forgetPlace(): void {
    const place = this.#place
    this.#place = undefined
    this.#endWatch()
    if (place !== undefined) void this.#ports.calls.revoke(place.lease).catch(() => {})
  }

  /**
   * Forgets the hold, which the caller must not use any more, and revokes its etcd lease. If the request to
   * revoke fails, the lease ends when its time is over.
   */
  #abandon(): undefined {
    const hold = this.#hold
    this.#hold = undefined
    if (hold !== undefined) void this.#ports.calls.revoke(hold.lease.id).catch(() => {})
  }

  #arm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#steps > 0) return
    const ends = [this.#hold?.deadline, this.#place?.until].filter((end) => end !== undefined)
    if (ends.length === 0) {
      if (this.#doubtful.size === 0) this.#done()
      return
    }
    const after = Math.max(0, Math.min(...ends) + 1 - this.#ports.now())
    this.#timer = this.#ports.clock.after(after, () => void this.#step(() => this.#expire()), { ref: false })
  }

  async #expire(): Promise<void> {
    const now = this.#ports.now()
    if (this.#hold !== undefined && now > this.#hold.deadline) this.#abandon()
    if (this.#place !== undefined && now > this.#place.until) this.#forgetPlace()
  }
}

const late = (now: number): TakeAnswer => ({ now, code: 'LATE', hold: undefined, queued: false })
