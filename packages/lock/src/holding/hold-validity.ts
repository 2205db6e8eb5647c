// Driver: decides, from what this process knows of one hold, whether the hold certainly is in force, and when
// its signal aborts.

import type { Instant } from '@latchkey/base'
import { LatchkeyError, type OwnerResult, shownLockKey } from '@latchkey/protocol'
import { NOT_IN_SET, type Indexed } from './indexed-set.js'
import type { ClusterTimeRefresh, HoldOrAttempt } from './hold-expiry-and-time-refresh.js'
import type { LockCall, LockPort } from './lock-port-interface.js'

interface HoldFields {
  readonly key: Uint8Array
  readonly id: string
  readonly lease: number
  readonly token: number
  readonly deadline: number
}

export type RenewedHold = Pick<HoldFields, 'key' | 'id' | 'token' | 'lease'>

/** One hold that is being renewed. */
export interface Renewal extends Indexed {
  readonly of: RenewedHold
  /** Undefined until the first answer shows whether the hold is in force (Renewals.confirm). */
  validity: HoldValidity | undefined
  by: object | undefined
  at: number
  triedAt: number
  /**
   * Renewals.confirm waits for the first answer until this time. `at`, `triedAt` and `until` are times of the
   * local clock, in ms.
   */
  until: number
  last: Try | undefined
  tries: number
  /**
   * The callback of Renewals.confirm, for the first answer. Its argument is undefined if no member answers.
   */
  confirmed: ((owner: OwnerResult | undefined) => void) | undefined
}

/** One renewal request. */
export interface Try {
  readonly call: LockCall
  over: boolean
}

/**
 * releasing: the release was sent, or is sent next. This process no longer guarantees the hold. The answer
 * will show whether the hold was lost before the release.
 */
type State = 'held' | 'releasing' | 'over' | 'lost'

/**
 * Laws:
 * - `held` compares the clocks at each call (CT6, CT7). The timer of ClusterTimeRefresh also compares the
 *   clocks, because the signal must abort even if no caller reads `held`.
 * - A lost hold stays lost, even if a late renewal or a lower bound of cluster time arrives.
 * - The deadline never moves to an earlier time.
 */
export class HoldValidity implements HoldOrAttempt {
  index = NOT_IN_SET
  readonly key: Uint8Array
  readonly id: string
  readonly lease: number
  token: number
  /** Undefined if the hold is not renewed. Renewals sets and clears this field. */
  renewal: Renewal | undefined = undefined
  readonly #port: LockPort
  readonly #clusterTimeRefresh: ClusterTimeRefresh
  readonly #lost: (error: LatchkeyError) => void
  #deadline: number
  #state: State = 'held'
  #loss: LatchkeyError | undefined
  /** Undefined before the first read of `signal`, because few callers read the signal. */
  #abort: AbortController | undefined

  constructor(
    port: LockPort,
    boundRenewal: ClusterTimeRefresh,
    of: HoldFields,
    now: Instant,
    lost: (error: LatchkeyError) => void,
  ) {
    this.#port = port
    this.#clusterTimeRefresh = boundRenewal
    this.key = of.key
    this.id = of.id
    this.lease = of.lease
    this.token = of.token
    this.#deadline = of.deadline
    this.#lost = lost
    boundRenewal.add(this, port.bound.remaining(of.deadline, now))
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#loss !== undefined) this.#abort.abort(this.#loss)
    }
    return this.#abort.signal
  }

  get held(): boolean {
    return this.remaining() > 0
  }

  get lost(): boolean {
    return this.#state === 'lost'
  }

  /** Why the hold is lost. */
  get loss(): LatchkeyError | undefined {
    return this.#loss
  }

  remaining(): number {
    if (this.#state !== 'held') return 0
    const left = this.#port.bound.remaining(this.#deadline, this.#port.clock.instant())
    if (left > 0) return left
    this.lose('its lease is over, as far as this process can tell')
    return 0
  }

  /**
   * Returns an upper bound of the milliseconds since the log entry that set the deadline. No answer carries
   * the time of that entry, so the result is computed from the upper bound of cluster time.
   */
  age(): number {
    const { bound, clock } = this.#port
    return Math.max(0, bound.upper(clock.instant()) - (this.#deadline - this.lease))
  }

  /** Answers may come out of order, so a lower token is ignored. */
  rotated(token: number): void {
    this.token = Math.max(this.token, token)
  }

  prolong(deadline: number): void {
    if (!this.held) return
    this.#deadline = Math.max(this.#deadline, deadline)
  }

  lose(why: string, cause?: unknown): void {
    if (this.#state === 'lost' || this.#state === 'over') return
    const message = `The lock was lost: ${why}. Stop the work it guarded and acquire it again.`
    const { token } = this
    const key = shownLockKey(this.key, this.#port.decoding)
    const error = new LatchkeyError('ERR_LOCK_LOST', message, { cause, key, token })
    this.#loss = error
    this.#finish('lost')
    const { counts } = this.#port
    if (counts !== undefined) counts.lost++
    this.#abort?.abort(error)
    this.#lost(error)
  }

  /**
   * Ends the hold in this process. Called when `close` or `locks.releaseAll` of the store releases the holds
   * of this process. The signal aborts, because the user of the hold did not ask for the release and must
   * stop.
   */
  revoke(why: LatchkeyError): void {
    if (this.#state !== 'held') return
    this.#loss = why
    this.#finish('lost')
    this.#abort?.abort(why)
    this.#lost(why)
  }

  releasing(): void {
    if (this.#state === 'held') this.#finish('releasing')
  }

  /** Ends the hold after the release of all its acquires. The signal does not abort. */
  end(): void {
    if (this.#state !== 'lost') this.#finish('over')
  }

  #finish(state: State): void {
    this.#state = state
    this.#clusterTimeRefresh.remove(this)
  }
}
