// Driver: the way to the own disk. How far the log is durable is the core's to know; here is only whether a write is under way,
// because commands that arrive meanwhile go into the next entry together.

import type { PersistBatch } from '../core/types.js'

export interface LogPort {
  /** One write, one sync; `done` in order. After an error every later append fails too. */
  append(batch: PersistBatch, done: (error?: Error) => void): void
  /** Drops what is before `index`, where whole segments allow it. */
  compact(index: number): void
}

export class LogWriter {
  readonly #log: LogPort
  readonly #durable: (batchId: number) => void
  readonly #failed: (error: Error) => void
  #writing = 0

  constructor(log: LogPort, durable: (batchId: number) => void, failed: (error: Error) => void) {
    this.#log = log
    this.#durable = durable
    this.#failed = failed
  }

  get idle(): boolean {
    return this.#writing === 0
  }

  write(batch: PersistBatch): void {
    this.#writing++
    this.#log.append(batch, (error) => {
      if (error !== undefined) return this.#failed(error)
      this.#writing--
      this.#durable(batch.id)
    })
  }
}
