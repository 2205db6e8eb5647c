// Driver: owns what each revision since the start counts for, so that the oldest one is dropped without a look at its row.
// Law: what it says of a revision is what the revision's row says, or it says nothing.

/** Revisions at first; twice as many whenever there is no room. */
const LEAST = 1024
const MOST_COUNT = 255

export class RevisionCounts {
  /** All revisions from here up to the last one that was noted are here. */
  #from = 0
  #next = 0
  #sizes = new Uint32Array(LEAST)
  #marks = new Uint32Array(LEAST)
  /** 0: its row has to be asked. */
  #counts = new Uint8Array(LEAST)

  /** Revisions come without a gap. `pieces`: rows of its own that it has. */
  note(revision: number, count: number, size: number, mark: number, pieces: number): void {
    if (revision !== this.#next) this.#from = revision
    this.#next = revision + 1
    if (this.#next - this.#from > this.#sizes.length) this.#grow()
    const place = revision & (this.#sizes.length - 1)
    this.#sizes[place] = size
    this.#marks[place] = mark
    this.#counts[place] = pieces === 0 && count <= MOST_COUNT ? count : 0
  }

  #grow(): void {
    const old = { sizes: this.#sizes, marks: this.#marks, counts: this.#counts }
    const length = 2 * old.sizes.length
    this.#sizes = new Uint32Array(length)
    this.#marks = new Uint32Array(length)
    this.#counts = new Uint8Array(length)
    for (let revision = this.#from; revision < this.#next; revision++) {
      const [from, to] = [revision & (old.sizes.length - 1), revision & (length - 1)]
      this.#sizes[to] = old.sizes[from] as number
      this.#marks[to] = old.marks[from] as number
      this.#counts[to] = old.counts[from] as number
    }
  }

  /** 0: it does not know. */
  count(revision: number): number {
    return revision < this.#from || revision >= this.#next
      ? 0
      : (this.#counts[this.#place(revision)] as number)
  }
  size(revision: number): number {
    return this.#sizes[this.#place(revision)] as number
  }
  mark(revision: number): number {
    return this.#marks[this.#place(revision)] as number
  }

  #place(revision: number): number {
    return revision & (this.#sizes.length - 1)
  }

  /** Those below go, and make room. */
  forget(below: number): void {
    if (below > this.#from) this.#from = below
  }
}
