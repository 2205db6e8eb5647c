// Driver: owns the giving back of disk space where rows come at one end of a space and go at the other. LevelDB would not do it by
// itself: tables of old rows move down its levels as they are, and what says that their rows are removed never meets them, so a
// store of ten megabytes was seen to grow to gigabytes, all of which a start has to check.
//
// Laws
//   - one compaction at a time, beside the writes; nobody waits for it
//   - it changes no row: a crash in the middle leaves tables that no manifest names
//   - when it fails LevelDB itself takes no more writes: that is where the fault is told

export type Compact = (start: Uint8Array, end: Uint8Array) => Promise<void>

interface Queue {
  /** Removed rows that are worth a compaction. */
  readonly worth: number
  removed: number
  last: Uint8Array
}

export class Reclaimer {
  readonly #compact: Compact
  readonly #queues: ReadonlyMap<number, Queue>
  #busy = false

  /** `worth`: by the first byte of the keys, how many removed rows are worth a compaction. */
  constructor(compact: Compact, worth: Readonly<Record<number, number>>) {
    this.#compact = compact
    const empty = (space: string): Uint8Array => Uint8Array.of(Number(space))
    this.#queues = new Map(
      Object.entries(worth).map(([space, worth]) => [
        Number(space),
        { worth, removed: 0, last: empty(space) },
      ]),
    )
  }

  removed(key: Uint8Array): void {
    const queue = this.#queues.get(key[0] as number)
    if (queue === undefined) return
    queue.removed++
    queue.last = key
  }

  /** What was removed is on the disk. */
  written(): void {
    if (this.#busy) return
    for (const [space, queue] of this.#queues)
      if (queue.removed >= queue.worth) return this.#run(space, queue)
  }

  #run(space: number, queue: Queue): void {
    this.#busy = true
    queue.removed = 0
    const done = () => {
      this.#busy = false
    }
    this.#compact(Uint8Array.of(space), queue.last).then(done, done)
  }
}
