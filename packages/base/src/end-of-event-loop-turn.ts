// Driver: runs functions at the end of a turn of the event loop.
//
// Laws
//   - functions that were added by `work` run after all input of this turn has been handled. If such a
//     function calls `work`, the function that it adds runs in the next turn.
//   - functions that were added by `end` run after all functions of `work`, in the same turn. They send all
//     messages of the turn together.

export type Defer = (run: () => void) => void

export class Turns {
  readonly #later: Defer
  #work: (() => void)[] = []
  #ends: (() => void)[] = []
  #due = false

  /** `later` calls a function after all input of this turn has been handled. An example is setImmediate. */
  constructor(later: Defer) {
    this.#later = later
  }

  readonly work: Defer = (run) => {
    this.#work.push(run)
    this.#arm()
  }

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
