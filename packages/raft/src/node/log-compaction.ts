// Driver: decides which entries of the log are removed. An entry may be removed once the state machine has
// applied it durably (S15). The newest entries stay for members that lag a little. While a snapshot is being
// sent, the entries after its index stay too, because the receiver needs them next (S9).

import type { Entry } from '../core/types.js'

interface CompactionPorts {
  firstIndex(): number
  lastIndex(): number
  entry(index: number): Entry
  /** The index up to which the state machine has applied the log durably. */
  durable(): number
  /**
   * The index of the oldest snapshot that is being sent. The receiver of the snapshot needs the entries after
   * this index.
   */
  oldestSending(): number | undefined
  drop(index: number): void
}

interface CompactionBounds {
  readonly everyEntries: number
  readonly everyBytes: number
}

export class Compaction {
  readonly #ports: CompactionPorts
  readonly #bounds: CompactionBounds
  /** In bytes: the data of the entries that the last compaction kept, plus the data of all later entries. */
  #bytes = 0

  constructor(ports: CompactionPorts, bounds: CompactionBounds) {
    this.#ports = ports
    this.#bounds = bounds
  }

  appended(entries: readonly Entry[]): void {
    for (const entry of entries) this.#bytes += entry.data.length
  }

  /** Compacts the log if it exceeds one of its limits. The newest entries stay, up to half of each limit. */
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
    // Until here `#bytes` also counted entries that a truncation has removed. `bytes` counts only entries
    // that are in the log.
    this.#bytes = bytes
    if (index >= first) this.#ports.drop(index)
  }
}
