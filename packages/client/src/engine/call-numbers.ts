// Rule: the numbers of a session's calls (docs/locks.md, 6).
//
// Laws:
// - each number is given to one call only. A number stays open until it is certain that the members will not
//   execute its call later.
// - `done` is the lowest open number, or the next number if no number is open. All numbers below `done` are
//   finished, and the members refuse them for ever.
// - the next number is at most WINDOW above `done`. The members keep the answers to WINDOW calls of a
//   session.

import { assert } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'

const WINDOW = CAPS.sessionNumbers

export class CallNumbers<Call> {
  #next = 1
  #done = 1
  readonly #open: (Call | undefined)[] = Array.from({ length: WINDOW })

  get done(): number {
    return this.#done
  }

  /**
   * How many numbers there are from the lowest open number to the last given number. 0 if no number is open.
   */
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

  *open(): Iterable<Call> {
    for (let number = this.#done; number < this.#next; number++) {
      const call = this.#open[number % WINDOW]
      if (call !== undefined) yield call
    }
  }
}
