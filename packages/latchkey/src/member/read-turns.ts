// Driver: limits how many bytes of clients' reads are looked up in one turn of the event loop.
//
// Law: after TURN_BYTES of answers the next read waits for another turn of the event loop, and then the
// client connections take turns. Without this law: some clients ask for fifty values of 1 MiB each in one
// frame. The leader looks them all up, sends nothing for longer than an election timeout, and another member
// becomes leader. There the same happens again.

import type { Clock } from '@latchkey/base'

/** Takes about 16 ms on a slow core, which is far below any election timeout. */
const TURN_BYTES = 4 * 1024 * 1024
/** A read that takes long counts like a read of as many bytes as would take the same time. */
const BYTES_A_MS = TURN_BYTES / 16
/** The cost of the smallest read. */
const LEAST = 100

/** Looks the value up, sends the answer, and returns the bytes of the answer. */
type Serve = () => number

export class ReadTurns {
  readonly #clock: Clock
  /**
   * The waiting reads of each client connection, in the order of their arrival; the connections in the order
   * of their turns.
   */
  readonly #waiting = new Map<object, Serve[]>()
  #left = TURN_BYTES
  #scheduled = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  run(clientConnection: object, serve: Serve): void {
    if (this.#left > 0 && this.#waiting.size === 0) return this.#serve(serve)
    const queue = this.#waiting.get(clientConnection)
    if (queue === undefined) this.#waiting.set(clientConnection, [serve])
    else queue.push(serve)
    this.#schedule()
  }

  /** The client connection has closed, so nothing is looked up for it any more. */
  left(clientConnection: object): void {
    this.#waiting.delete(clientConnection)
  }

  #serve(serve: Serve): void {
    const begun = this.#clock.now()
    const bytes = serve()
    // A query of locks examines all locks, even if it finds none. So its time counts too.
    this.#left -= Math.max(LEAST, bytes, (this.#clock.now() - begun) * BYTES_A_MS)
    if (this.#left <= 0) this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#clock.after(0, () => this.#turn(), { ref: false })
  }

  #turn(): void {
    this.#scheduled = false
    this.#left = TURN_BYTES
    while (this.#left > 0) {
      const [next] = this.#waiting
      if (next === undefined) return
      const [clientConnection, queue] = next
      this.#waiting.delete(clientConnection)
      const serve = queue.shift()
      // The next reads of this connection come after those of all others.
      if (queue.length > 0) this.#waiting.set(clientConnection, queue)
      if (serve !== undefined) this.#serve(serve)
    }
  }
}
