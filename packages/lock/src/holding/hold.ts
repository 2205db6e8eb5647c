// Driver: one hold as callers see it, with a token, a signal and a release.

import { type As, LatchkeyError, type KeyValueCalls } from '@latchkey/protocol'
import type { Holder } from './holder.js'
import type { LockPort } from './lock-port.js'
import type { HoldValidity } from './hold-validity.js'

/** A lock that is held. Release it, or let `await using` do it. */
export class Hold<S extends As = 'bytes'> implements AsyncDisposable {
  readonly key: string | Uint8Array
  /**
   * The fencing token: higher than that of every hold before. Pass it to resources outside the store
   * (FenceGuard).
   */
  readonly token: number
  readonly #port: LockPort
  readonly #holder: Holder
  readonly #validity: HoldValidity
  #release: Promise<LatchkeyError | undefined> | undefined
  #kv: KeyValueCalls<S> | undefined

  /** Internal. */
  constructor(port: LockPort, holder: Holder, validity: HoldValidity, key: string | Uint8Array) {
    this.#port = port
    this.#holder = holder
    this.#validity = validity
    this.key = key
    this.token = validity.token
  }

  /**
   * Aborts with ERR_LOCK_LOST at the latest when the hold can no longer be promised. A release does not abort
   * it.
   */
  get signal(): AbortSignal {
    // After the event loop was blocked, no timer has fired yet: the clocks decide (CT7).
    this.#validity.remaining()
    return this.#validity.signal
  }

  /** Compares the clocks at each read. Where they are uncertain the hold counts as lost. */
  get held(): boolean {
    return this.#validity.held
  }

  /** How many milliseconds the hold can be promised if it is not renewed; 0 when it is lost or released. */
  remainingMillis(): number {
    return this.#validity.remaining()
  }

  /** Throws ERR_LOCK_LOST after a loss, ERR_NOT_OWNER after a release. */
  assertHeld(): void {
    if (this.#validity.held) return
    if (!this.#validity.lost)
      throw new LatchkeyError('ERR_NOT_OWNER', 'This hold was released. Acquire the lock again.')
    throw new LatchkeyError('ERR_LOCK_LOST', undefined, { cause: this.signal.reason })
  }

  /** May be called again; also resolves for a lost hold. */
  async release(): Promise<void> {
    await this.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  /**
   * The key-value calls of the store. Every write carries the guard of this hold and rejects with ERR_FENCED
   * once the hold is over.
   */
  get kv(): KeyValueCalls<S> {
    this.#kv ??= this.#port.guardedKv(this.#validity.key, this.token, () =>
      this.#isKnownLost(),
    ) as KeyValueCalls<S>
    return this.#kv
  }

  /** In a closed store every call rejects with ERR_CLOSED, also a write of a hold; that is not ERR_FENCED. */
  #isKnownLost(): boolean {
    return !this.held && !this.#port.closed.aborted
  }

  /** Internal: why the hold was lost, as far as this process knows. */
  get loss(): LatchkeyError | undefined {
    return this.#validity.loss
  }

  /** Internal, for withLock: resolves to the loss that the release found, if any. */
  end(): Promise<LatchkeyError | undefined> {
    this.#release ??= this.#holder.leaveAll()
    return this.#release
  }
}
