// Driver: owns copies of rows that were written recently or are read repeatedly, so that LevelDB is not
// searched for them.
// A put needs the previous value of its key, and that search was a fifth of a member's work.
//
// Laws
// - A row here is equal to the one in the store: a caller that changes the store calls `keep`, `forget` or
//   `clear`.
// - A row that is only read is kept from its second read on. Otherwise single reads all over a large store
//   would fill the cache with rows that are not needed again.
// - There are two generations at most; a row that is asked for moves to the young one, the others are dropped
//   with the old one.
// - Rows are copied into the cache's own buffers, because a view would keep the whole buffer of its owner in
//   memory.

/** The bytes of a generation. */
const BYTES = 2 * 1024 * 1024
const SLAB_BYTES = 64 * 1024
/** About how many bytes an entry takes besides its key and value. */
const ENTRY_BYTES = 200
/** The number of slots for hashes of keys that were read; each slot holds one. */
const READ_PLACES = 8 * 1024

export class RowCache {
  readonly #bytes: number
  #young = new Map<string, Uint8Array>()
  #old = new Map<string, Uint8Array>()
  #youngBytes = 0
  #slab = new Uint8Array(0)
  #used = 0
  readonly #read = new Int32Array(READ_PLACES)

  constructor(bytes = BYTES) {
    this.#bytes = bytes
  }

  /** The caller must not change the value. */
  get(key: string): Uint8Array | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    // The row is not moved at once: most rows that a put asks for are about to be replaced, and would be
    // stored twice.
    if (old !== undefined && this.#youngBytes > this.#bytes / 2) this.keep(key, old)
    return old
  }

  /** The store returned this value for the row. */
  read(key: string, value: Uint8Array): void {
    const hash = hashOf(key)
    const place = hash & (READ_PLACES - 1)
    if (this.#read[place] === hash) this.keep(key, value)
    else this.#read[place] = hash
  }

  /** The store now has this value for the row. */
  keep(key: string, value: Uint8Array): void {
    this.#old.delete(key)
    if (value.length > SLAB_BYTES / 4) {
      this.#young.delete(key)
      return
    }
    this.#young.set(key, this.#copy(value))
    this.#youngBytes += key.length + value.length + ENTRY_BYTES
    if (this.#youngBytes > this.#bytes) this.#age()
  }

  #copy(value: Uint8Array): Uint8Array {
    if (this.#used + value.length > this.#slab.length) {
      this.#slab = new Uint8Array(SLAB_BYTES)
      this.#used = 0
    }
    const copy = this.#slab.subarray(this.#used, this.#used + value.length)
    copy.set(value)
    this.#used += value.length
    return copy
  }

  #age(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#youngBytes = 0
    // A slab holds rows of one generation only; otherwise an old slab would stay in memory for a few young
    // rows.
    this.#slab = new Uint8Array(0)
    this.#used = 0
  }

  /** The store no longer has the row. */
  forget(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#age()
    this.#old = new Map()
  }
}

/** If two keys have the same hash, one of them is kept after its first read, which does no harm. */
function hashOf(key: string): number {
  let hash = key.length
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x9e3779b1)
  return hash ^ (hash >>> 15)
}
