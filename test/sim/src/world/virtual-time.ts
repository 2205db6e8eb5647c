// Driver: simulated time. Each turn runs one event. All promises that can continue do so before the next
// event.
//
// Law: only the heap of events decides what happens next. Promises continue in the order in which the tested
// code made them. No timer, socket or thread of this machine takes part, so the same seed always makes the
// same run.

import { NoProgress } from '../laws/verdict.js'
import { Fingerprint } from './fingerprint.js'
import { EventHeap } from '@latchkey/raft/memory'

/** A run with more events fails, because its events never end. */
export const EVENT_BUDGET = 2_000_000
/** More readings of clocks in one event show an endless loop of promises. */
const LOOKS = 200_000
/** How many immediates are queued at a time. Between two of them, Node lets all ready promises continue. */
const TURNS = 64

const call = (run: () => void): void => run()

export class VirtualTime {
  /** The real time of the simulated world, in µs. */
  now = 0
  events = 0
  readonly print = new Fingerprint()
  readonly #heap = new EventHeap()
  #failure: unknown
  #failed = false
  #instants = 0
  #looks = 0

  /** Reports an error outside of an event. The run ends with this error. */
  fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    this.#failure = error
  }

  /**
   * Returns a number that grows with each call. It orders what clients did and saw within one microsecond.
   */
  instant(): number {
    return ++this.#instants
  }

  /** Called at each reading of a clock. An endless loop of promises also reads a clock. */
  looked(): void {
    if (++this.#looks > LOOKS) {
      const storm = new NoProgress(
        'storm',
        `${LOOKS} looks at clocks within one event at ${this.now / 1000} ms`,
      )
      this.fail(storm)
      throw storm
    }
  }

  later(micros: number, run: () => void): void {
    this.#heap.push(this.now + Math.max(0, Math.floor(micros)), call, run)
  }

  at(micros: number, run: () => void): void {
    this.#heap.push(Math.max(this.now, Math.floor(micros)), call, run)
  }

  /** Runs events until the time `until`, or until `done` returns true. `laws` runs between two events. */
  async run(until: number, laws: () => void, done: () => boolean = () => false): Promise<void> {
    let over = false
    const turn = () => {
      if (over) return
      try {
        over = this.#step(until, laws, done)
      } catch (error) {
        this.fail(error)
      }
      over ||= this.#failed
    }
    while (!over) {
      await new Promise<void>((resolve) => {
        for (let i = 0; i < TURNS; i++) setImmediate(turn)
        setImmediate(resolve)
      })
    }
    if (this.#failed) throw this.#failure
  }

  #step(until: number, laws: () => void, done: () => boolean): boolean {
    laws()
    if (done()) return true
    const next = this.#heap.peekTime()
    if (next === undefined || next > until) {
      this.now = until
      return true
    }
    if (++this.events > EVENT_BUDGET) throw new NoProgress('storm', `more than ${EVENT_BUDGET} events`)
    const event = this.#heap.pop()
    this.now = next
    this.#looks = 0
    this.print.add(next)
    event?.run(event.payload as never)
    return false
  }
}
