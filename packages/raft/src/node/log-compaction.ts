// Driver: compacts the log. Entries whose effects the state machine holds durably may be removed (S15). The
// last entries, up to a limit, stay for members that lag a little. Entries that the receiver of a snapshot
// will ask for next also stay (S9).

import type { Entry } from '../core/types.js'

export interface CompactionPorts {
  firstIndex(): number
  lastIndex(): number
  entry(index: number): Entry
  /** The index up to which the state machine has applied the log durably. */
  durable(): number
  /**
   * The index at which the receiver of the oldest snapshot continues. Undefined if no snapshot is being sent.
   */
  oldestSending(): number | undefined
  /** Removes all entries up to `index`. */
  drop(index: number): void
}

export interface CompactionBounds {
  readonly everyEntries: number
  readonly everyBytes: number
}

export class Compaction {
  readonly #ports: CompactionPorts
  readonly #bounds: CompactionBounds
  /** The bytes that were appended since the last compaction, plus the bytes that the last compaction kept. */
  #bytes = 0

  constructor(ports: CompactionPorts, bounds: CompactionBounds) {
    this.#ports = ports
    this.#bounds = bounds
  }

  appended(entries: readonly Entry[]): void {
    for (const entry of entries) this.#bytes += entry.data.length
  }

  /** Compacts the log if it has grown beyond its limits. Entries up to half of the limits stay. */
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
    // Until here the sum also counted entries that a truncation has removed. From here on the sum is exact
    // again.
    this.#bytes = bytes
    if (index >= first) this.#ports.drop(index)
  }
}
