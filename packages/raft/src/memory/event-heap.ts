// Rule: orders the events of simulated time, by their time and then by their number. No two events have the
// same number, so all runs with one seed are equal.

import { Heap } from '@latchkey/base'

interface ScheduledEvent {
  readonly at: number
  readonly number: number
  readonly run: (payload: never) => void
  readonly payload: unknown
}

export class EventHeap {
  readonly #events = new Heap<ScheduledEvent>((a, b) => a.at < b.at || (a.at === b.at && a.number < b.number))
  #numbers = 0

  /** `at` is in whole microseconds of simulated time. */
  push<P>(at: number, run: (payload: P) => void, payload: P): void {
    this.#events.push({ at, number: this.#numbers++, run, payload })
  }

  peekTime(): number | undefined {
    return this.#events.top?.at
  }

  pop(): ScheduledEvent | undefined {
    return this.#events.pop()
  }
}
