// Driver: owns rows that were read from the store before they are needed. A linearizable read waits until the
// leader has confirmed its leadership, and a put waits until the log is synced. The store searches LevelDB
// during these waits. Otherwise many waits would end together, and their searches would make one turn of the
// event loop too long.
//
// Laws
// - A prefetched row is equal to the row in the store. A caller that changes the store calls `clear`.
// - The rows are in two maps, young and old, and each map is dropped as a whole. If rows were deleted one by
//   one, V8 would keep old tables of the map, with their rows: 40 MiB in a measurement.
// - While reads find all rows in memory, no row is prefetched.

/**
 * In bytes, the size of one map of rows, and the most that one prefetch reads. Reads of the disk are
 * synchronous here, so a larger prefetch would block the event loop for too long.
 */
const BYTES = 128 * 1024
/** In bytes, about how much memory a map entry takes besides its key and its value. */
const ENTRY_BYTES = 200

export class PrefetchedRows {
  /** null means that the store does not have the row. */
  #young = new Map<string, Uint8Array | null>()
  #old = new Map<string, Uint8Array | null>()
  #youngBytes = 0
  #room = 0
  #missed = false

  /** Notes that a read did not find its row in memory. */
  missed(): void {
    this.#missed = true
  }

  /** True if a read has not found its row in memory since the last prefetch. */
  get isUseful(): boolean {
    return this.#missed
  }

  /** Begins a prefetch. Returns false if the prefetch would save nothing. */
  begin(): boolean {
    const isUseful = this.#missed
    this.#missed = false
    this.#room = isUseful ? BYTES : 0
    if (!isUseful) this.clear()
    return isUseful
  }

  get hasRoom(): boolean {
    return this.#room > 0
  }

  /** Returns null if the store does not have the row, or undefined if the row was not prefetched. */
  get(key: string): Uint8Array | null | undefined {
    const young = this.#young.get(key)
    return young === undefined ? this.#old.get(key) : young
  }

  put(key: string, row: Uint8Array | undefined): void {
    const bytes = key.length + (row?.length ?? 0) + ENTRY_BYTES
    if (this.#youngBytes > BYTES) this.#age()
    this.#young.set(key, row ?? null)
    this.#youngBytes += bytes
    this.#room -= bytes
  }

  #age(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#youngBytes = 0
  }

  clear(): void {
    if (this.#young.size > 0) this.#age()
    if (this.#old.size > 0) this.#old = new Map()
  }
}
