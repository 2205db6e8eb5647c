// Driver: decides which entries of the log are removed from memory and disk. An entry may be removed once the
// state machine has applied it durably (S15). The newest entries that are still in memory stay for members that
// lag a little. While a snapshot is being sent, the entries after its index stay too, because the receiver needs
// them next (S9).
//
// The core removes entries from memory earlier, if all members have them (core/entries-stored-by-all.ts). Such
// entries stay on the disk, for a restart of this member, until this file removes them.

import type { Entry, PersistBatch } from '../core/types.js'

interface CompactionPorts {
  /** The first entry in memory. */
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
  /** The log on the disk begins after this index. */
  #removed: number

  constructor(ports: CompactionPorts, bounds: CompactionBounds) {
    this.#ports = ports
    this.#bounds = bounds
    this.#removed = ports.firstIndex() - 1
  }

  /** How many entries the log on the disk has. */
  get entries(): number {
    return this.#ports.lastIndex() - this.#removed
  }

  written({ restartAfter, entries }: Pick<PersistBatch, 'restartAfter' | 'entries'>): void {
    if (restartAfter !== undefined) {
      this.#removed = restartAfter.position.index
      this.#bytes = 0
    }
    for (const entry of entries) this.#bytes += entry.data.length
  }

  /** Compacts the log if it exceeds one of its limits. The newest entries stay, up to half of each limit. */
  ifDue(): void {
    const { everyEntries, everyBytes } = this.#bounds
    if (this.entries > everyEntries || this.#bytes > everyBytes) this.run(everyEntries / 2, everyBytes / 2)
  }

  run(keepEntries: number, keepBytes: number): void {
    const first = this.#ports.firstIndex()
    const last = this.#ports.lastIndex()
    const needed = Math.min(this.#ports.durable(), this.#ports.oldestSending() ?? Number.POSITIVE_INFINITY)
    if (needed <= this.#removed) return
    let index = last
    let bytes = 0
    while (index >= first && (index > needed || (last - index < keepEntries && bytes < keepBytes))) {
      bytes += this.#ports.entry(index).data.length
      index--
    }
    const to = Math.min(index, needed)
    if (to <= this.#removed) return
    // Until here `#bytes` also counted entries that are not in memory any more. `bytes` counts only entries that
    // are.
    this.#bytes = bytes
    this.#removed = to
    this.#ports.drop(to)
  }
}
