// Driver: owns rows that were read from the store before they are needed. A linearizable read waits until the
// leader has confirmed its leadership, and a put waits until the log is synced. LevelDB is searched during
// these waits. Otherwise many reads would be answered at once and search LevelDB one after the other in a
// single turn.
//
// Laws
// - A prefetched row is equal to the row in the store: a caller that changes the store calls `clear`.
// - There are two generations of rows at most, and each is dropped as a whole. If rows were deleted from one
//   map instead, V8 would keep old tables of that map, with their rows, in its heap. 40 MiB of such tables
//   were measured.
// - While all rows are found in memory, nothing is read ahead.

/** In bytes, the size of one generation, and the most that is read ahead at once. */
const BYTES = 128 * 1024
/** In bytes, about how much a map entry takes besides its key and its value. */
const ENTRY_BYTES = 200

export class PrefetchedRows {
  /** The rows by their keys. null means that the store has no such row. */
  #young = new Map<string, Uint8Array | null>()
  #old = new Map<string, Uint8Array | null>()
  #youngBytes = 0
  #room = 0
  #missed = false

  /** Called when a row had to be read from the store. */
  missed(): void {
    this.#missed = true
  }

  /** Whether a row had to be read from the store since the last time rows were read ahead. */
  get worth(): boolean {
    return this.#missed
  }

  /** Begins to read rows ahead. Returns false if reading ahead would save nothing. */
  begin(): boolean {
    const worth = this.#missed
    this.#missed = false
    this.#room = worth ? BYTES : 0
    if (!worth) this.clear()
    return worth
  }

  /** Whether more rows may be read ahead now. */
  get hasRoom(): boolean {
    return this.#room > 0
  }

  /**
   * Returns the prefetched row. Returns null if the store has no such row, or undefined if the row was not
   * read ahead.
   */
  get(key: string): Uint8Array | null | undefined {
    const young = this.#young.get(key)
    return young === undefined ? this.#old.get(key) : young
  }

  /** Keeps the row that the store has returned for the key. */
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
