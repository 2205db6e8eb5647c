// Driver: computes the state hash after the first entry of each half minute of cluster time, when members
// compare their states. Every member computes the hash after the same entry. The state machine applies no
// other entry until the hash is computed and the promise of `onStateHash` (kv-store-types.ts) has settled.

import type { Turns } from './stored-rows-for-range-commands.js'
import type { State } from './state/store-state.js'
import type { KvOptions } from './kv-store-types.js'

const HASH_MILLIS = 30_000
/**
 * Some rows, such as holds and sessions, are kept in memory and are hashed anew for each state hash. If there
 * are more such rows than this number, no member computes the hash, because it would take too long.
 */
const MOST_HASHED_ROWS = 50_000

type OnStateHash = NonNullable<KvOptions['onStateHash']>
type Steps = ReturnType<State['hashInTurns']>

export class StateHashSchedule {
  readonly #onStateHash: OnStateHash | undefined
  readonly #turns: Turns

  constructor(onStateHash: KvOptions['onStateHash'], turns: Turns) {
    this.#onStateHash = onStateHash
    this.#turns = turns
  }

  /**
   * Called after each entry. `before` is the cluster time before the entry. If a hash is due, computes the
   * hash and calls `onStateHash`. The next entry waits for the returned promise. Undefined means that the
   * next entry need not wait.
   */
  passed(state: State, before: number): Promise<unknown> | undefined {
    const { time } = state.meta.position
    if (
      this.#onStateHash === undefined ||
      Math.floor(time / HASH_MILLIS) === Math.floor(before / HASH_MILLIS)
    )
      return undefined
    if (state.residentRows > MOST_HASHED_ROWS) return undefined
    const steps = state.hashInTurns()
    const first = steps.next()
    return first.done === true ? this.#onStateHash(first.value) : this.#goOn(steps, this.#onStateHash)
  }

  /** Computes the rest of the hash in further turns of the event loop, so that heartbeats are not delayed. */
  async #goOn(steps: Steps, onStateHash: OnStateHash): Promise<unknown> {
    for (;;) {
      await this.#turns.next()
      const step = steps.next()
      if (step.done === true) return onStateHash(step.value)
    }
  }
}
