// Driver: owns the present acquisition of one lock object, and the order in which the lock object sends its
// requests.

import {
  type ErrorCode,
  LatchkeyError,
  type Owner,
  type OwnerResult,
  isLatchkeyError,
  type Kind,
  KIND,
  kindOfLockKey,
  shownLockKey,
} from '@latchkey/protocol'
import {
  Acquisition,
  type AcquisitionListener,
  type Attempt,
  type HoldChange,
  type Step,
  type Terms,
} from './acquisition.js'
import type { LockServices } from './shared-by-all-acquisitions.js'
import { CallLimit, OVER, type Over } from './call-deadline-or-abort.js'
import type { LockObject } from './distributed-lock-interface.js'
import type { WaitKind } from './lock-port-interface.js'
import { codeOf, toKept, toOwner } from './owner-from-wire-format.js'
import { RELEASE_GOES_ON, isWorthRetry, unlockGoesOnError, mayBeApplied, pause } from './background-retry.js'
import type { HoldValidity } from './hold-validity.js'
import { RequestOrder } from './request-order.js'
import type { Watchdog } from './renewing-watchdog.js'

export interface HolderTerms extends Terms {
  readonly watchdog: Watchdog | undefined
}
interface Wanted extends Attempt {
  readonly waits: boolean
}

/** The loss of the last hold. `reported` is true after an unlock has rejected because of this loss. */
interface Loss {
  readonly acquisition: Acquisition
  readonly error: LatchkeyError
  reported: boolean
}

type Turn = Exclude<Step, 'queued'> | { readonly woken: Promise<undefined | Over> } | Over

/**
 * In ms. When the time limit of an attempt is over, the call continues for at most this long, until its place
 * in the queue is removed. This time is enough for a round trip, but not for a change of leader.
 */
const LEAVE_QUEUE_WAIT = 500
const PAUSE_AFTER_FAILURE = 50
const RELEASE_TIMEOUT = 5_000
const NO_HOLD: ReadonlySet<ErrorCode> = new Set(['ERR_LOCK_LOST', 'ERR_NOT_OWNER'])

/**
 * Laws:
 * - `enter` resolves to true only while `held` is true. Any other hold or place in the queue that an attempt
 *   may have got is released before the next attempt sends a request.
 * - One Holder is one owner in the store. All callers of the lock object share its hold. The waiting callers
 *   share one place in the queue.
 * - An acquisition ends with the release of its last acquire or with its loss. The next attempt of the holder
 *   then uses a new acquisition with a new id.
 * - All requests that change an acquisition are sent one after another (RequestOrder). A loss can happen at
 *   any time.
 */
export class Holder implements AcquisitionListener {
  readonly #services: LockServices
  readonly #terms: HolderTerms
  /** The DistributedLock that the watchdog names in its event for a lost lock. Undefined for other holds. */
  readonly #subject: LockObject | undefined
  readonly #turns = new RequestOrder()
  #acquisition: Acquisition
  #loss: Loss | undefined
  #idleSignal: AbortSignal | undefined
  #last: OwnerResult | undefined

  constructor(services: LockServices, terms: HolderTerms, subject?: LockObject) {
    this.#services = services
    this.#terms = terms
    this.#subject = subject
    this.#acquisition = this.#newAcquisition()
  }

  get held(): boolean {
    return this.#acquisition.validity?.held ?? false
  }

  get validity(): HoldValidity | undefined {
    const { validity } = this.#acquisition
    return validity?.held ? validity : undefined
  }

  get last(): Owner | undefined {
    return this.#last && toOwner(this.#last)
  }

