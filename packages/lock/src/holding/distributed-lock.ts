// Driver: the lock in RheaKV's shape. What it does is its Holder's; here are the words and the checks of arguments.

import {
  type Bytes,
  CALL_OPTIONS,
  type CallOptions,
  type ContextArg,
  knownNames,
  type Owner,
} from '@latchkey/protocol'
import { contextArg, durationArg, optionsArg, signalArg } from './lock-arguments.js'
import type { Place } from './acquisition.js'
import { Holder, type HolderTerms } from './holder.js'
import type { LockAttempt, LockObject } from './lock-interface.js'

/** An attempt without `timeout`, and an unlock without one, have this long. */
export const DEFAULT_TIMEOUT = 5_000

const ATTEMPT_OPTIONS = knownNames('context', 'timeout', 'signal')
const LOCK_OPTIONS = knownNames('context', 'signal')

/**
 * A lock in RheaKV's shape: reentrant, counted, bounded by its lease unless a Watchdog renews it.
 * ```ts
 * const lock = store.getDistributedLock('orders/42', '10s', watchdog)
 * if (await lock.tryLock({ timeout: '5s' })) {
 *   try {
 *     await chargeCard(order, { signal: lock.signal })
 *   } finally {
 *     await lock.unlock()
 *   }
 * }
 * ```
 */
export class DistributedLock implements LockObject {
  readonly #holder: Holder
  /** Of every attempt that gives none of its own. */
  readonly #context: ContextArg

  /** Internal: `store.getDistributedLock` makes them. */
  constructor(place: Place, terms: HolderTerms, context: ContextArg) {
    this.#holder = new Holder(place, terms, this)
    this.#context = context
  }

  /** True: it is held, one acquire more. `timeout` is the wait in the fair queue; without it one attempt. */
  tryLock(options?: LockAttempt): Promise<boolean> {
    try {
      const { context, timeout, signal } = optionsArg('tryLock', options, ATTEMPT_OPTIONS)
      const wait = durationArg(timeout, 'timeout')
      return this.#holder.enter({
        context: contextArg(context) ?? this.#context,
        waits: wait !== undefined,
        limit: this.#holder.limit(wait ?? DEFAULT_TIMEOUT, signalArg(signal)),
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Waits without limit. */
  async lock(options?: Omit<LockAttempt, 'timeout'>): Promise<void> {
    const { context, signal } = optionsArg('lock', options, LOCK_OPTIONS)
    await this.#holder.enter({
      context: contextArg(context) ?? this.#context,
      waits: true,
      limit: this.#holder.limit(undefined, signalArg(signal)),
    })
  }

  /**
   * Resolves the acquires that are left. ERR_LOCK_LOST: the lease was over; ERR_NOT_OWNER: another holds it, or nothing was held.
   * Whatever a last unlock throws, also for a signal that had fired before: `held` is false from the call on, nothing is renewed any
   * more, and the release goes on in the background until it is answered or the lease is over.
   */
  unlock(options?: CallOptions): Promise<{ acquires: number }> {
    try {
      const { timeout, signal } = optionsArg('unlock', options, CALL_OPTIONS)
      const patience = durationArg(timeout, 'timeout') ?? DEFAULT_TIMEOUT
      return this.#holder.leave(this.#holder.limit(patience, signalArg(signal)), false)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Judged now, on a clock that errs towards lost. */
  get held(): boolean {
    return this.#holder.held
  }

  /** For so long it can be promised, unless it is renewed; 0 when it is not held. */
  remainingMillis(): number {
    return this.#holder.validity?.remaining() ?? 0
  }

  /** Of the current hold. Throws ERR_LOCK_LOST after a loss, else ERR_NOT_OWNER. */
  getFencingToken(): number {
    const validity = this.#holder.validity
    if (validity === undefined) throw this.#holder.notHeld()
    return validity.token
  }

  /** The last Owner seen: after a refusal the holder. Undefined before any call. */
  getOwner(): Owner | undefined {
    return this.#holder.last
  }

  /** What the holder wrote beside the lock. */
  getOwnerContext(): Bytes | undefined {
    return this.#holder.last?.context
  }

  /** Of the current hold: aborts with ERR_LOCK_LOST when it can no longer be promised. Already aborted when there is none. */
  get signal(): AbortSignal {
    return this.#holder.signal
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#holder.leaveAll()
  }
}
