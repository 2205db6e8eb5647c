// Driver: owns rows of the store that were looked up before they were asked for. A linearizable read waits for its round of the
// members anyway, and a put for the disks: LevelDB is searched meanwhile, and not when all of them are to be answered at once.
//
// Laws
//   - a row is here only as it is in the store: whoever changes the store says so, by `clear`
//   - it never has more than two generations, which go by themselves. (Taking rows out of one map again and again would leave dead
//     tables of it in V8's old heap, and they keep alive what they name: 40 MiB were seen)
//   - while few rows are in use and none has to be read from the store, nothing is looked up ahead

/** Of a generation, and of what is looked up at once. */
const BYTES = 128 * 1024
/** What an entry costs besides its bytes, roughly. */
const ENTRY_BYTES = 200

export class PrefetchedRows {
  /** null: there is none in the store. */
  #young = new Map<string, Uint8Array | null>()
  #old = new Map<string, Uint8Array | null>()
  #youngBytes = 0
  #room = 0
  #missed = false

  /** A row had to be read from the store. */
  missed(): void {
    this.#missed = true
  }

  /** Was a row read from the store since the last look? */
  get worth(): boolean {
    return this.#missed
  }

  /** Of a look; false: it is not worth it. */
  begin(): boolean {
    const worth = this.#missed
    this.#missed = false
    this.#room = worth ? BYTES : 0
    if (!worth) this.clear()
    return worth
  }

  /** Whether more may be looked up now. */
  get hasRoom(): boolean {
    return this.#room > 0
  }

  /** undefined: it was not looked up. */
  get(key: string): Uint8Array | null | undefined {
    const young = this.#young.get(key)
    return young === undefined ? this.#old.get(key) : young
  }

  /** The store was asked, and this is what it has. */
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
