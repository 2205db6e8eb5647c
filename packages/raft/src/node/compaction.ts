// Driver: keeps the log short. What the machine holds durably may go (S15), but the last entries within bounds stay for members
// that lag a little, and so does what the receiver of a snapshot will ask for next (S9).

import type { Entry } from '../core/types.js'

export interface CompactionPorts {
  firstIndex(): number
  lastIndex(): number
  entry(index: number): Entry
  /** The machine holds everything up to here durably, and it is applied. */
  durable(): number
  /** Where the oldest snapshot under way will go on; undefined when none is. */
  oldestSending(): number | undefined
  /** Drops everything up to `index`. */
  drop(index: number): void
}

export interface CompactionBounds {
  readonly everyEntries: number
  readonly everyBytes: number
}

export class Compaction {
  readonly #ports: CompactionPorts
  readonly #bounds: CompactionBounds
  /** Bytes appended since the last compaction, and what that one kept. */
  #bytes = 0

  constructor(ports: CompactionPorts, bounds: CompactionBounds) {
    this.#ports = ports
    this.#bounds = bounds
  }

  appended(entries: readonly Entry[]): void {
    for (const entry of entries) this.#bytes += entry.data.length
  }

  /** When the log has outgrown its bounds; half of them stays. */
  ifDue(): void {
    const { everyEntries, everyBytes } = this.#bounds
    const entries = this.#ports.lastIndex() - this.#ports.firstIndex() + 1
    if (entries > everyEntries || this.#bytes > everyBytes) this.run(everyEntries / 2, everyBytes / 2)
  }

  run(keepEntries: number, keepBytes: number): void {
    const first = this.#ports.firstIndex()
    const last = this.#ports.lastIndex()
    const needed = Math.min(this.#ports.durable(), this.#ports.oldestSending() ?? Number.POSITIVE_INFINITY)
    if (needed < first) return
    let index = last
    let bytes = 0
    while (index > needed || (index >= first && last - index < keepEntries && bytes < keepBytes)) {
      bytes += this.#ports.entry(index).data.length
      index--
    }
    // What was cut from the log had been counted too: from here on the sum is right again.
    this.#bytes = bytes
    if (index >= first) this.#ports.drop(index)
  }
}
