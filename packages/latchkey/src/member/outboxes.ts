// Driver: owns the sum of what this member has told its clients and they have not read yet, over all connections.
//
// Law: what is not read costs this member at most MOST_OF_ALL, and what one connection does not read at most MOST_OF_ONE; beyond, the
// connection with the most bytes waiting is closed, and the client comes back for what it missed. Without the sum the story is: each
// of ten clients that never read stays just below what one connection may keep, and together they take more than a gigabyte.

import type { RefusalLog } from '@latchkey/base'

const MiB = 1024 * 1024
export const MOST_OF_ONE = 64 * MiB
export const MOST_OF_ALL = 128 * MiB

export interface Reader {
  /** Bytes that it has not read yet. */
  waiting(): number
  /** At once: what waits for it is let go of. */
  close(): void
}

export class Outboxes {
  readonly #refusals: RefusalLog
  /** Who has not read everything, with the bytes that waited when it was looked at last. */
  readonly #slow = new Map<Reader, number>()
  #sum = 0

  constructor(refusals: RefusalLog) {
    this.#refusals = refusals
  }

  /** As it is now. */
  get bytes(): number {
    this.#look()
    return this.#sum
  }

  /** Something was just written to it. False: it had too much already, and is closed. */
  wrote(reader: Reader): boolean {
    const waiting = reader.waiting()
    this.#note(reader, waiting)
    if (waiting > MOST_OF_ONE) this.#close(reader, 'slow-reader')
    else if (this.#sum > MOST_OF_ALL) this.#relieve()
    return waiting === 0 || this.#slow.has(reader)
  }

  left(reader: Reader): void {
    this.#note(reader, 0)
  }

  #note(reader: Reader, waiting: number): void {
    this.#sum += waiting - (this.#slow.get(reader) ?? 0)
    if (waiting === 0) this.#slow.delete(reader)
    else this.#slow.set(reader, waiting)
  }

  /** What was read meanwhile, nobody has told. */
  #look(): void {
    for (const reader of this.#slow.keys()) this.#note(reader, reader.waiting())
  }

  #relieve(): void {
    this.#look()
    while (this.#sum > MOST_OF_ALL) {
      let [slowest, most]: [Reader | undefined, number] = [undefined, 0]
      for (const [reader, waiting] of this.#slow) if (waiting > most) [slowest, most] = [reader, waiting]
      if (slowest === undefined) return
      this.#close(slowest, 'slowest-of-all')
    }
  }

  #close(reader: Reader, reason: string): void {
    const [waiting, all] = [this.#slow.get(reader), this.#sum]
    this.#refusals.note('clients', reason, 'a connection was closed: it does not read what it asked for', {
      waiting,
      all,
    })
    this.left(reader)
    reader.close()
  }
}
