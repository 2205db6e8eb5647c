// Driver: owns one lock object's acquisitions, one after the other, and the order of its requests.

import {
  type ContextArg,
  type ErrorCode,
  LatchkeyError,
  type Owner,
  type OwnerResult,
  isLatchkeyError,
} from '@latchkey/protocol'
import { Acquisition, type Place, type Step, type Terms } from './acquisition.js'
import { CallLimit, OVER, type Over } from './call-limit.js'
import type { LockObject } from './lock-interface.js'
import { codeOf, toKept, toOwner } from './owner-decoding.js'
import { isWorthRetry, mayBeApplied, pause } from './background-retry.js'
import type { HoldValidity } from './hold-validity.js'
import { RequestOrder } from './request-order.js'
import type { Watchdog } from './watchdog.js'

export interface HolderTerms extends Terms {
  readonly watchdog: Watchdog | undefined
}
export interface Wanted {
  readonly context: ContextArg
  /** false: one attempt; else it queues until its limit is over. */
  readonly waits: boolean
  readonly limit: CallLimit
}

/** Of the last hold. `reported`: an unlock has told of it. */
interface Loss {
  readonly acquisition: Acquisition
  readonly error: LatchkeyError
  reported: boolean
}

type Turn = Exclude<Step, 'queued'> | { readonly woken: Promise<undefined | Over> } | Over

/** How long a wait that is over stays to hear that its place is gone: a round trip, not a failover. */
const FAREWELL = 500
const PAUSE_AFTER_FAILURE = 50
const RELEASE_TIMEOUT = 5_000
const NO_HOLD: ReadonlySet<ErrorCode> = new Set(['ERR_LOCK_LOST', 'ERR_NOT_OWNER'])

/**
 * Laws:
 * - `enter` gives true only while `held` is true. What an attempt may have got besides is given back before the next one asks.
 * - One holder is one owner: its flows share the hold, and its waiting flows one place in the queue.
 * - An acquisition ends with its complete release or its loss; the holder is then free, with a new id.
 * - Everything that changes an acquisition runs in turn; only a loss comes at any time.
 */
