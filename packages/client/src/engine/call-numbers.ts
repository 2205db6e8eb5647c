// Rule: the numbers of a session's calls (docs/locks.md, 6).
// Laws:
// - a number is given once; it is open until it is certain that it will not be executed later than now;
// - `done` is the least open number: all below are finished, and the members refuse them for ever;
// - next - done stays within the window, so that the members never keep more answers than they promised to.

import { assert } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'

export const WINDOW = CAPS.sessionNumbers

export class CallNumbers<Call> {
  #next = 1
  #done = 1
  readonly #open: (Call | undefined)[] = Array.from({ length: WINDOW })

  get done(): number {
    return this.#done
  }

  /** How many numbers are open or wait behind one that is. */
  get span(): number {
    return this.#next - this.#done
  }

  get room(): boolean {
    return this.span < WINDOW
  }

  take(call: Call): number {
    assert(this.room, 'the window of numbers is full')
    this.#open[this.#next % WINDOW] = call
    return this.#next++
  }

  finish(number: number): void {
    if (number < this.#done || number >= this.#next) return
    this.#open[number % WINDOW] = undefined
    while (this.#done < this.#next && this.#open[this.#done % WINDOW] === undefined) this.#done++
  }

  /** Every call whose number is open, in order. */
  *open(): Iterable<Call> {
    for (let number = this.#done; number < this.#next; number++) {
      const call = this.#open[number % WINDOW]
      if (call !== undefined) yield call
    }
  }
}
