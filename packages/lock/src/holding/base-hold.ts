// Driver: what holds of locks, permits of semaphores and leaderships have in common: a token, a signal,
// guarded writes and a release.

import { type As, type GuardArg, LatchkeyError, type KeyValueCalls } from '@latchkey/protocol'
import type { HoldChange } from './acquisition.js'
import type { HoldValidity } from './hold-validity.js'
import type { Holder } from './lock-object-acquisition-and-request-order.js'
import type { LockPort } from './lock-port-interface.js'

const CHANGE_TIMEOUT = 5_000

export interface HoldParts {
  readonly port: LockPort
  readonly holder: Holder
  readonly validity: HoldValidity
  readonly name: string | Uint8Array
}

export abstract class BaseHold<S extends As = 'bytes'> implements AsyncDisposable {
  readonly key: string | Uint8Array
  /** Private, because a hold may be passed as a guard, and a guard must have no unknown fields. */
  readonly #parts: HoldParts
  #release: Promise<LatchkeyError | undefined> | undefined
  #kv: KeyValueCalls<S> | undefined

  /** Internal: store.locks and the like create holds. */
  constructor(parts: HoldParts) {
    this.#parts = parts
    this.key = parts.name
  }

  protected get parts(): HoldParts {
    return this.#parts
  }

  /**
   * The fencing token, which is higher than the tokens of all earlier holds of this lock. Pass the token to
   * systems outside the store that compare tokens, for example with a FenceGuard. With `rotateEvery`, the
   * token grows while the lock is held.
   */
  get token(): number {
    return this.parts.validity.token
  }

  /**
   * Aborts with ERR_LOCK_LOST before the hold can be lost. The signal also aborts when the store itself
   * releases the hold: with ERR_CLOSED at `close`, and with ERR_NOT_OWNER at `locks.releaseAll`. The
   * `release` of this hold does not abort the signal.
   */
  get signal(): AbortSignal {
    const { validity } = this.parts
    // While the event loop is blocked, no timer fires. So this read compares the clocks (CT7), and aborts the
    // signal if the time of the hold is over.
    validity.remaining()
    return validity.signal
  }

  /**
   * Whether the hold is in force. Each read compares the deadline of the hold with this process's clocks. If
   * the clocks cannot prove that the hold is in force, the hold counts as lost.
   */
  get held(): boolean {
    return this.parts.validity.held
  }

  /**
   * For how many milliseconds the hold is certainly in force without a renewal. 0 if the hold is lost or
   * released.
   */
  remainingMillis(): number {
    return this.parts.validity.remaining()
  }

  /** Throws ERR_LOCK_LOST after a loss, and ERR_NOT_OWNER after a release. */
  assertHeld(): void {
    const { validity } = this.parts
    if (validity.held) return
    const { key, token } = this
    if (!validity.lost)
      throw new LatchkeyError('ERR_NOT_OWNER', 'This hold was released. Acquire it again.', { key, token })
    throw new LatchkeyError('ERR_LOCK_LOST', undefined, { cause: this.signal.reason, key, token })
  }

  /** Releases the hold. Also resolves if the hold was lost or already released. */
  async release(): Promise<void> {
    await this.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  /**
   * The key-value calls of the store. Every write carries the guard of this hold, and rejects with ERR_FENCED
   * when the hold is over.
   */
  get kv(): KeyValueCalls<S> {
    const { port } = this.parts
    this.#kv ??= port.guardedKv(
      () => this.guard(),
      () => this.#isKnownLost(),
    ) as KeyValueCalls<S>
    return this.#kv
  }

  protected guard(): GuardArg {
    return [this.parts.validity.key, this.token]
  }

  protected change(what: HoldChange): Promise<void> {
    const { holder } = this.parts
    return holder.change(what, holder.limit(CHANGE_TIMEOUT))
  }

  /**
   * Whether the hold is known to be lost or released. No hold of a closed store counts as lost, because every
   * call of a closed store must reject with ERR_CLOSED and not with ERR_FENCED.
   */
  #isKnownLost(): boolean {
    return !this.held && !this.parts.port.closed.aborted
  }

  /** Internal: why the hold was lost, as far as this process knows. */
  get loss(): LatchkeyError | undefined {
    return this.parts.validity.loss
  }

  /** Internal, for withLock. Resolves to the loss that the release has found, or to undefined. */
  end(): Promise<LatchkeyError | undefined> {
    this.#release ??= this.parts.holder.leaveAll()
    return this.#release
  }
}
