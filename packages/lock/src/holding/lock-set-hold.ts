// Driver: the hold of a set of locks, in the form that callers use.

import {
  type As,
  type GuardArg,
  type KeyValueCalls,
  LatchkeyError,
  type OneGuardArg,
} from '@latchkey/protocol'
import type { HoldValidity } from './hold-validity.js'
import type { LockPort } from './lock-port-interface.js'
import type { SetAcquisition } from './lock-set-acquisition.js'

interface HoldSetParts {
  readonly port: LockPort
  readonly acquisition: SetAcquisition
  readonly names: readonly (string | Uint8Array)[]
  readonly shares: readonly boolean[]
  readonly abort: AbortController
}

/**
 * Several locks that are held together. If one lock is lost, all are lost. Release the locks with one call of
 * `release`, or let `await using` release them.
 */
export class HoldSet<S extends As = 'bytes'> implements AsyncDisposable {
  /** Maps each key, as the caller gave it, to the fencing token of its lock. */
  readonly tokens: ReadonlyMap<string | Uint8Array, number>
  readonly #parts: HoldSetParts
  readonly #validities: readonly HoldValidity[]
  #release: Promise<void> | undefined
  #kv: KeyValueCalls<S> | undefined

  /** Internal: `store.locks` creates sets. */
  constructor(parts: HoldSetParts) {
    this.#parts = parts
    this.#validities = parts.acquisition.validities
    this.tokens = new Map(parts.names.map((name, i) => [name, this.#validities[i]?.token ?? 0]))
  }

  /**
   * The signal aborts with ERR_LOCK_LOST before one of the locks can be lost. A release does not abort the
   * signal.
   */
  get signal(): AbortSignal {
    this.remainingMillis()
    return this.#parts.abort.signal
  }

  /**
   * Whether all of the locks are held. Each read compares the deadlines with this process's clocks. If the
   * clocks cannot prove that every lock is held, the set counts as lost.
   */
  get held(): boolean {
    return this.remainingMillis() > 0
  }

  /**
   * For how many milliseconds all of the locks are certainly held without a renewal. 0 if one of the locks is
   * not held.
   */
  remainingMillis(): number {
    return Math.min(...this.#validities.map((validity) => validity.remaining()))
  }

  /** Throws ERR_LOCK_LOST after a loss, and ERR_NOT_OWNER after a release. */
  assertHeld(): void {
    if (this.held) return
    const { signal } = this.#parts.abort
    if (!signal.aborted)
      throw new LatchkeyError('ERR_NOT_OWNER', 'These locks were released. Acquire them again.')
    const { key, token } = signal.reason as LatchkeyError
    throw new LatchkeyError('ERR_LOCK_LOST', undefined, { cause: signal.reason, key, token })
  }

  /**
   * The key-value calls of the store. Every write carries the tokens of all locks. A write rejects with
   * ERR_FENCED if one of the locks is not held.
   */
  get kv(): KeyValueCalls<S> {
    const { port } = this.#parts
    this.#kv ??= port.guardedKv(
      () => this.#guard(),
      () => !this.held && !port.closed.aborted,
    ) as KeyValueCalls<S>
    return this.#kv
  }

  /**
   * Returns the guard of this set's writes, with the key and the token of each lock. If all locks are shared,
   * the members of the cluster refuse the guard, because a shared lock alone allows no writes.
   */
  #guard(): GuardArg {
    const { shares } = this.#parts
    const writes = shares.includes(false)
    return this.#validities.map(
      ({ key, token }, i): OneGuardArg => (shares[i] && writes ? [key, token, true] : [key, token]),
    )
  }

  /** Releases all of the locks in one step. Also resolves after a loss or an earlier release. */
  async release(): Promise<void> {
    this.#release ??= this.#parts.acquisition.release()
    await this.#release
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}
