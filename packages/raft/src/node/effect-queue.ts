// Driver: carries out the core's effects in the order in which the core returned them. If an effect causes
// another call of the core, the new effects wait until all earlier effects are carried out. Law: after `stop`
// no effect is carried out, not even effects that the core returned before `stop` (A5).

import type { Effect } from '../core/index.js'

export class EffectQueue {
  readonly #perform: (effect: Effect) => void
  #queue: Effect[] = []
  #next = 0
  #performing = false
  #stopped = false

  constructor(perform: (effect: Effect) => void) {
    this.#perform = perform
  }

  get isPerforming(): boolean {
    return this.#performing
  }

  run(effects: readonly Effect[]): void {
    if (this.#stopped || effects.length === 0) return
    for (const effect of effects) this.#queue.push(effect)
    if (this.#performing) return
    this.#performing = true
    try {
      while (this.#next < this.#queue.length) this.#perform(this.#queue[this.#next++] as Effect)
    } finally {
      this.#performing = false
      this.#clear()
    }
  }

  stop(): void {
    this.#stopped = true
    this.#clear()
  }

  #clear(): void {
    this.#queue = []
    this.#next = 0
  }
}
