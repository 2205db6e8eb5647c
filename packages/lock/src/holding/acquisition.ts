// Driver: owns one acquirer id: its requests, its place in the queue, its hold, and the release of the hold
// and the place.

import type { Instant } from '@latchkey/base'
import {
  type Command,
  type FlowArg,
  type LatchkeyError,
  type OwnerResult,
  OP,
  READ,
  type ShareArg,
  type TicketResult,
  type TryLockResult,
  type ContextArg,
} from '@latchkey/protocol'
import { NOT_IN_SET } from './indexed-set.js'
import { type CallLimit, OVER, type Over } from './call-deadline-or-abort.js'
import { codeOf, isSuccess, obstacleError } from './owner-from-wire-format.js'
import { lockCommand } from './acquire-command.js'
import type { CallListener, LockCall } from './lock-port-interface.js'
import { waiting } from './waiting-count.js'
import type { Confirmed } from './renewals.js'
import { isWorthRetry, mayBeApplied, pause, untilAnswered } from './background-retry.js'
import { type Renewal, HoldValidity } from './hold-validity.js'
import type { LockServices, Releasable } from './shared-by-all-acquisitions.js'

export interface Terms {
  readonly key: Uint8Array
  readonly fencingKey: Uint8Array | null
  readonly lease: number
  /** Undefined means an exclusive hold. */
  readonly share: ShareArg | undefined
  /** True if the request takes the lock away from its present holders, and overtakes all waiting callers. */
  readonly steals?: boolean
}
export interface Attempt {
  readonly context: ContextArg
  /** Undefined if the caller names no flow and makes its call outside of every withLock. */
  readonly flow: FlowArg | undefined
  readonly limit: CallLimit
}
/** again: the attempt has got no usable hold. The caller calls `step` of a new acquisition. */
export type Step = 'held' | 'refused' | 'queued' | 'again'

export type HoldChange =
  | readonly [typeof OP.downgrade]
  | readonly [typeof OP.rotate]
  | readonly [typeof OP.proclaim, context: ContextArg]

export interface AcquisitionListener {
  answered(owner: OwnerResult): void
  lost(acquisition: Acquisition, error: LatchkeyError): void
}

const NONE: readonly never[] = []
/** In ms: the timeout of a request for which no caller waits. */
const BACKGROUND_TIMEOUT = 5_000
const TICKET_PAUSE = 100

/**
 * Laws:
 * - An id is used for one hold. The acquisition ends when its last acquire is released or when the hold is
 *   lost. Without a known hold, an attempt with unknown outcome also ends the acquisition.
 * - giveBack releases every hold and every place in the queue that the store may have for the id. Before the
 *   release, giveBack waits until no failed request of the id can still be applied. Otherwise a late acquire
 *   could be applied after the release.
 * - The requests run one at a time (RequestOrder). A grant, a loss or the end of a wait may arrive at any
 *   time. The handlers of these events store a value and wake the callers, and do nothing else.
 */
export class Acquisition implements Releasable, CallListener {
  index = NOT_IN_SET
  #id: string | undefined
  validity: HoldValidity | undefined
  /**
   * The number of successful acquires minus the number of unlocks, as this process counts them. The count in
   * the store is at least as high, because the members have applied each acquire that this process counts.
   */
  acquires = 0
  readonly #services: LockServices
  readonly #terms: Terms
  readonly #listener: AcquisitionListener
  #mayStillApply: readonly LockCall[] = NONE
  #grant: OwnerResult | undefined
  #wakers: Set<() => void> | undefined
  #offQueue: readonly (() => void)[] = NONE
  #queued = false
  #released: Promise<boolean> | undefined
  #ticketRound = 0

  constructor(services: LockServices, terms: Terms, listener: AcquisitionListener) {
    this.#services = services
    this.#terms = terms
    this.#listener = listener
  }

