// Driver: DistributedLock, the lock whose methods come from RheaKV, the key-value store of JRaft. The class
// checks arguments and passes each call to its Holder.

import {
  type Bytes,
  type CallOptions,
  type ContextArg,
  knownNames,
  type Owner,
  toSignal,
  callArgs,
  DEFAULT_TIMEOUT,
} from '@latchkey/protocol'
import { contextArg, durationArg, optionsArg } from './lock-arguments.js'
import type { LockServices } from './shared-by-all-acquisitions.js'
import { flowArg } from './flow-for-deadlock-detection.js'
import { Holder, type HolderTerms } from './lock-object-acquisition-and-request-order.js'
import type { LockAttempt, LockObject } from './distributed-lock-interface.js'

const ATTEMPT_OPTIONS = knownNames('context', 'timeout', 'signal')
const LOCK_OPTIONS = knownNames('context', 'signal')

interface LockDefaults {
  readonly context: ContextArg
  /**
   * The name of the flow to which every attempt belongs in deadlock detection. If the name is undefined, an
   * attempt belongs to the flow of the `withLock` around its call.
   */
  readonly flow: string | undefined
}

/**
 * A lock with the methods of DistributedLock in RheaKV, the key-value store of JRaft. The lock is reentrant
 * and counts its acquires. The lock is held until the last unlock or until its lease ends. A Watchdog can
 * renew the lease.
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
  readonly #services: LockServices
  readonly #defaults: LockDefaults

  /** Internal: `store.getDistributedLock` creates locks. */
  constructor(services: LockServices, terms: HolderTerms, defaults: LockDefaults) {
    this.#services = services
    this.#holder = new Holder(services, terms, this)
    this.#defaults = defaults
  }

  /**
   * Tries to acquire the lock. If this object already holds the lock, the call acquires it once more.
   * Resolves to true if the acquire count has grown by one. `timeout` limits the wait in the fair queue.
   * Without `timeout`, the call makes one attempt.
   */
  tryLock(options?: LockAttempt): Promise<boolean> {
    try {
      const { context, timeout, signal } = optionsArg('tryLock', options, ATTEMPT_OPTIONS)
      const wait = durationArg(timeout, 'timeout')
      return this.#enter(context, wait !== undefined, wait ?? DEFAULT_TIMEOUT, signal)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Waits in the fair queue without a time limit. */
  async lock(options?: Omit<LockAttempt, 'timeout'>): Promise<void> {
    const { context, signal } = optionsArg('lock', options, LOCK_OPTIONS)
    await this.#enter(context, true, undefined, signal)
  }

  #enter(context: unknown, waits: boolean, timeout: number | undefined, signal: unknown): Promise<boolean> {
    const { context: usual, flow } = this.#defaults
    return this.#holder.enter({
      context: contextArg(context) ?? usual,
      flow: flowArg(this.#services.around, flow),
      waits,
      limit: this.#holder.limit(timeout, toSignal(signal)),
    })
  }

  /**
   * Releases one acquire and resolves to the remaining acquire count. Rejects with ERR_LOCK_LOST if the lease
   * was already over, and with ERR_NOT_OWNER if another caller holds the lock or if this object held nothing.
   * The unlock of the last acquire sets `held` to false and ends renewals immediately, even if the call
   * rejects or its signal was already aborted. If the call ends before its answer, the release continues in
   * the background until its answer arrives or the lease is over.
   */
  unlock(options?: CallOptions): Promise<{ acquires: number }> {
    try {
      const { timeout, signal } = callArgs('unlock', options)
      return this.#holder.leave(this.#holder.limit(timeout, signal), false)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Whether the hold is in force. Each read compares the deadline of the hold with this process's clocks. If
   * the clocks cannot prove that the hold is in force, the hold counts as lost.
   */
  get held(): boolean {
    return this.#holder.held
  }

  /** For how many milliseconds the hold is certainly in force without a renewal. 0 if the hold is over. */
  remainingMillis(): number {
    return this.#holder.validity?.remaining() ?? 0
  }

  /**
   * The token of the current hold. Without a hold, the call throws ERR_LOCK_LOST if the last hold was
   * lost, and otherwise ERR_NOT_OWNER.
   */
  getFencingToken(): number {
    const validity = this.#holder.validity
    if (validity === undefined) throw this.#holder.notHeld()
    return validity.token
  }

  /**
   * Returns the Owner of the last answer. After a refusal, the Owner describes the present holder. Undefined
   * before the first answer.
   */
  getOwner(): Owner | undefined {
    return this.#holder.last
  }

  getOwnerContext(): Bytes | undefined {
    return this.#holder.last?.context
  }

  /**
   * The signal of the current hold. The signal aborts with ERR_LOCK_LOST before the hold can be lost. Without
   * a hold, the signal is aborted already.
   */
  get signal(): AbortSignal {
    return this.#holder.signal
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#holder.leaveAll()
  }
}
