// Driver: keeps three numbers of each recent revision in memory: how many events it has, their bytes, and the
// hash of its changes (event-row-format.ts). So the history can drop its oldest revision without reading a
// row.
//
// Law: the three numbers of a revision are equal to the numbers in its row. If this file does not know the
// numbers of a revision, `count` returns 0.

/** How many revisions the arrays have room for at first. When the arrays are full, their size is doubled. */
const LEAST = 1024
const MOST_COUNT = 255

export class RevisionCounts {
  /** The arrays have an element for each revision from `#from` to `#next` - 1. */
  #from = 0
  #next = 0
  #sizes = new Uint32Array(LEAST)
  #hashes = new Uint32Array(LEAST)
  /** The number of events of each revision, or 0 if the row of the revision must be read. */
  #counts = new Uint8Array(LEAST)

  /** Adds the next revision. `pieces` is the number of rows that only this revision uses. */
  note(revision: number, count: number, size: number, hash: number, pieces: number): void {
    if (revision !== this.#next) this.#from = revision
    this.#next = revision + 1
    if (this.#next - this.#from > this.#sizes.length) this.#grow()
    const slot = revision & (this.#sizes.length - 1)
    this.#sizes[slot] = size
    this.#hashes[slot] = hash
    this.#counts[slot] = pieces === 0 && count <= MOST_COUNT ? count : 0
  }

  #grow(): void {
    const old = { sizes: this.#sizes, hashes: this.#hashes, counts: this.#counts }
    const length = 2 * old.sizes.length
    this.#sizes = new Uint32Array(length)
    this.#hashes = new Uint32Array(length)
    this.#counts = new Uint8Array(length)
    for (let revision = this.#from; revision < this.#next; revision++) {
      const [from, to] = [revision & (old.sizes.length - 1), revision & (length - 1)]
      this.#sizes[to] = old.sizes[from] as number
      this.#hashes[to] = old.hashes[from] as number
      this.#counts[to] = old.counts[from] as number
    }
  }

  count(revision: number): number {
    return revision < this.#from || revision >= this.#next
      ? 0
      : (this.#counts[this.#slot(revision)] as number)
  }
  size(revision: number): number {
    return this.#sizes[this.#slot(revision)] as number
  }
  hash(revision: number): number {
    return this.#hashes[this.#slot(revision)] as number
  }

  #slot(revision: number): number {
    return revision & (this.#sizes.length - 1)
  }

  forget(below: number): void {
    if (below > this.#from) this.#from = below
  }
}