  limit(timeout: number | undefined, signal?: AbortSignal): CallLimit {
    return new CallLimit(this.#services.port, timeout, signal)
  }

  get signal(): AbortSignal {
    const validity = this.validity
    if (validity !== undefined) return validity.signal
    if (this.#loss?.acquisition.validity) return this.#loss.acquisition.validity.signal
    return (this.#idleSignal ??= AbortSignal.abort(this.notHeld()))
  }

  notHeld(): LatchkeyError {
    if (this.#loss === undefined) return this.#neverHeld()
    const { error } = this.#loss
    const { token } = error
    return new LatchkeyError('ERR_LOCK_LOST', error.message, { cause: error, key: this.#shownKey, token })
  }

  #neverHeld(): LatchkeyError {
    return new LatchkeyError('ERR_NOT_OWNER', undefined, { key: this.#shownKey })
  }

  get #shownKey(): string | Uint8Array {
    return shownLockKey(this.#terms.key, this.#services.port.decoding)
  }

  enter(wanted: Wanted): Promise<boolean> {
    const { observer } = this.#services.port
    if (!wanted.waits || observer?.isOn !== true) return this.#enter(wanted)
    const kind = WAIT_KINDS[kindOfLockKey(this.#terms.key)]
    return observer.wait(kind, [this.#terms.key], isHeld, () => this.#enter(wanted))
  }

  async #enter(wanted: Wanted): Promise<boolean> {
    // A store that closes also closes its own watchdog. The error must name the store, so the store is
    // checked first.
    if (this.#services.port.closed.aborted) throw new LatchkeyError('ERR_CLOSED')
    if (this.#terms.watchdog?.closed)
      throw new LatchkeyError(
        'ERR_CLOSED',
        'The watchdog of this lock is closed. Get the lock anew with one that is open.',
      )
    // An attempt that may not wait sends at most two requests. The first request may find that the earlier
    // hold was lost, or may get a grant that is already over.
    for (let chances = wanted.waits ? Number.POSITIVE_INFINITY : 2; chances > 0; chances--) {
      if (!this.#turns.tryBegin() && !(await this.#turns.turn(wanted.limit))) return this.#gaveUp(wanted)
      const acquisition = this.#acquisition
      let turn: Turn
      try {
        if (wanted.limit.end !== undefined) turn = OVER
        else turn = this.#stepped(acquisition, await acquisition.step(wanted, waitOf(wanted)), wanted)
      } catch (error) {
        turn = await this.#failed(acquisition, wanted, error)
      } finally {
        this.#turns.end()
      }
      if (turn === 'refused') return false
      if (turn === 'held' && this.#mayKeep(wanted.limit)) return true
      if (turn === OVER) return this.#gaveUp(wanted)
      if (typeof turn === 'object' && (await turn.woken) === OVER) return this.#gaveUp(wanted)
    }
    return false
  }

  /**
   * Releases one acquire, or all acquires. The release of the last acquire ends the hold, even if the call
   * rejects.
   */
  leave(limit: CallLimit, all: boolean): Promise<{ acquires: number }> {
    if (this.#acquisition.validity === undefined && !this.#hasLossToReport())
      return Promise.reject(this.#neverHeld())
    const left = this.#turns.tryBegin()
      ? this.#unlock(limit, all)
      : this.#turns
          .turn(limit)
          .then((isMine) => (isMine ? this.#unlock(limit, all) : this.#leaveBehind(limit, all)))
    // A caller that does not await its unlock must not end its process by an unhandled rejection.
    left.catch(() => {})
    return left
  }

  change(what: HoldChange, limit: CallLimit): Promise<void> {
    return this.#turns.run(
      async () => {
        const acquisition = this.#acquisition
        const { validity } = this
        if (validity === undefined) throw this.notHeld()
        await acquisition.change(validity, what, limit)
        if (!validity.held) throw this.notHeld()
      },
      limit,
      () => {
        throw limit.error()
      },
    )
  }

  /**
   * Called when the caller's time is over and another request of this object is still under way. Sends the
   * release after that request, in the background, and throws an error.
   */
  #leaveBehind(limit: CallLimit, all: boolean): never {
    const behind = this.limit(this.#terms.lease)
    this.#turns
      .urgentTurn()
      .then(() => this.#unlock(behind, all))
      .catch(() => {})
    throw new LatchkeyError('ERR_OUTCOME_UNKNOWN', RELEASE_GOES_ON, { cause: limit.error() })
  }

  /**
   * Releases all acquires in one request. If the caller does not hold the lock any more, the call does not
   * reject, but resolves to the error ERR_LOCK_LOST or ERR_NOT_OWNER.
   */
  async leaveAll(): Promise<LatchkeyError | undefined> {
    // A closed store has already released the hold, or the caller of `close` wanted to keep the hold.
    if (this.#services.port.closed.aborted && this.validity === undefined) return this.#loss?.error
    try {
      await this.leave(this.limit(RELEASE_TIMEOUT), true)
    } catch (error) {
      if (!isLatchkeyError(error) || !NO_HOLD.has(error.code)) throw error
      return error
    }
    return undefined
  }

  #stepped(acquisition: Acquisition, step: Step, { limit }: Wanted): Turn {
    if (step === 'queued') return { woken: acquisition.sleep(limit) }
    if (step === 'again') this.#retire(acquisition)
    if (step === 'held') this.#nowHeld(acquisition)
    if (step === 'refused') acquisition.rest()
    return step
  }

  #nowHeld(acquisition: Acquisition): void {
    this.#loss = undefined
    const { validity } = acquisition
    if (validity === undefined) return
    const { watchdog } = this.#terms
    if (watchdog === undefined) this.#services.renewals.remove(validity)
    else watchdog.watch(this.#services.renewals, validity)
  }

  /**
   * Returns whether the new hold is still in force. If the signal of the attempt has aborted, releases the
   * hold in the background and throws the error of the abort (K28).
   */
  #mayKeep(limit: CallLimit): boolean {
    if (!limit.signal?.aborted) return this.held
    this.leave(this.limit(this.#terms.lease), false).catch(() => {})
    throw limit.error()
  }

  async #failed(acquisition: Acquisition, wanted: Wanted, error: unknown): Promise<Turn> {
    // An attempt with unknown outcome may have acquired the lock. If this process knows no hold of the id,
    // and no other attempt waits with the id, the id is released in the background (#retire). The release of
    // a known hold also ends the unknown acquire.
    if (mayBeApplied(error) && acquisition.validity === undefined && !acquisition.hasWaitingAttempts)
      this.#retire(acquisition)
    else acquisition.rest()
    const { end } = wanted.limit
    if (!wanted.waits || end === 'aborted' || end === 'closed') throw error
    if (end === 'timeout') return OVER
    if (!isWorthRetry(error) || (error as LatchkeyError).code === 'ERR_BUSY') throw error
    await pause(this.#services.port, PAUSE_AFTER_FAILURE)
    return 'again'
  }

  /**
   * Returns false if the timeout has ended the wait. Throws if the signal or the close of the store has ended
   * the call. An attempt without a wait rejects with ERR_NO_LEADER, because an earlier request of this lock
   * object was still unanswered, so the attempt never began.
   */
  async #gaveUp({ waits, limit }: Wanted): Promise<false> {
    const end = limit.end ?? 'timeout'
    const gone = this.#turns.urgent(() => this.#leaveQueue())
    if (end !== 'timeout') throw limit.error()
    if (!waits) throw new LatchkeyError('ERR_NO_LEADER')
    await this.limit(LEAVE_QUEUE_WAIT).wait(gone)
    return false
  }

  /** Gives up the place in the queue if no other attempt of this lock object waits at the same place. */
  async #leaveQueue(): Promise<void> {
    const acquisition = this.#acquisition
    if (
      acquisition.validity !== undefined ||
      acquisition.hasWaitingAttempts ||
      !acquisition.mayHaveLeftSomething
    )
      return
    this.#acquisition = this.#newAcquisition()
    await acquisition.giveBack()
  }

  #retire(acquisition: Acquisition): void {
    if (this.#acquisition !== acquisition) return
    this.#acquisition = this.#newAcquisition()
    void this.#turns.urgent(() => acquisition.giveBack())
  }

  #newAcquisition(): Acquisition {
    return new Acquisition(this.#services, this.#terms, this)
  }

  answered(owner: OwnerResult): void {
    this.#last = toKept(owner)
  }

  lost(acquisition: Acquisition, error: LatchkeyError): void {
    const { watchdog } = this.#terms
    if (acquisition.validity !== undefined) this.#services.renewals.remove(acquisition.validity)
    this.#loss = { acquisition, error, reported: false }
    this.#retire(acquisition)
    // If `close` or `releaseAll` of the store has ended the hold, the error has another code, and the
    // watchdog reports no loss.
    if (this.#subject !== undefined && error.code === 'ERR_LOCK_LOST')
      watchdog?.emitLost(this.#subject, error)
  }

  #hasLossToReport(): boolean {
    return this.#loss !== undefined && !this.#loss.reported
  }

  /** Called when this task has begun in `#turns`. Ends the task. */
  async #unlock(limit: CallLimit, all: boolean): Promise<{ acquires: number }> {
    try {
      const acquisition = this.#acquisition
      const { validity } = this
      if (validity === undefined) return await this.#askRow(limit)
      const isLast = all || acquisition.acquires <= 1
      if (isLast) this.#endPromise(validity)
      else acquisition.acquires--
      let owner: OwnerResult
      try {
        owner = await acquisition.release(isLast, limit)
      } catch (error) {
        if (!isLast) throw error
        void this.#turns.urgent(() => acquisition.giveBack())
        throw unlockGoesOnError(error)
      }
      if (codeOf(owner) !== (isLast ? 'RELEASED' : 'DECREMENTED')) {
        validity.lose('it had already ended when it was released')
        throw this.#reportLoss(owner)
      }
      if (isLast) validity.end()
      return { acquires: isLast ? 0 : acquisition.acquires }
    } finally {
      this.#turns.end()
    }
  }

  #endPromise(validity: HoldValidity): void {
    this.#services.renewals.remove(validity)
    validity.releasing()
    this.#acquisition = this.#newAcquisition()
  }

  /**
   * Throws the error of an unlock after a loss. The code depends on whether another acquirer holds the lock
   * now.
   */
  async #askRow(limit: CallLimit): Promise<never> {
    const loss = this.#loss
    if (loss === undefined || loss.reported) throw this.#neverHeld()
    let owner: OwnerResult | undefined
    try {
      owner = await loss.acquisition.release(true, limit)
    } catch {
      // The release has failed, but the hold is lost in any case.
    }
    throw this.#reportLoss(owner)
  }

  #reportLoss(owner: OwnerResult | undefined): LatchkeyError {
    if (this.#loss !== undefined) this.#loss.reported = true
    if (owner === undefined || codeOf(owner) !== 'NOT_OWNER') return this.notHeld()
    return new LatchkeyError('ERR_NOT_OWNER', 'The lock was lost, and another holds it now.', {
      owner: toOwner(owner),
      key: this.#shownKey,
      token: this.#loss?.error.token,
    })
  }
}

/**
 * In ms: how long the cluster keeps the caller's place in the queue. 0 means no limit, and null means that
 * the caller does not wait. The cluster needs the limit, because this process may die in the queue.
 */
function waitOf({ waits, limit }: Wanted): number | null {
  return waits ? (limit.left() ?? 0) : null
}

const isHeld = (entered: boolean): boolean => entered

const WAIT_KINDS: Readonly<Record<Kind, WaitKind>> = {
  [KIND.lock]: 'lock',
  [KIND.semaphore]: 'semaphore',
  [KIND.election]: 'election',
  [KIND.webLock]: 'web_lock',
}
