// Driver: writes batches to the member's log on disk, and reports each durable batch to the core. The owner
// of this class reads `idle` to know whether a write is under way. Commands that arrive during a write wait
// for its end, and then share one entry.

import type { PersistBatch } from '../core/types.js'

export interface LogPort {
  /**
   * Writes and syncs the batch. The functions `done` are called in the order of the calls of `append`. After
   * an error all later appends fail too.
   */
  append(batch: PersistBatch, done: (error?: Error) => void): void
  /**
   * Deletes entries up to `index`. Only whole segment files are deleted, so some of these entries may stay.
   */
  compact(index: number): void
}

interface SyncMeter {
  now(): number
  took(millis: number): void
}

export class LogWriter {
  readonly #log: LogPort
  readonly #durable: (batchId: number) => void
  readonly #failed: (error: Error) => void
  readonly #meter: SyncMeter
  #writing = 0

  constructor(
    log: LogPort,
    durable: (batchId: number) => void,
    failed: (error: Error) => void,
    meter: SyncMeter,
  ) {
    this.#log = log
    this.#durable = durable
    this.#failed = failed
    this.#meter = meter
  }

  get idle(): boolean {
    return this.#writing === 0
  }

  write(batch: PersistBatch): void {
    this.#writing++
    const began = this.#meter.now()
    this.#log.append(batch, (error) => {
      if (error !== undefined) return this.#failed(error)
      this.#writing--
      this.#meter.took(this.#meter.now() - began)
      this.#durable(batch.id)
    })
  }
}
