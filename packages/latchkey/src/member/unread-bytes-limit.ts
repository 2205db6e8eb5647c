// Driver: limits the bytes that this member has sent to clients and that the clients have not read yet, over
// all connections.
//
// Law: unread bytes use at most MOST_OF_ALL of this member's memory, and at most MOST_OF_ONE for one
// connection. A connection with more than MOST_OF_ONE is closed. If all connections together have more than
// MOST_OF_ALL, the connections with the most unread bytes are closed. The client of a closed connection
// connects again and reads what it has missed. Without the limit for all connections: twenty clients stay
// just below the limit for one connection, and together use more than a gigabyte.

import type { RefusalLog } from '@latchkey/base'

const MiB = 1024 * 1024
export const MOST_OF_ONE = 64 * MiB
export const MOST_OF_ALL = 128 * MiB

interface Reader {
  waiting(): number
  close(): void
}

export class UnreadBytesLimit {
  readonly #refusals: RefusalLog
  /** The connections with unread bytes. The value is the number of unread bytes at the last check. */
  readonly #slow = new Map<Reader, number>()
  #sum = 0

  constructor(refusals: RefusalLog) {
    this.#refusals = refusals
  }

  /** The unread bytes of all connections. */
  get bytes(): number {
    this.#look()
    return this.#sum
  }

  /** Called after each write. Returns false if the connection was closed because of too many unread bytes. */
  wrote(reader: Reader): boolean {
    const waiting = reader.waiting()
    this.#note(reader, waiting)
    if (waiting > MOST_OF_ONE) this.#close(reader, 'slow-reader')
    else if (this.#sum > MOST_OF_ALL) this.#closeSlowest()
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

  /**
   * Node emits no event when a client has read bytes, so this method measures all connections in the map
   * again.
   */
  #look(): void {
    for (const reader of this.#slow.keys()) this.#note(reader, reader.waiting())
  }

  #closeSlowest(): void {
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
    this.#refusals.note('clients', reason, 'a connection was closed: its client does not read its replies', {
      waiting,
      all,
    })
    this.left(reader)
    reader.close()
  }
}
