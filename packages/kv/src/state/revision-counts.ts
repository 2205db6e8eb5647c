// Driver: owns the event count, bytes and mark of each revision since the start, so that the oldest one can
// be dropped without reading its row.
// Law: what it returns for a revision is what the revision's row says, or it returns that it does not know.

/** The number of revisions at first; it doubles when there is no room. */
const LEAST = 1024
const MOST_COUNT = 255

export class RevisionCounts {
  /** All revisions from this one to the last one are known. */
  #from = 0
  #next = 0
  #sizes = new Uint32Array(LEAST)
  #marks = new Uint32Array(LEAST)
  /** The event count of each revision; 0: the revision's row must be read. */
  #counts = new Uint8Array(LEAST)

  /** Revisions come without a gap. `pieces` is the number of the revision's own rows. */
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

  /** How many events the revision has; 0: not known. */
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

  /** Revisions below this one are not needed any more. */
  forget(below: number): void {
    if (below > this.#from) this.#from = below
  }
}
