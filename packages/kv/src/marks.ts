// Driver: owns when members compare what they hold: behind the first entry of each half minute of cluster time, which is the same one
// everywhere. Nothing is applied until that state is added up, and somebody has been told of it (kv-store.ts, `stood`).

import type { Turns } from './stored-key-lookups.js'
import type { State } from './state/state.js'
import type { KvOptions } from './kv-store.js'

const MARK_MILLIS = 30_000
/** Not where it would take long to add up what is in memory: the count of rows is the same on all members, and so is what is too much. */
const MOST_HASHED_ROWS = 50_000

type Stood = NonNullable<KvOptions['stood']>
type Steps = ReturnType<State['hashInTurns']>

export class Marks {
  readonly #stood: Stood | undefined
  readonly #turns: Turns

  constructor(stood: KvOptions['stood'], turns: Turns) {
    this.#stood = stood
    this.#turns = turns
  }

  /** An entry was applied; `before`: the time before it. What is returned is waited for before the next one. */
  passed(state: State, before: number): Promise<unknown> | undefined {
    const { time } = state.meta.position
    if (this.#stood === undefined || Math.floor(time / MARK_MILLIS) === Math.floor(before / MARK_MILLIS))
      return undefined
    if (state.residentRows > MOST_HASHED_ROWS) return undefined
    const steps = state.hashInTurns()
    const first = steps.next()
    return first.done === true ? this.#stood(first.value) : this.#goOn(steps, this.#stood)
  }

  /** In further turns: twenty thousand holds in one would be longer than a heartbeat should wait. */
  async #goOn(steps: Steps, stood: Stood): Promise<unknown> {
    for (;;) {
      await this.#turns.next()
      const step = steps.next()
      if (step.done === true) return stood(step.value)
    }
  }
}
