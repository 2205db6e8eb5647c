// Driver: owns rows of the store that were read before they are needed.
// A linearizable read waits until the leader has confirmed its leadership, and a put waits for the disks.
// LevelDB is searched during that wait, and not when all of them are answered at once.
//
// Laws
// - A row here is equal to the one in the store: a caller that changes the store calls `clear`.
// - There are two generations at most, and a generation is dropped as a whole. If rows were deleted from one
//   map instead, V8 would keep dead tables of that map in its old heap, with all that they refer to; 40 MiB
//   of them were measured.
// - Nothing is read ahead while few rows are in use and none has to be read from the store.

/** The bytes of a generation, and of what is read ahead at once. */
const BYTES = 128 * 1024
/** About how many bytes an entry takes besides its key and value. */
const ENTRY_BYTES = 200

export class PrefetchedRows {
  /** The rows by key; null: the store has no such row. */
  #young = new Map<string, Uint8Array | null>()
  #old = new Map<string, Uint8Array | null>()
  #youngBytes = 0
  #room = 0
  #missed = false

  /** Called when a row had to be read from the store. */
  missed(): void {
    this.#missed = true
  }

  /** Whether a row was read from the store since the last read-ahead. */
  get worth(): boolean {
    return this.#missed
  }

  /** Begins a read-ahead; false: it is not worth it. */
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

  /** The prefetched row; null: the store has none; undefined: the row was not read ahead. */
  get(key: string): Uint8Array | null | undefined {
    const young = this.#young.get(key)
    return young === undefined ? this.#old.get(key) : young
  }

  /** Keeps what the store returned for this key. */
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
