// Driver: owns the local truth about one hold: whether it may still be promised, and the signal that says when not.

import type { Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { BoundKeeper } from './keeper.js'
import type { LockPort } from './port.js'

export interface TenureOf {
  readonly key: Uint8Array
  readonly id: string
  readonly lease: number
  readonly token: number
  readonly deadline: number
}

/** releasing: its release is on the way or was; it is no longer promised, and whether it was lost is not known yet. */
type State =
  | { readonly kind: 'held' | 'releasing' | 'over' }
  | { readonly kind: 'lost'; readonly error: Error }

/**
 * Laws:
 * - `held` compares the clocks at each call (CT6, CT7); timers only see to it that the signal speaks when nobody asks.
 * - Once lost it stays lost: neither a late renewal nor a better bound brings it back.
 * - The deadline only grows.
 */
export class Tenure {
  readonly key: Uint8Array
  readonly id: string
  readonly lease: number
  readonly token: number
  /** port.clock.now() when the last request that prolonged it was sent. */
  renewedAt: number
  readonly #port: LockPort
  readonly #abort = new AbortController()
  readonly #lost: (error: LatchkeyError) => void
  readonly #off: (() => void)[]
  #deadline: number
  #state: State = { kind: 'held' }
  #timer: Timer | undefined

  constructor(port: LockPort, keeper: BoundKeeper, of: TenureOf, lost: (error: LatchkeyError) => void) {
    this.#port = port
    this.key = of.key
    this.id = of.id
    this.lease = of.lease
    this.token = of.token
    this.#deadline = of.deadline
    this.#lost = lost
    // A push does not say when its entry was; the bound says how long ago it was at most.
    const age = port.bound.upper(port.clock.instant()) - (of.deadline - of.lease)
    this.renewedAt = port.clock.now() - Math.max(0, age)
    this.#off = [
      keeper.concern(of.lease, () => this.held),
      port.bound.onDropped(() => this.lose('the store met another cluster')),
    ]
    this.#watch()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get held(): boolean {
    if (this.#state.kind !== 'held') return false
    if (this.#left() > 0) return true
    this.lose('its lease is over, as far as this process can tell')
    return false
  }

  get lost(): boolean {
    return this.#state.kind === 'lost'
  }

  remaining(): number {
    return this.held ? this.#left() : 0
  }

  /** A success of a renewal or reentry whose request was sent at `sentAt`. Of a hold that is lost or released: nothing. */
  prolong(deadline: number, sentAt: number): void {
    if (!this.held) return
    this.#deadline = Math.max(this.#deadline, deadline)
    this.renewedAt = Math.max(this.renewedAt, sentAt)
  }

  lose(why: string, cause?: unknown): void {
    if (this.#state.kind === 'lost' || this.#state.kind === 'over') return
    const message = `The lock was lost: ${why}. Stop the work it guarded and acquire it again.`
    const error = new LatchkeyError('ERR_LOCK_LOST', message, { cause })
    this.#finish({ kind: 'lost', error })
    this.#abort.abort(error)
    this.#lost(error)
  }

  /** Before a complete release is sent: from then on nothing can be promised. */
  releasing(): void {
    if (this.#state.kind === 'held') this.#finish({ kind: 'releasing' })
  }

  /** A complete release. The signal is left alone: what still runs with it may go on. */
  end(): void {
    if (this.#state.kind !== 'lost') this.#finish({ kind: 'over' })
  }

  #left(): number {
    return this.#port.bound.remaining(this.#deadline, this.#port.clock.instant())
  }

  #watch(): void {
    this.#timer = this.#port.clock.after(this.#left(), () => this.held && this.#watch(), { ref: false })
  }

  #finish(state: State): void {
    this.#state = state
    this.#timer?.cancel()
    for (const off of this.#off) off()
  }
}