  /** Made at its first use, because many acquisitions of lock objects are never used. */
  get id(): string {
    return (this.#id ??= this.#services.port.newId())
  }

  get mayHaveLeftSomething(): boolean {
    return this.#queued || this.#grant !== undefined || this.#mayStillApply.length > 0
  }

  get hasWaitingAttempts(): boolean {
    return this.#wakers !== undefined && this.#wakers.size > 0
  }

  /**
   * If the store has already pushed a grant, takes the lock with this grant. Otherwise sends a request for
   * the lock. If `wait` is null, the request does not queue. Otherwise `wait` is the limit of the wait in ms,
   * and 0 means no limit.
   */
  step({ context, flow, limit }: Attempt, wait: number | null): Promise<Step> {
    const { validity } = this
    if (validity === undefined && this.#grant !== undefined)
      return Promise.resolve(this.#take(this.#grant, limit))
    const waits = validity === undefined ? wait : null
    if (waits !== null) this.#listen()
    this.#services.acquisitions.add(this)
    return this.#send(this.#attempt(context, flow, waits), limit, (answer) => {
      const [owner, queued, obstacle] = answer as TryLockResult
      if (obstacle !== undefined) throw obstacleError(obstacle, this.#terms.key, this.#services.port.decoding)
      this.#listener.answered(owner)
      this.#queued ||= queued
      if (queued) return 'queued'
      if (!isSuccess(owner)) return this.#refused(validity)
      return validity === undefined ? this.#take(owner, limit) : this.#reentered(validity, owner, limit)
    })
  }

  #attempt(context: ContextArg, flow: FlowArg | undefined, wait: number | null): Command {
    const { key, fencingKey, lease, share, steals } = this.#terms
    if (steals) return [OP.steal, key, this.id, lease, context]
    const token = this.validity?.token ?? 0
    const attempt = [OP.tryLock, key, fencingKey, false, this.id, lease, token, context, wait] as const
    return lockCommand(attempt, share ?? null, flow)
  }

  /** Sends a change of this hold. The hold counts as lost if the store does not know the hold any more. */
  change(validity: HoldValidity, what: HoldChange, limit: CallLimit): Promise<OwnerResult> {
    const [op, ...rest] = what
    const ask = [op, this.#terms.key, this.id, validity.token, ...rest] as unknown as Command
    return this.#send(ask, limit, (answer) => {
      const owner = answer as OwnerResult
      if (isSuccess(owner)) validity.rotated(owner[3])
      else validity.lose('it had already ended when it was changed')
      return owner
    })
  }

