// Driver: the lock in RheaKV's shape. What it does is its Holder's; here are the words and the checks of arguments.

import type { Bytes, CallOptions, ContextArg, Duration, Owner } from '@latchkey/protocol'
import { contextArg, durationArg, optionsArg, signalArg } from './arguments.js'
import type { Place } from './claim.js'
import { Holder, type HolderTerms } from './holder.js'

export interface LockAttempt {
  context?: Bytes | undefined
  /** The wait in the fair queue; without it one attempt. */
  timeout?: Duration | undefined
  signal?: AbortSignal | undefined
}

/** An attempt without `timeout`, and an unlock without one, have this long. */
export const DEFAULT_TIMEOUT = 5_000

export class DistributedLock implements AsyncDisposable {
  readonly #holder: Holder
  /** Of every attempt that gives none of its own. */
  readonly #context: ContextArg

  constructor(place: Place, terms: HolderTerms, context: ContextArg) {
    this.#holder = new Holder(place, terms, () => this)
    this.#context = context
  }

  async tryLock(options?: LockAttempt): Promise<boolean> {
    const { context, timeout, signal } = optionsArg(options)
    const wait = durationArg(timeout, 'timeout')
    return this.#holder.enter({
      context: contextArg(context) ?? this.#context,
      waits: wait !== undefined,
      limit: this.#holder.limit(wait ?? DEFAULT_TIMEOUT, signalArg(signal)),
    })
  }

  /** Waits without limit. */
  async lock(options?: Omit<LockAttempt, 'timeout'>): Promise<void> {
    const { context, signal } = optionsArg(options)
    await this.#holder.enter({
      context: contextArg(context) ?? this.#context,
      waits: true,
      limit: this.#holder.limit(undefined, signalArg(signal)),
    })
  }

  async unlock(options?: CallOptions): Promise<{ acquires: number }> {
    const { timeout, signal } = optionsArg(options)
    const patience = durationArg(timeout, 'timeout') ?? DEFAULT_TIMEOUT
    return this.#holder.leave(this.#holder.limit(patience, signalArg(signal)), false)
  }

  get held(): boolean {
    return this.#holder.held
  }

  remainingMillis(): number {
    return this.#holder.tenure?.remaining() ?? 0
  }

  getFencingToken(): number {
    const tenure = this.#holder.tenure
    if (tenure === undefined) throw this.#holder.notHeld()
    return tenure.token
  }

  /** The last Owner seen: after a refusal the holder. */
  getOwner(): Owner | undefined {
    const owner = this.#holder.last
    return owner && { ...owner }
  }

  getOwnerContext(): Bytes | undefined {
    return this.#holder.last?.context
  }

  /** Of the current hold; already aborted when there is none. */
  get signal(): AbortSignal {
    return this.#holder.signal
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#holder.leaveAll()
  }
}