export class Holder {
  readonly #place: Place
  readonly #terms: HolderTerms
  /** Whom its watchdog's listeners know; undefined: nobody can listen. */
  readonly #subject: LockObject | undefined
  readonly #turns = new RequestOrder()
  /** What its acquisitions tell it. */
  readonly #told = {
    owner: (owner: OwnerResult) => {
      this.#last = toKept(owner)
    },
    lost: (acquisition: Acquisition, error: LatchkeyError) => this.#lost(acquisition, error),
  }
  #acquisition: Acquisition
  #loss: Loss | undefined
  #idleSignal: AbortSignal | undefined
  #last: OwnerResult | undefined

  constructor(place: Place, terms: HolderTerms, subject?: LockObject) {
    this.#place = place
    this.#terms = terms
    this.#subject = subject
    this.#acquisition = this.#newClaim()
  }

  get held(): boolean {
    return this.#acquisition.validity?.held ?? false
  }

  /** Of the current hold, judged now. */
  get validity(): HoldValidity | undefined {
    const { validity } = this.#acquisition
    return validity?.held ? validity : undefined
  }

  /** A copy: the caller's. */
  get last(): Owner | undefined {
    return this.#last && toOwner(this.#last)
  }

  limit(timeout: number | undefined, signal?: AbortSignal): CallLimit {
    return new CallLimit(this.#place.port, timeout, signal)
  }

  get signal(): AbortSignal {
    const validity = this.validity
    if (validity !== undefined) return validity.signal
    if (this.#loss?.acquisition.validity) return this.#loss.acquisition.validity.signal
    return (this.#idleSignal ??= AbortSignal.abort(this.notHeld()))
  }

  /** Why there is no hold. */
  notHeld(): LatchkeyError {
    if (this.#loss === undefined) return new LatchkeyError('ERR_NOT_OWNER')
    return new LatchkeyError('ERR_LOCK_LOST', this.#loss.error.message, { cause: this.#loss.error })
  }

  async enter(wanted: Wanted): Promise<boolean> {
    // The store's own watchdog is closed with it: what the caller has to do is said of the store.
    if (this.#place.port.closed.aborted) throw new LatchkeyError('ERR_CLOSED')
    if (this.#terms.watchdog?.closed)
      throw new LatchkeyError(
        'ERR_CLOSED',
        'The watchdog of this lock is closed. Get the lock anew with one that is open.',
      )
    // Without a wait one more chance: for a hold that turned out to be lost at reentry, or a grant that was over on arrival.
    for (let chances = wanted.waits ? Number.POSITIVE_INFINITY : 2; chances > 0; chances--) {
      const turn = await this.#turns.run(() => this.#step(wanted), wanted.limit, isOver)
      if (turn === 'refused') return false
      if (turn === 'held' && this.#mayKeep(wanted.limit)) return true
      if (turn === OVER) return this.#gaveUp(wanted)
      if (typeof turn === 'object' && (await turn.woken) === OVER) return this.#gaveUp(wanted)
    }
    return false
  }

  /** Gives one acquire back, or all. Whatever it throws, a last acquire is no longer held afterwards. */
  leave(limit: CallLimit, all: boolean): Promise<{ acquires: number }> {
    if (this.#acquisition.validity === undefined && !this.#hasLossToReport())
      return Promise.reject(new LatchkeyError('ERR_NOT_OWNER'))
    return this.#turns.run(
      () => this.#unlock(limit, all),
      limit,
      () => this.#leaveBehind(limit, all),
    )
  }

  /** Another request of this object is still under way: it is done behind that one, and nobody waits for it. */
  #leaveBehind(limit: CallLimit, all: boolean): never {
    const behind = this.limit(this.#terms.lease)
    this.#turns.urgent(() => this.#unlock(behind, all)).catch(() => {})
    throw new LatchkeyError('ERR_OUTCOME_UNKNOWN', BEHIND, { cause: limit.error() })
  }

  /** All acquires in one request. Without a hold, or with a lost one, there is nothing to do. The loss that was met, if any. */
  async leaveAll(): Promise<LatchkeyError | undefined> {
    // A store that is closed has released it, or was told to keep it.
    if (this.#place.port.closed.aborted && this.validity === undefined) return this.#loss?.error
    try {
      await this.leave(this.limit(RELEASE_TIMEOUT), true)
    } catch (error) {
      if (!isLatchkeyError(error) || !NO_HOLD.has(error.code)) throw error
      return error
    }
    return undefined
  }

  // ---- getting it

  async #step(wanted: Wanted): Promise<Turn> {
    if (wanted.limit.end !== undefined) return OVER
    const acquisition = this.#acquisition
    try {
      const step = await acquisition.step(wanted.context, waitOf(wanted), wanted.limit)
      if (step === 'queued') return { woken: acquisition.sleep(wanted.limit) }
      if (step === 'again') this.#retire(acquisition)
      if (step === 'held') this.#nowHeld(acquisition)
      if (step === 'refused') acquisition.rest()
      return step
    } catch (error) {
      return this.#failed(acquisition, wanted, error)
    }
  }

  #nowHeld(acquisition: Acquisition): void {
    this.#loss = undefined
    const { validity } = acquisition
    if (validity === undefined) return
    const { watchdog } = this.#terms
    if (watchdog === undefined) this.#place.renewals.remove(validity)
    else watchdog.watch(this.#place.renewals, validity)
  }

  /** K28: one who has given up meanwhile gives back what came. */
  #mayKeep(limit: CallLimit): boolean {
    if (!limit.signal?.aborted) return this.held
    this.leave(this.limit(this.#terms.lease), false).catch(() => {})
    throw limit.error()
  }

  async #failed(acquisition: Acquisition, wanted: Wanted, error: unknown): Promise<Turn> {
    // Of an attempt whose fate is unknown there may be a hold that nobody knows. Behind a known hold its release takes care of it.
    if (mayBeApplied(error) && acquisition.validity === undefined && !acquisition.hasSleepers)
      this.#retire(acquisition)
    else acquisition.rest()
    const { end } = wanted.limit
    if (!wanted.waits || end === 'aborted' || end === 'closed') throw error
    if (end === 'timeout') return OVER
    if (!isWorthRetry(error) || (error as LatchkeyError).code === 'ERR_BUSY') throw error
    await pause(this.#place.port, PAUSE_AFTER_FAILURE)
    return 'again'
  }

  /** A wait that ends by its time ends with false; a lonely attempt that never got its turn met no leader. */
  async #gaveUp({ waits, limit }: Wanted): Promise<false> {
    const end = limit.end ?? 'timeout'
    const gone = this.#turns.urgent(() => this.#leaveQueue())
    if (end !== 'timeout') throw limit.error()
    if (!waits) throw new LatchkeyError('ERR_NO_LEADER')
    await this.limit(FAREWELL).wait(gone)
    return false
  }

  /** The last of the attempts that share the place takes it off; the others keep theirs. */
  async #leaveQueue(): Promise<void> {
    const acquisition = this.#acquisition
    if (acquisition.validity !== undefined || acquisition.hasSleepers || !acquisition.mayHaveLeftSomething)
      return
    this.#acquisition = this.#newClaim()
    await acquisition.giveBack()
  }

  #retire(acquisition: Acquisition): void {
    if (this.#acquisition !== acquisition) return
    this.#acquisition = this.#newClaim()
    void this.#turns.urgent(() => acquisition.giveBack())
  }

  #newClaim(): Acquisition {
    return new Acquisition(this.#place, this.#terms, this.#told)
  }

  /** By the clocks or by a definite word; at any time. The row is released behind it. */
  #lost(acquisition: Acquisition, error: LatchkeyError): void {
    const { watchdog } = this.#terms
    if (acquisition.validity !== undefined) this.#place.renewals.remove(acquisition.validity)
    this.#loss = { acquisition, error, reported: false }
    this.#retire(acquisition)
    // A store that gives its holds back loses none.
    if (this.#subject !== undefined && error.code === 'ERR_LOCK_LOST')
      watchdog?.tellLost(this.#subject, error)
  }

  // ---- giving it back

  #hasLossToReport(): boolean {
    return this.#loss !== undefined && !this.#loss.reported
  }

  async #unlock(limit: CallLimit, all: boolean): Promise<{ acquires: number }> {
    const acquisition = this.#acquisition
    const { validity } = this
    if (validity === undefined) return this.#askRow(limit)
    const isLast = all || acquisition.acquires <= 1
    if (isLast) this.#letGo(validity)
    else acquisition.acquires--
    let owner: OwnerResult
    try {
      owner = await acquisition.release(isLast, limit)
    } catch (error) {
      if (!isLast) throw error
      void this.#turns.urgent(() => acquisition.giveBack())
      throw leftBehind(error)
    }
    if (codeOf(owner) !== (isLast ? 'RELEASED' : 'DECREMENTED')) {
      validity.lose('it was gone when it was released')
      throw this.#reportLoss(owner)
    }
    if (isLast) validity.end()
    return { acquires: isLast ? 0 : acquisition.acquires }
  }

  /** Before the request is sent: no renewal leaves after the release, and nothing is promised any more. */
  #letGo(validity: HoldValidity): void {
    this.#place.renewals.remove(validity)
    validity.releasing()
    this.#acquisition = this.#newClaim()
  }

  /** The loss is known; the row decides whether somebody else holds it now. */
  async #askRow(limit: CallLimit): Promise<never> {
    const loss = this.#loss
    if (loss === undefined || loss.reported) throw new LatchkeyError('ERR_NOT_OWNER')
    let owner: OwnerResult | undefined
    try {
      owner = await loss.acquisition.release(true, limit)
    } catch {
      // Nobody answers, but lost it is.
    }
    throw this.#reportLoss(owner)
  }

  #reportLoss(owner: OwnerResult | undefined): LatchkeyError {
    if (this.#loss !== undefined) this.#loss.reported = true
    if (owner === undefined || codeOf(owner) !== 'NOT_OWNER') return this.notHeld()
    return new LatchkeyError('ERR_NOT_OWNER', 'The lock was lost, and another holds it now.', {
      owner: toOwner(owner),
    })
  }
}

/** Asking again is of no use: the object is free, and the release is sent behind it until somebody answers. */
function leftBehind(error: unknown): unknown {
  const goesOn = isWorthRetry(error) || isLatchkeyError(error, 'ERR_ABORTED')
  if (!goesOn || !isLatchkeyError(error)) return error
  const { code, outcome, cause } = error
  return new LatchkeyError(code, BEHIND, { outcome, retryable: false, cause })
}
const BEHIND =
  'The unlock ended before it was answered. The lock is not held here any more, and its release goes on in the background until the lease is over: there is nothing to ask again.'

/** On the server the wait ends with the attempt, should nobody be left to say so. */
function waitOf({ waits, limit }: Wanted): number | null {
  return waits ? (limit.left() ?? 0) : null
}

const isOver = (): Over => OVER