  /**
   * Waits until a grant has arrived or the place in the queue is lost. The caller then calls `step` again.
   * Resolves to OVER if the limit ends the wait.
   */
  async sleep(limit: CallLimit): Promise<undefined | Over> {
    if (this.#grant !== undefined || this.validity !== undefined) return undefined
    let wake = () => {}
    const woken = new Promise<undefined>((resolve) => {
      wake = () => resolve(undefined)
    })
    const wakers = (this.#wakers ??= new Set())
    wakers.add(wake)
    const end = await waiting(this.#services.port, limit.wait(woken))
    wakers.delete(wake)
    return end
  }

  /**
   * Releases one acquire, or all acquires. Before the release of the last acquire, the caller must call
   * `validity.releasing()`, which ends the guarantee of the hold.
   */
  release(all: boolean, limit: CallLimit): Promise<OwnerResult> {
    if (all && this.#mayStillApply.length > 0)
      return this.#whenFinal(limit).then(() => this.#sendRelease(all, limit))
    return this.#sendRelease(all, limit)
  }

  #sendRelease(all: boolean, limit: CallLimit): Promise<OwnerResult> {
    const ask = [OP.release, this.#terms.key, this.id, this.validity?.token ?? 0, all] as const
    return this.#send(ask, limit, (answer) => {
      if (all) this.#services.acquisitions.delete(this)
      this.#listener.answered(answer as OwnerResult)
      return answer as OwnerResult
    })
  }

  rest(): void {
    if (this.hasWaitingAttempts || this.mayHaveLeftSomething) return
    this.#leaveQueue()
    if (this.validity === undefined) this.#services.acquisitions.delete(this)
  }

  /**
   * Leaves the queue and releases any hold of this id, in the background. A failed release is sent again
   * until a member answers. For a known hold, the retries also end when the lease is over.
   */
  async giveBack(): Promise<void> {
    this.#leaveQueue()
    const { port } = this.#services
    const over = port.clock.now() + this.#terms.lease
    const mustSettle = this.#mayStillApply.length > 0
    if (await this.#released) return void this.#services.acquisitions.delete(this)
    try {
      await this.#allFinal()
    } catch {
      return // The store is closed. What is left in the store ends with its session or its lease.
    }
    const knownHold = this.validity !== undefined && !mustSettle
    await untilAnswered(
      port,
      () => port.command([OP.cancelWait, this.#terms.key, this.id], { timeout: BACKGROUND_TIMEOUT }).result,
      () => knownHold && port.clock.now() > over,
    )
    this.#services.acquisitions.delete(this)
  }

  get ticket(): { readonly key: Uint8Array; readonly id: string } {
    return { key: this.#terms.key, id: this.id }
  }

  /**
   * Ends the hold in this process. Called when the store releases many holds with one request. `released`
   * resolves to true if that request was answered, and to false if that request failed.
   */
  revoke(why: LatchkeyError, released: Promise<boolean>): void {
    this.#released = released
    this.validity?.revoke(why)
  }

  /**
   * Sends a command and passes its answer to `take`. A failed call that may have been applied is kept in
   * #mayStillApply until its result is known.
   */
  #send<T>(command: Command, limit: CallLimit, take: (answer: unknown) => T | Promise<T>): Promise<T> {
    return this.#services.port.command(command, limit, take, this).result
  }
  callFailed(call: LockCall, error: unknown): void {
    if (mayBeApplied(error)) this.#mayStillApply = [...this.#mayStillApply, call]
  }

  #allFinal(): Promise<unknown> {
    return Promise.all(this.#mayStillApply.map((call) => call.whenFinal()))
  }

  async #whenFinal(limit: CallLimit): Promise<void> {
    if ((await limit.wait(this.#allFinal())) === OVER) throw limit.error()
    this.#mayStillApply = NONE
  }

  /** Another acquirer has the lock, so a hold that this process still counts as held is lost. */
  #refused(before: HoldValidity | undefined): Step {
    before?.lose('another holds it')
    return before === undefined ? 'refused' : 'again'
  }

  async #reentered(before: HoldValidity, owner: OwnerResult, limit: CallLimit): Promise<Step> {
    // An answer with a new hold proves that the earlier hold had ended. `lose` ends this acquisition, and
    // then the new hold of the id is also released.
    if (codeOf(owner) !== 'REENTRANT') before.lose('its hold had ended in the store')
    before.prolong(owner[1])
    if (before.held && before.remaining() < before.lease / 2) await this.#renewReentered(before, limit)
    if (!before.held) return 'again'
    this.acquires++
    return 'held'
  }

  #take(owner: OwnerResult, limit: CallLimit): Step | Promise<Step> {
    this.#leaveQueue()
    const { clock } = this.#services.port
    const now = clock.instant()
    if (this.#isFresh(owner, now)) return this.#hold(owner, now)
    const { renewal, answer } = this.#confirm(owner[3], limit)
    return answer.then((renewed) => {
      const step = this.#hold(afterRenewal(owner, renewed), clock.instant())
      if (this.validity === undefined) this.#services.renewals.discard(renewal)
      else this.#services.renewals.adopt(renewal, this.validity)
      return step
    })
  }

  #hold(owner: OwnerResult, now: Instant): Step {
    const { port, clusterTimeRefresh } = this.#services
    const [id, deadline, , token] = owner
    // The hold is useless if its lease is over, or if the store has begun to release all holds.
    if (this.#released !== undefined || port.bound.remaining(deadline, now) === 0) return 'again'
    const { key, lease } = this.#terms
    const lost = (error: LatchkeyError) => this.#listener.lost(this, error)
    this.validity = new HoldValidity(port, clusterTimeRefresh, { key, id, lease, token, deadline }, now, lost)
    this.acquires++
    this.#grant = undefined
    this.#listener.answered(owner)
    return 'held'
  }

  /**
   * Whether a new hold can be used without a renewal. Two conditions must be true. At least half of the lease
   * is left, by the upper bound of cluster time (CT6). The deadline is at least a whole lease after the
   * cluster time of the answer. An earlier deadline means that this grant ends early if the session sends no
   * command (touchBy).
   */
  #isFresh(owner: OwnerResult, now: Instant): boolean {
    const { lease } = this.#terms
    const left = this.#services.port.bound.remaining(owner[1], now)
    return left >= lease / 2 && owner[1] - owner[7] >= lease
  }

  async #renewReentered(validity: HoldValidity, limit: CallLimit): Promise<void> {
    const { renewal, answer } = this.#confirm(validity.token, limit)
    const owner = await answer
    this.#services.renewals.discard(renewal)
    if (owner !== undefined && isSuccess(owner)) validity.prolong(owner[1])
  }

  #confirm(
    token: number,
    limit: CallLimit,
  ): { readonly renewal: Renewal; readonly answer: Promise<Confirmed> } {
    const { key, lease } = this.#terms
    return this.#services.renewals.confirm({ key, id: this.id, token, lease }, limit)
  }

  /**
   * Listens for pushed grants. Called before the first request that may queue, so that no grant is missed.
   */
  #listen(): void {
    if (this.#offQueue.length > 0) return
    const { port, clusterTimeRefresh } = this.#services
    const { key, lease } = this.#terms
    const waiting = { index: NOT_IN_SET, lease, remaining: () => Number.POSITIVE_INFINITY, lose: () => {} }
    clusterTimeRefresh.add(waiting, Number.POSITIVE_INFINITY)
    this.#offQueue = [
      port.onGranted(key, this.id, (owner) => this.#granted(owner)),
      port.onAttached((isNewSession) => void this.#askForTicket(isNewSession)),
      () => clusterTimeRefresh.remove(waiting),
    ]
  }

  #leaveQueue(): void {
    this.#queued = false
    this.#ticketRound++
    for (const off of this.#offQueue) off()
    this.#offQueue = NONE
  }

  #granted(owner: OwnerResult): void {
    if (this.validity !== undefined) return
    this.#grant = owner
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const wake of this.#wakers ?? []) wake()
  }

  /**
   * Reads the state of this id from the store after a reconnect, because a pushed grant may have been missed.
   *
   * Law: after a new session each attempt asks for the lock again, which moves its place in the queue to the
   * new session. Without this law: there is no leader for longer than a session lives, and the client opens a
   * new session. But cluster time stood still, so the old session is still open, and the store says that the
   * id waits. Then the old session ends, its waiters leave the queue, and no member notifies the client. The
   * lock is free, and the caller waits for ever.
   */
  async #askForTicket(isNewSession: boolean): Promise<void> {
    const round = ++this.#ticketRound
    const { port } = this.#services
    while (round === this.#ticketRound && !port.closed.aborted) {
      try {
        const read = port.read([READ.ticket, this.#terms.key, this.id], { timeout: BACKGROUND_TIMEOUT })
        const [state, owner] = (await read) as TicketResult
        if (round !== this.#ticketRound) return
        if (state === 'granted' && owner !== null) this.#granted(owner)
        // The state `unknown` means that the place in the queue has ended with its session or its wait. Each
        // attempt that has time left asks again.
        if (state === 'unknown' || (state === 'queued' && isNewSession)) this.#wakeAll()
        return
      } catch (error) {
        // If the read was permanently refused, each attempt asks for the lock again. The members refuse the
        // attempt for the same reason, and its caller gets the error.
        if (!isWorthRetry(error)) return this.#wakeAll()
        await pause(port, TICKET_PAUSE)
      }
    }
  }
}

/**
 * Returns the answer with the deadline of the renewal. If the renewal was refused, the deadline is 0, so the
 * caller makes no hold. Without a renewal, the answer stays unchanged.
 */
function afterRenewal(owner: OwnerResult, renewed: Confirmed): OwnerResult {
  if (renewed === undefined) return owner
  const [id, , remaining, token, acquires, context, code] = owner
  return [id, isSuccess(renewed) ? renewed[1] : 0, remaining, token, acquires, context, code, renewed[7]]
}
