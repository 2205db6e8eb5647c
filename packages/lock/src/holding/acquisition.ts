// Driver: owns one acquirer id: its asks, its place in the queue, the hold they end in, and giving all of it back.

import type { Instant } from '@latchkey/base'
import {
  type Command,
  type LatchkeyError,
  type OwnerResult,
  OP,
  READ,
  type TicketResult,
  type ContextArg,
} from '@latchkey/protocol'
import { NOT_IN_SET } from './indexed-set.js'
import type { BoundRenewal } from './bound-renewal.js'
import { type CallLimit, OVER, type Over } from './call-limit.js'
import { codeOf, isSuccess } from './owner-decoding.js'
import type { LockCall, LockPort } from './lock-port.js'
import type { Confirmed, Renewals } from './renewals.js'
import { isWorthRetry, mayBeApplied, pause, untilAnswered } from './background-retry.js'
import { type Renewal, HoldValidity } from './hold-validity.js'

export interface Terms {
  readonly key: Uint8Array
  readonly fencingKey: Uint8Array | null
  readonly lease: number
}
export interface Place {
  readonly port: LockPort
  readonly boundRenewal: BoundRenewal
  readonly renewals: Renewals
  /** Those that have, or may have, something in the store: a hold, or a place in a queue. */
  readonly acquisitions: Set<Acquisition>
}
/** again: nothing came of it, through no refusal; the same attempt may ask once more, under the acquisition that is then the current one. */
export type Step = 'held' | 'refused' | 'queued' | 'again'

interface Told {
  owner(owner: OwnerResult): void
  lost(acquisition: Acquisition, error: LatchkeyError): void
}

const GIVE_BACK_TIMEOUT = 5_000
const TICKET_PAUSE = 100

/**
 * Laws:
 * - An id belongs to one hold. After a complete release, a loss, or an attempt of unknown fate without a hold, the acquisition is over.
 * - Whatever it may have got is given back (giveBack) once nothing of it is under way any more, never before.
 * - Its methods run in turn (RequestOrder); only grants, losses and the end of a wait come from outside, and they only note and wake.
 */
export class Acquisition {
  readonly id: string
  validity: HoldValidity | undefined
  /** Successful asks less unlocks, as the caller counts. The server's count is never below: each ask counted here was applied. */
  acquires = 0
  readonly #place: Place
  readonly #terms: Terms
  readonly #told: Told
  /** Failed, and may be applied all the same. */
  #unsettled: LockCall[] = []
  #grant: OwnerResult | undefined
  /** Made for the first that has to wait, as few have to. */
  #sleepers: Set<() => void> | undefined
  #offQueue: (() => void)[] = []
  #queued = false
  #released: Promise<boolean> | undefined
  #ticketRound = 0

  constructor(place: Place, terms: Terms, told: Told) {
    this.#place = place
    this.#terms = terms
    this.#told = told
    this.id = place.port.newId()
  }

  /** Something of it may be in the store although no hold is known. */
  get mayHaveLeftSomething(): boolean {
    return this.#queued || this.#grant !== undefined || this.#unsettled.length > 0
  }

  get hasSleepers(): boolean {
    return this.#sleepers !== undefined && this.#sleepers.size > 0
  }

  /** Takes the grant that has come, else asks. wait null: without queueing; else ms, 0 without limit. */
  step(context: ContextArg, wait: number | null, limit: CallLimit): Promise<Step> {
    const { validity } = this
    if (validity === undefined && this.#grant !== undefined)
      return Promise.resolve(this.#take(this.#grant, limit))
    const waits = validity === undefined ? wait : null
    if (waits !== null) this.#listen()
    const { key, fencingKey, lease } = this.#terms
    const token = validity?.token ?? 0
    const ask = [OP.tryLock, key, fencingKey, false, this.id, lease, token, context, waits] as const
    this.#place.acquisitions.add(this)
    return this.#send(ask, limit, (answer) => {
      const [owner, queued] = answer as [OwnerResult, boolean]
      this.#told.owner(owner)
      this.#queued ||= queued
      if (queued) return 'queued'
      if (!isSuccess(owner)) return this.#refused(validity)
      return validity === undefined ? this.#take(owner, limit) : this.#reentered(validity, owner, limit)
    })
  }

