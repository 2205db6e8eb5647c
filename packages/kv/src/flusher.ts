// Driver: decides when the overlay is written to the store. The overlay has the changes that are applied but
// are not on the disk yet. One batch is written and synced at a time, so an older batch is never written
// after a newer one. A failed write is not repeated, because nobody knows whether the disk has its bytes. The
// member stops instead.

import type { Clock, Histogram, Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { LogPosition } from '@latchkey/raft/core'
import type { State } from './state/store-state.js'
import type { KvLimits } from './kv-store.js'

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
  /** The log position of the batch that is being written. The batch has all changes up to this position. */
  #writing: LogPosition | undefined
  #waiters: Waiter[] = []
  #timer: Timer | undefined
  #stopped: LatchkeyError | undefined
  /**
   * True while an entry is half applied. Nothing may be written then, because a batch has whole entries only
   * (A2).
   */
  #held = false
  #whenIdle: (() => void) | undefined

  /** Seconds of each batch that was written. */
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

  /** True when the overlay has reached its limit. No entries are applied until the disk has caught up. */
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

  /** Called by the state machine after it has applied entries. */
  applied(): void {
    if (this.#due) this.#write()
    else this.#arm()
  }

  /**
   * Events have a limit of their own. Each event is written exactly once, and to a file of events. So waiting
   * saves no work for events, but a row of events has many bytes.
   */
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

  /** Resolves when everything that is applied now is durable. */
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

  /** An error of `collect` also counts as a failed write. */
  async #issue(): Promise<void> {
    const began = this.#clock.now()
    await this.#state.store.write(this.#state.collect())
    this.#writes.observe((this.#clock.now() - began) / 1000)
  }

  #written(position: LogPosition): void {
    this.#writing = undefined
    if (this.#stopped !== undefined) return this.#idle()
    this.#state.settle()
    this.#durable = position
    const waiting = this.#waiters
    this.#waiters = waiting.filter((waiter) => waiter.index > position.index)
    for (const waiter of waiting) if (waiter.index <= position.index) waiter.resolve()
    this.#next()
    this.#idle()
  }

  /**
   * Starts another write if, during the last write, a caller asked for a flush or the overlay
   * reached a limit.
   */
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
   * Ends all writing. Calls of `flush` that still wait reject with `error`.
   * Resolves when the last write has ended.
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
