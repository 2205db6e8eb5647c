// Driver: owns the local truth about one hold: whether it may still be promised, and the signal that says when not.

import type { Instant } from '@latchkey/base'
import { LatchkeyError, type OwnerResult } from '@latchkey/protocol'
import { NOT_IN_SET, type Indexed } from './indexed-set.js'
import type { BoundRenewal, Concern } from './bound-renewal.js'
import type { LockCall, LockPort } from './lock-port.js'

export interface HoldValidityPorts {
  readonly key: Uint8Array
  readonly id: string
  readonly lease: number
  readonly token: number
  readonly deadline: number
}

/** What is renewed. */
export type RenewedHold = Pick<HoldValidityPorts, 'key' | 'id' | 'token' | 'lease'>

/** One hold that is being renewed. */
export interface Renewal extends Indexed {
  readonly of: RenewedHold
  /** Undefined: the hold is not known to be in time yet; the first answer decides (confirm). */
  validity: HoldValidity | undefined
  /** On whose behalf: a watchdog. */
  by: object | undefined
  /** When the next try is due. */
  at: number
  /** When the last try was made. */
  triedAt: number
  /** So long the first answer is waited for. */
  until: number
  last: Try | undefined
  tries: number
  /** Told of the first answer; undefined: nobody answers. */
  confirmed: ((owner: OwnerResult | undefined) => void) | undefined
}

/** One request. */
export interface Try {
  readonly call: LockCall
  over: boolean
}

/** releasing: its release is on the way or was; it is no longer promised, and whether it was lost is not known yet. */
type State = 'held' | 'releasing' | 'over' | 'lost'

/**
 * Laws:
 * - `held` compares the clocks at each call (CT6, CT7); the renewal of the bound only sees to it that the signal speaks when nobody asks.
 * - Once lost it stays lost: neither a late renewal nor a better bound brings it back.
 * - The deadline only grows.
 */
export class HoldValidity implements Concern {
  place = NOT_IN_SET
  readonly key: Uint8Array
  readonly id: string
  readonly lease: number
  readonly token: number
  /** The renewals' own; undefined: nobody renews it. */
  renewal: Renewal | undefined = undefined
  readonly #port: LockPort
  readonly #boundRenewal: BoundRenewal
  readonly #lost: (error: LatchkeyError) => void
  #deadline: number
  #state: State = 'held'
  #loss: LatchkeyError | undefined
  /** Made when somebody asks for the signal: few do. */
  #abort: AbortController | undefined

  constructor(
    port: LockPort,
    boundRenewal: BoundRenewal,
    of: HoldValidityPorts,
    now: Instant,
    lost: (error: LatchkeyError) => void,
  ) {
    this.#port = port
    this.#boundRenewal = boundRenewal
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

  /** Why it is lost. */
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

  /** Milliseconds since the entry that gave it its deadline, at most: no answer says when that was, the bound does. */
  age(): number {
    const { bound, clock } = this.#port
    return Math.max(0, bound.upper(clock.instant()) - (this.#deadline - this.lease))
  }

  /** A renewal or reentry was a success. Of a hold that is lost or released: nothing. */
  prolong(deadline: number): void {
    if (!this.held) return
    this.#deadline = Math.max(this.#deadline, deadline)
  }

  lose(why: string, cause?: unknown): void {
    if (this.#state === 'lost' || this.#state === 'over') return
    const message = `The lock was lost: ${why}. Stop the work it guarded and acquire it again.`
    const error = new LatchkeyError('ERR_LOCK_LOST', message, { cause })
    this.#loss = error
    this.#finish('lost')
    this.#abort?.abort(error)
    this.#lost(error)
  }

  /** The store releases it together with all others: a hold of somebody who did not ask for that, and has to stop. */
  revoke(why: LatchkeyError): void {
    if (this.#state !== 'held') return
    this.#loss = why
    this.#finish('lost')
    this.#abort?.abort(why)
    this.#lost(why)
  }

  /** Before a complete release is sent: from then on nothing can be promised. */
  releasing(): void {
    if (this.#state === 'held') this.#finish('releasing')
  }

  /** A complete release. The signal is left alone: what still runs with it may go on. */
  end(): void {
    if (this.#state !== 'lost') this.#finish('over')
  }

  #finish(state: State): void {
    this.#state = state
    this.#boundRenewal.remove(this)
  }
}
