// Driver: limits how many bytes the reads of clients look up in one turn of the event loop.
//
// Law: after TURN_BYTES of answers the next read waits for another turn of the event loop, and then the
// client connections take turns. Without this law: some clients ask for fifty values of 1 MiB each in one
// frame. The leader looks up all these values and sends nothing for longer than an election timeout. Another
// member becomes leader, and the same happens there.

import type { Clock } from '@latchkey/base'

/**
 * The bytes of answers in one turn. They take about 16 ms on a slow core, which is far below any election
 * timeout.
 */
const TURN_BYTES = 4 * 1024 * 1024
/** Bytes for each ms. A read that takes longer than its bytes counts by its time. */
const BYTES_A_MS = TURN_BYTES / 16
/** The cost of the smallest read. */
const LEAST = 100

/** Looks up the value, sends the answer, and returns the bytes of the answer. */
type Serve = () => number

export class ReadTurns {
  readonly #clock: Clock
  /**
   * The waiting reads of each client connection, in the order of their arrival. The connections are in the
   * order of their turns.
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

  /** Called when the client connection has closed. Its waiting reads are dropped. */
  left(clientConnection: object): void {
    this.#waiting.delete(clientConnection)
  }

  #serve(serve: Serve): void {
    const begun = this.#clock.now()
    const bytes = serve()
    // A query of locks examines all locks, even if it finds no lock. So the time of a read counts too.
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
      // The next reads of this connection come after the reads of all other connections.
      if (queue.length > 0) this.#waiting.set(clientConnection, queue)
      if (serve !== undefined) this.#serve(serve)
    }
  }
}
