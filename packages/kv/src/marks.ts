// Driver: owns the moments at which members compare their states: after the first entry of each half minute
// of cluster time.
// That entry is the same on every member. No other entry is applied until the state is hashed and `atMark`
// (kv-store.ts) has settled.

import type { Turns } from './stored-key-lookups.js'
import type { State } from './state/state.js'
import type { KvOptions } from './kv-store.js'

const MARK_MILLIS = 30_000
/**
 * With more rows in memory than this the state is not hashed, because it would take too long. The number of
 * rows is equal on all members, so all of them skip the same comparison.
 */
const MOST_HASHED_ROWS = 50_000

type AtMark = NonNullable<KvOptions['atMark']>
type Steps = ReturnType<State['hashInTurns']>

export class Marks {
  readonly #atMark: AtMark | undefined
  readonly #turns: Turns

  constructor(atMark: KvOptions['atMark'], turns: Turns) {
    this.#atMark = atMark
    this.#turns = turns
  }

  /**
   * Called after an entry was applied; `before` is the cluster time before it. The next entry waits for the
   * returned promise.
   */
  passed(state: State, before: number): Promise<unknown> | undefined {
    const { time } = state.meta.position
    if (this.#atMark === undefined || Math.floor(time / MARK_MILLIS) === Math.floor(before / MARK_MILLIS))
      return undefined
    if (state.residentRows > MOST_HASHED_ROWS) return undefined
    const steps = state.hashInTurns()
    const first = steps.next()
    return first.done === true ? this.#atMark(first.value) : this.#goOn(steps, this.#atMark)
  }

  /**
   * Hashes the rest in further turns of the event loop, because twenty thousand holds in one turn would delay
   * heartbeats.
   */
  async #goOn(steps: Steps, atMark: AtMark): Promise<unknown> {
    for (;;) {
      await this.#turns.next()
      const step = steps.next()
      if (step.done === true) return atMark(step.value)
    }
  }
}
