// Driver: limits how many bytes of answers the reads of clients may take from the state in one turn of the
// event loop.
//
// Law: after TURN_BYTES of answers, the next read waits for the next turn of the event loop, and connections
// with waiting reads take turns. Without this law: some clients ask for fifty values of 1 MiB each in one
// frame. The leader reads all these values and sends nothing for longer than an election timeout. Another
// member becomes leader, and the same happens at the new leader.

import type { Clock } from '@latchkey/base'

/** In bytes. A read of this much takes about 16 ms on a slow core, far less than an election timeout. */
const TURN_BYTES = 4 * 1024 * 1024
/** In bytes. A read counts as at least this many bytes for each ms of its duration. */
const BYTES_A_MS = TURN_BYTES / 16
/** In bytes. Every read counts as at least this many bytes. */
const LEAST = 100

type Serve = () => number

export class ReadTurns {
  readonly #clock: Clock
  /**
   * The waiting reads of each client connection, in the order of their arrival. The first connection in this
   * map has the next turn.
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

  left(clientConnection: object): void {
    this.#waiting.delete(clientConnection)
  }

  #serve(serve: Serve): void {
    const begun = this.#clock.now()
    const bytes = serve()
    // The duration of a read counts too, because a query of locks examines all locks even for a short answer.
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
      if (queue.length > 0) this.#waiting.set(clientConnection, queue)
      if (serve !== undefined) this.#serve(serve)
    }
  }
}
