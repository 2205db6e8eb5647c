// Driver: decides when the overlay, which has the applied changes that are not on the disk yet, is written to
// the store. The flusher writes and syncs one batch at a time. After a failed write the member stops, because
// nobody knows whether the disk has the bytes.

import type { Clock, Histogram, Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { LogPosition } from '@latchkey/raft/core'
import type { State } from './state/store-state.js'
import type { KvLimits } from './kv-store-types.js'

interface Waiter {
  readonly index: number
  readonly resolve: () => void
  readonly reject: (error: LatchkeyError) => void
}

export class Flusher {
  readonly #clock: Clock
  readonly #state: State
  readonly #limits: KvLimits
  readonly #failed: (error: LatchkeyError) => void
  #durable: LogPosition
  #writing: LogPosition | undefined
  #waiters: Waiter[] = []
  #timer: Timer | undefined
  #stopped: LatchkeyError | undefined
  /**
   * True while an entry is half applied. The flusher then writes nothing, because a batch must contain only
   * whole entries (A2).
   */
  #held = false
  #whenIdle: (() => void) | undefined

  /** The time of each write in seconds, for metrics. */
  readonly #writes: Histogram

  constructor(
    clock: Clock,
    state: State,
    limits: KvLimits,
    writes: Histogram,
    failed: (error: LatchkeyError) => void,
  ) {
    this.#writes = writes
    this.#clock = clock
    this.#state = state
    this.#limits = limits
    this.#failed = failed
    this.#durable = state.meta.position
  }

  get durable(): LogPosition {
    return this.#durable
  }

  /**
   * True if the overlay has more bytes than allowed. The state machine then applies no entry until the disk
   * has caught up.
   */
  get overfull(): boolean {
    return this.#state.pendingBytes + this.#state.pendingEventBytes > this.#limits.overlayBytes
  }

  hold(): void {
    this.#held = true
  }

  release(): void {
    this.#held = false
    this.#next()
  }

  applied(): void {
    if (this.#due) this.#write()
    else this.#arm()
  }

  /** True if the rows or the events of the overlay have enough bytes for a write. */
  get #due(): boolean {
    const { flushBytes, flushEventBytes } = this.#limits
    return this.#state.pendingBytes >= flushBytes || this.#state.pendingEventBytes >= flushEventBytes
  }

  #arm(): void {
    this.#timer ??= this.#clock.after(
      this.#limits.flushMillis,
      () => {
        this.#timer = undefined
        this.#write()
      },
      { ref: false },
    )
  }

  /** Resolves when all changes that were applied before this call are on the disk. */
  flush(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped)
    const { index } = this.#state.meta.position
    if (index <= this.#durable.index) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiters.push({ index, resolve, reject })
      this.#write()
    })
  }

  #write(): void {
    const { position } = this.#state.meta
    if (this.#writing !== undefined || this.#held || this.#stopped !== undefined) return
    if (position.index <= this.#durable.index) return
    this.#timer?.cancel()
    this.#timer = undefined
    this.#writing = position
    this.#issue().then(
      () => this.#written(position),
      (error: unknown) => this.#writeFailed(error),
    )
  }

  async #issue(): Promise<void> {
    const began = this.#clock.now()
    await this.#state.store.write(this.#state.collect())
    this.#writes.observe((this.#clock.now() - began) / 1000)
  }

  #written(position: LogPosition): void {
    this.#writing = undefined
    if (this.#stopped !== undefined) return this.#idle()
    this.#state.written()
    this.#durable = position
    const waiting = this.#waiters
    this.#waiters = waiting.filter((waiter) => waiter.index > position.index)
    for (const waiter of waiting) if (waiter.index <= position.index) waiter.resolve()
    this.#next()
    this.#idle()
  }

  #next(): void {
    if (this.#waiters.length > 0 || this.#due) this.#write()
    else if (this.#state.meta.position.index > this.#durable.index) this.#arm()
  }

  #idle(): void {
    if (this.#writing === undefined) this.#whenIdle?.()
  }

  #writeFailed(cause: unknown): void {
    this.#writing = undefined
    if (this.#stopped === undefined) this.#failed(storageFailed(cause))
    this.#idle()
  }

  /**
   * Ends all writing. Pending calls of `flush` reject with `error`. Resolves when the last write has ended.
   */
  stop(error: LatchkeyError): Promise<void> {
    this.#stopped ??= error
    this.#timer?.cancel()
    this.#timer = undefined
    const waiting = this.#waiters
    this.#waiters = []
    for (const waiter of waiting) waiter.reject(error)
    if (this.#writing === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      this.#whenIdle = resolve
    })
  }
}

function storageFailed(cause: unknown): LatchkeyError {
  if (cause instanceof LatchkeyError) return cause
  return new LatchkeyError(
    'ERR_STORAGE_FAILED',
    `Writing the state failed: ${cause instanceof Error ? cause.message : String(cause)}. This member stops. Repair the disk, then start it again.`,
    { cause },
  )
}
