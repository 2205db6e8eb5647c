// Driver: owns copies of rows that were written recently or are read repeatedly. A put needs the previous
// value of its key. Without the cache, searching LevelDB for that value is a fifth of a member's work.
//
// Laws
// - A cached row is equal to the row in the store. A caller that changes the store calls `keep`, `forget` or
//   `clear`.
// - A row that is only read enters the cache at its second read. Otherwise single reads would fill the cache
//   with rows that no read needs again.
// - The rows are in two generations, young and old. A read may move a row to the young generation. When the
//   young generation is full, the old generation is dropped, and the young generation becomes the old one.
// - Small rows are copied into the cache's own buffers, because a view would keep its whole buffer in memory.
//   A large row is kept without a copy if it fills nearly all of its buffer.

const BYTES = 2 * 1024 * 1024
const SLAB_BYTES = 64 * 1024
/** In bytes. A larger row is not copied into a buffer of the cache. */
const COPIED_BYTES = SLAB_BYTES / 4
/** In bytes, about how much memory a map entry takes besides its key and its value. */
const ENTRY_BYTES = 200
/** The number of slots for the hashes of keys that were read once. */
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

  /** The caller must not change the row. */
  get(key: string): Uint8Array | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    // The old generation will soon be dropped if the young generation is more than half full. Before that, a
    // move would be wasted work, because most reads belong to a put, which replaces the row.
    if (old !== undefined && this.#youngBytes > this.#bytes / 2) this.keep(key, old)
    return old
  }

  /** Keeps the row if its key was read before. Called when the store has returned this value for the key. */
  read(key: string, value: Uint8Array): void {
    const hash = hashOf(key)
    const place = hash & (READ_PLACES - 1)
    if (this.#read[place] === hash) this.keep(key, value)
    else this.#read[place] = hash
  }

  /** Caches the row. Called when the store has this value for the key from now on. */
  keep(key: string, value: Uint8Array): void {
    this.#old.delete(key)
    const isLarge = value.length > COPIED_BYTES
    if (isLarge && !(isAlone(value) && value.length <= this.#bytes)) {
      this.#young.delete(key)
      return
    }
    this.#young.set(key, isLarge ? value : this.#copy(value))
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
    // A slab (a buffer for small rows) has rows of one generation only. Otherwise a few young rows would keep
    // an old slab in memory.
    this.#slab = new Uint8Array(0)
    this.#used = 0
  }

  /** Drops the row. Called when the store no longer has the row. */
  forget(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#age()
    this.#old = new Map()
  }
}

const isAlone = (value: Uint8Array): boolean => value.buffer.byteLength <= value.length * 1.1

/**
 * If two keys have the same hash, one of their rows enters the cache after its first read, which does no
 * harm.
 */
function hashOf(key: string): number {
  let hash = key.length
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x9e3779b1)
  return hash ^ (hash >>> 15)
}
