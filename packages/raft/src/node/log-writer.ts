// Driver: the way to the own disk, and the truth about how far the log is durable. A batch under way counts as far as no
// later truncation voids it: an acknowledged sync must not make durable what has been replaced meanwhile.

import type { PersistBatch } from '../core/types.js'

export interface LogPort {
  /** One write, one sync; `done` in order. After an error every later append fails too. */
  append(batch: PersistBatch, done: (error?: Error) => void): void
  /** Drops what is before `index`, where whole segments allow it. */
  compact(index: number): void
  close(): Promise<void>
}

interface Writing {
  /** The log's last index once this batch is durable; undefined: the batch does not say. */
  lastIndex: number | undefined
}

export interface LogWriterPorts {
  readonly log: LogPort
  /** The batch is durable, and with it the log up to `lastIndex`. */
  durable(batchId: number, lastIndex: number): void
  truncated(from: number): void
  failed(error: Error): void
}

export class LogWriter {
  readonly #ports: LogWriterPorts
  #writing: Writing[] = []
  #durable: number

  constructor(ports: LogWriterPorts, durable: number) {
    this.#ports = ports
    this.#durable = durable
  }

  get idle(): boolean {
    return this.#writing.length === 0
  }

  write(batch: PersistBatch): void {
    if (batch.truncateFrom !== undefined) this.#truncate(batch.truncateFrom)
    const writing: Writing = { lastIndex: batch.entries.at(-1)?.index ?? batch.restartAfter?.position.index }
    this.#writing.push(writing)
    this.#ports.log.append(batch, (error) => {
      if (error !== undefined) return this.#ports.failed(error)
      this.#writing.shift()
      this.#durable = writing.lastIndex ?? this.#durable
      this.#ports.durable(batch.id, this.#durable)
    })
  }

  #truncate(from: number): void {
    this.#durable = Math.min(this.#durable, from - 1)
    for (const writing of this.#writing) {
      if (writing.lastIndex !== undefined) writing.lastIndex = Math.min(writing.lastIndex, from - 1)
    }
    this.#ports.truncated(from)
  }
}
