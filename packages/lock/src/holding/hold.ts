// Driver: one hold, as a Node developer holds it: a thing with a signal, a token and an end.

import { LatchkeyError, type KeyValueCalls } from '@latchkey/protocol'
import type { Holder } from './holder.js'
import type { LockPort } from './lock-port.js'
import type { HoldValidity } from './hold-validity.js'

/** A lock that is held. Release it, or let `await using` do it. */
export class Hold implements AsyncDisposable {
  readonly key: string | Uint8Array
  /** The fencing token: higher than that of every hold before. Pass it to resources outside (FenceGuard). */
  readonly token: number
  readonly #port: LockPort
  readonly #holder: Holder
  readonly #validity: HoldValidity
  #release: Promise<LatchkeyError | undefined> | undefined
  #kv: KeyValueCalls | undefined

  /** Internal. */
  constructor(port: LockPort, holder: Holder, validity: HoldValidity, key: string | Uint8Array) {
    this.#port = port
    this.#holder = holder
    this.#validity = validity
    this.key = key
    this.token = validity.token
  }

  /** Aborts with ERR_LOCK_LOST at the latest when the hold can no longer be promised; a release leaves it alone. */
  get signal(): AbortSignal {
    // CT7: behind a blocked event loop no timer has fired yet.
    this.#validity.remaining()
    return this.#validity.signal
  }

  /** Judged now, on a clock that errs towards lost. */
  get held(): boolean {
    return this.#validity.held
  }

  /** For so long it can be promised, unless it is renewed; 0 when it is lost or released. */
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

  /** Idempotent; resolves for a lost hold too. */
  async release(): Promise<void> {
    await this.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  /** A store's key-value calls. Every write carries the guard of this hold: ERR_FENCED once it is over. */
  get kv(): KeyValueCalls {
    this.#kv ??= this.#port.guardedKv(this.#validity.key, this.token, () => this.#isKnownLost())
    return this.#kv
  }

  /** Of a closed store every call is ERR_CLOSED, also a write under a hold. */
  #isKnownLost(): boolean {
    return !this.held && !this.#port.closed.aborted
  }

  /** Internal: why it was lost, as far as this process knows. */
  get loss(): LatchkeyError | undefined {
    return this.#validity.loss
  }

  /** Internal: for withLock, the loss that the release met, if any. */
  end(): Promise<LatchkeyError | undefined> {
    this.#release ??= this.#holder.leaveAll()
    return this.#release
  }
}
