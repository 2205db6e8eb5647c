// Driver: owns the end of a turn of the event loop, so that what a turn decided leaves in that very turn.
//
// Laws
//   - work runs once all that the event loop delivers in this turn was heard; what work asks for runs in the next turn
//   - what waits for the turn's end runs behind all work of the turn, also what that work asked for: no word waits for another turn

export type Defer = (run: () => void) => void

export class Turns {
  readonly #later: Defer
  #work: (() => void)[] = []
  #ends: (() => void)[] = []
  #due = false

  /** `later`: runs it behind what the event loop delivers in this turn (setImmediate). */
  constructor(later: Defer) {
    this.#later = later
  }

  /** Work of this turn. */
  readonly work: Defer = (run) => {
    this.#work.push(run)
    this.#arm()
  }

  /** Behind all work of this turn: what gathered goes out. */
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
