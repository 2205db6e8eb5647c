// Driver: a log that keeps nothing, for a member without a disk. What it is given counts as durable at the end of the turn.

import type { PersistBatch } from '../core/types.js'

export class MemoryLog {
  #closed = false

  append(_batch: PersistBatch, done: (error?: Error) => void): void {
    // Microtasks keep their order, so `done` comes in the order of the appends.
    queueMicrotask(() => {
      if (!this.#closed) done()
    })
  }

  compact(_index: number): void {}

  close(): Promise<void> {
    this.#closed = true
    return Promise.resolve()
  }
}