  /** In the queue: until a grant has come or the ticket is gone; then a step is due. */
  async sleep(limit: CallLimit): Promise<undefined | Over> {
    if (this.#grant !== undefined || this.validity !== undefined) return undefined
    let wake = () => {}
    const woken = new Promise<undefined>((resolve) => {
      wake = () => resolve(undefined)
    })
    const sleepers = (this.#sleepers ??= new Set())
    sleepers.add(wake)
    const end = await limit.wait(woken)
    sleepers.delete(wake)
    return end
  }

  /** One acquire of several, or all. The caller has ended the validity before it sends the last. */
  async release(all: boolean, limit: CallLimit): Promise<OwnerResult> {
    if (all && this.#unsettled.length > 0) await this.#settled(limit)
    const ask = [OP.release, this.#terms.key, this.id, this.validity?.token ?? 0, all] as const
    return this.#send(ask, limit, (answer) => {
      if (all) this.#place.acquisitions.delete(this)
      this.#told.owner(answer as OwnerResult)
      return answer as OwnerResult
    })
  }

  /** Nobody waits any more: no push is listened for until somebody asks again. */
  rest(): void {
    if (this.hasSleepers || this.mayHaveLeftSomething) return
    this.#leaveQueue()
    if (this.validity === undefined) this.#place.acquisitions.delete(this)
  }

  /** In the background: leaves the queue and gives back any hold of this id. A known hold needs it only until its lease is over. */
  async giveBack(): Promise<void> {
    this.#leaveQueue()
    const { port } = this.#place
    const over = port.clock.now() + this.#terms.lease
    const mustSettle = this.#unsettled.length > 0
    if (await this.#released) {
      this.#place.acquisitions.delete(this)
      return
    }
    try {
      await this.#allSettled()
    } catch {
      return // The store is closed; what is left ends with its session or its lease.
    }
    const knownHold = this.validity !== undefined && !mustSettle
    await untilAnswered(
      port,
      () => port.command([OP.cancelWait, this.#terms.key, this.id], { timeout: GIVE_BACK_TIMEOUT }).result,
      () => knownHold && port.clock.now() > over,
    )
    this.#place.acquisitions.delete(this)
  }

  /** What it has in the store: a hold, or a place in a queue. */
  get ticket(): { readonly key: Uint8Array; readonly id: string } {
    return { key: this.#terms.key, id: this.id }
  }

  /** A request for all of the store's holds releases it. `released`: whether that request was answered. */
  revoke(why: LatchkeyError, released: Promise<boolean>): void {
    this.#released = released
    this.validity?.revoke(why)
  }

  /** What `take` makes of its answer. One that fails may be applied all the same: it is remembered until it is settled. */
  #send<T>(command: Command, limit: CallLimit, take: (answer: unknown) => T | Promise<T>): Promise<T> {
    const call = this.#place.port.command(command, limit)
    return call.result.then(take, (error: unknown) => {
      if (mayBeApplied(error)) this.#unsettled.push(call)
      throw error
    })
  }

  #allSettled(): Promise<unknown> {
    return Promise.all(this.#unsettled.map((call) => call.settled()))
  }

  async #settled(limit: CallLimit): Promise<void> {
    if ((await limit.wait(this.#allSettled())) === OVER) throw limit.error()
    this.#unsettled = []
  }

  /** A definite word that somebody else holds it: what was believed to be held is lost. */
  #refused(before: HoldValidity | undefined): Step {
    before?.lose('another holds it')
    return before === undefined ? 'refused' : 'again'
  }

  async #reentered(before: HoldValidity, owner: OwnerResult, limit: CallLimit): Promise<Step> {
    // A new ownership instead of a reentry: the one that was believed in had gone. The new one is given back behind it.
    if (codeOf(owner) !== 'REENTRANT') before.lose('it was released behind its back')
    before.prolong(owner[1])
    if (before.held && before.remaining() < before.lease / 2) await this.#renewReentered(before, limit)
    if (!before.held) return 'again'
    this.acquires++
    return 'held'
  }

  #take(owner: OwnerResult, limit: CallLimit): Step | Promise<Step> {
    this.#leaveQueue()
    const { clock } = this.#place.port
    const now = clock.instant()
    if (this.#isFresh(owner, now)) return this.#hold(owner, now)
    const { renewal, answer } = this.#confirm(owner[3], limit)
    return answer.then((renewed) => {
      const step = this.#hold(afterRenewal(owner, renewed), clock.instant())
      if (this.validity === undefined) this.#place.renewals.discard(renewal)
      else this.#place.renewals.adopt(renewal, this.validity)
      return step
    })
  }

  #hold(owner: OwnerResult, now: Instant): Step {
    const { port, boundRenewal } = this.#place
    const [id, deadline, , token] = owner
    // An answer that comes after the release of everything was sent tells of a hold that is gone.
    if (this.#released !== undefined || port.bound.remaining(deadline, now) === 0) return 'again'
    const { key, lease } = this.#terms
    this.validity = new HoldValidity(port, boundRenewal, { key, id, lease, token, deadline }, now, (error) =>
      this.#told.lost(this, error),
    )
    this.acquires++
    this.#grant = undefined
    this.#told.owner(owner)
    return 'held'
  }

  /**
   * CT6: at least half of the lease is left by the bound. And a grant out of the queue whose deadline is nearer than its lease has not
   * been touched by its session yet, or is told late.
   */
  #isFresh(owner: OwnerResult, now: Instant): boolean {
    const { lease } = this.#terms
    const left = this.#place.port.bound.remaining(owner[1], now)
    return left >= lease / 2 && owner[1] - owner[7] >= lease
  }

  async #renewReentered(validity: HoldValidity, limit: CallLimit): Promise<void> {
    const { renewal, answer } = this.#confirm(validity.token, limit)
    const owner = await answer
    this.#place.renewals.discard(renewal)
    if (owner !== undefined && isSuccess(owner)) validity.prolong(owner[1])
  }

  #confirm(
    token: number,
    limit: CallLimit,
  ): { readonly renewal: Renewal; readonly answer: Promise<Confirmed> } {
    const { key, lease } = this.#terms
    return this.#place.renewals.confirm({ key, id: this.id, token, lease }, limit)
  }

  /** Before the first ask that may queue, so that no grant is missed. */
  #listen(): void {
    if (this.#offQueue.length > 0) return
    const { port, boundRenewal } = this.#place
    const { key, lease } = this.#terms
    const waiting = { place: NOT_IN_SET, lease, remaining: () => Number.POSITIVE_INFINITY, lose: () => {} }
    boundRenewal.add(waiting, Number.POSITIVE_INFINITY)
    this.#offQueue = [
      port.onGranted(key, this.id, (owner) => this.#granted(owner)),
      port.onAttached(() => void this.#askForTicket()),
      () => boundRenewal.remove(waiting),
    ]
  }

  #leaveQueue(): void {
    this.#queued = false
    this.#ticketRound++
    for (const off of this.#offQueue) off()
    this.#offQueue.length = 0
  }

  #granted(owner: OwnerResult): void {
    if (this.validity !== undefined) return
    this.#grant = owner
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const wake of this.#sleepers ?? []) wake()
  }

  /** After a reconnect a push may have been missed: the ticket is asked for until somebody answers. */
  async #askForTicket(): Promise<void> {
    const round = ++this.#ticketRound
    const { port } = this.#place
    while (round === this.#ticketRound && !port.closed.aborted) {
      try {
        const read = port.read([READ.ticket, this.#terms.key, this.id], { timeout: GIVE_BACK_TIMEOUT })
        const [state, owner] = (await read) as TicketResult
        if (round !== this.#ticketRound) return
        if (state === 'granted' && owner !== null) this.#granted(owner)
        // unknown: its place is gone, with its session or its wait. Each attempt asks anew if it has time left.
        if (state === 'unknown') this.#wakeAll()
        return
      } catch (error) {
        // Refused for good: each attempt meets the reason itself.
        if (!isWorthRetry(error)) return this.#wakeAll()
        await pause(port, TICKET_PAUSE)
      }
    }
  }
}

/** The owner with the deadline after it; the same owner if nobody answered. A refusal leaves nothing: deadline 0. */
function afterRenewal(owner: OwnerResult, renewed: Confirmed): OwnerResult {
  if (renewed === undefined) return owner
  const [id, , remaining, token, acquires, context, code] = owner
  return [id, isSuccess(renewed) ? renewed[1] : 0, remaining, token, acquires, context, code, renewed[7]]
}
