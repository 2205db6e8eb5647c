// Driver: owns copies of rows of the store that were written of late, or read again and again, so that what is in use is not looked
// up in LevelDB each time: a put has to know the value before it, and that was a fifth of a member's work.
//
// Laws
//   - a row is here only as it is in the store: whoever changes the store says so, by `keep`, `forget` or `clear`
//   - a row that was only read comes in when it is read again: reads all over a large store would fill it with what nobody asks for
//   - it never has more than two generations; a row that is asked for stays, the others go with theirs
//   - rows are copied into pieces of its own: a view of what others allocated would keep theirs alive

/** Of a generation. */
const BYTES = 2 * 1024 * 1024
const SLAB_BYTES = 64 * 1024
/** What an entry costs besides its bytes, roughly. */
const ENTRY_BYTES = 200
/** Of keys that were read, one a place. */
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

  /** Not to be changed. */
  get(key: string): Uint8Array | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    // Not at once: most of what a put asks for is about to be written anew, and would take room twice.
    if (old !== undefined && this.#youngBytes > this.#bytes / 2) this.keep(key, old)
    return old
  }

  /** The row was read from the store, and this is its value. */
  read(key: string, value: Uint8Array): void {
    const hash = hashOf(key)
    const place = hash & (READ_PLACES - 1)
    if (this.#read[place] === hash) this.keep(key, value)
    else this.#read[place] = hash
  }

  /** The row is in the store, and this is its value. */
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
    // A slab is of one generation.
    this.#slab = new Uint8Array(0)
    this.#used = 0
  }

  /** The row is gone from the store. */
  forget(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#age()
    this.#old = new Map()
  }
}

/** Two keys with one hash do no harm: one of them comes in a read too early. */
function hashOf(key: string): number {
  let hash = key.length
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x9e3779b1)
  return hash ^ (hash >>> 15)
}
