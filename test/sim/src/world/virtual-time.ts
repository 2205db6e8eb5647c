// Driver: virtual time. One event a turn; before the next one every promise that can go
// on has gone on.
//
// Law: nothing but the heap decides what happens next. Promises are woken in the order in which the code
// under test made them, and no timer, socket or thread of this machine takes part, so the same seed is the
// same run.

import { NoProgress } from '../laws/verdict.js'
import { Fingerprint } from './fingerprint.js'
import { EventHeap } from '@latchkey/raft/memory'

/** More than this in one seed is a storm, and a failure of its own. */
export const EVENT_BUDGET = 2_000_000
/**
 * More looks at clocks than this in one event is an endless loop: promises that wake each other and let
 * nothing else go on.
 */
const LOOKS = 200_000
/** Immediates queued at once: between two of them the runtime wakes all promises. */
const TURNS = 64

const call = (run: () => void): void => run()

export class VirtualTime {
  /** Microseconds of true time. */
  now = 0
  events = 0
  readonly print = new Fingerprint()
  readonly #heap = new EventHeap()
  #failure: unknown
  #failed = false
  #instants = 0
  #looks = 0

  /** Something outside of an event went wrong: the run ends with it. */
  fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    this.#failure = error
  }

  /** Grows with each call: the order of what clients did and saw, also within one microsecond. */
  instant(): number {
    return ++this.#instants
  }

  /** Somebody looks at a clock. Whoever goes round in promises does so at some point. */
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

  /** Until that time, or until `done`. `laws` are looked at after every event. */
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

  /** True when the run is over. */
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
