// Driver: carries out effects in the order the core gave them out, also when carrying one out leads to the next call of the core.
// Law: once stopped nothing is carried out any more, not even what the call that led to the stop had asked for besides (A5).

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
