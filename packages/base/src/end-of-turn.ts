// Driver: runs functions at the end of a turn of the event loop, so that a message that results from an input
// of the turn is sent in the same turn.
//
// Laws
//   - `work` functions run after the event loop has delivered all input of this turn. Work that they add runs
//     in the next turn.
//   - `end` functions run after all work of the turn. Functions that the work adds run in the same turn too,
//     so no message waits for another turn.

export type Defer = (run: () => void) => void

export class Turns {
  readonly #later: Defer
  #work: (() => void)[] = []
  #ends: (() => void)[] = []
  #due = false

  /**
   * `later` runs a function when all input of this turn of the event loop has been handled. It is
   * setImmediate by default.
   */
  constructor(later: Defer) {
    this.#later = later
  }

  /** Adds work to this turn. */
  readonly work: Defer = (run) => {
    this.#work.push(run)
    this.#arm()
  }

  /** Runs the function after all work of this turn. Queued messages are sent by such functions. */
  readonly end: Defer = (run) => {
    this.#ends.push(run)
    this.#arm()
  }

  #arm(): void {
    if (this.#due) return
    this.#due = true
    this.#later(this.#run)
  }

  readonly #run = (): void => {
    const work = this.#work
    this.#work = []
    try {
      for (const run of work) run()
      const ends = this.#ends
      this.#ends = []
      for (const run of ends) run()
    } finally {
      this.#due = false
      if (this.#work.length > 0 || this.#ends.length > 0) this.#arm()
    }
  }
}
