// Driver: owns how much of what clients read is looked up in one turn of the event loop.
//
// Law: after TURN_BYTES of answers the next read waits for another turn, and then the client connections take turns. Without it the story is: some
// clients ask for fifty values of 1 MiB each in one frame, the leader does nothing else until all are looked up, is silent for longer
// than an election timeout, and another member takes over; there it happens again.

import type { Clock } from '@latchkey/base'

/** About 16 ms on a slow core: far below any election timeout. */
const TURN_BYTES = 4 * 1024 * 1024
/** What takes long costs as much as what says much in that time. */
const BYTES_A_MS = TURN_BYTES / 16
/** What the smallest read costs. */
const LEAST = 100

/** Looks it up, tells it, and returns the bytes of the answer. */
type Serve = () => number

export class ReadTurns {
  readonly #clock: Clock
  /** Reads that wait, in the order of their asking; the client connections in the order of their turns. */
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

  /** It is closed: nothing is looked up for it any more. */
  left(clientConnection: object): void {
    this.#waiting.delete(clientConnection)
  }

  #serve(serve: Serve): void {
    const begun = this.#clock.now()
    const bytes = serve()
    // A query of locks looks at all of them, also where it finds none.
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
      // What it asks for next comes behind all others.
      if (queue.length > 0) this.#waiting.set(clientConnection, queue)
      if (serve !== undefined) this.#serve(serve)
    }
  }
}
