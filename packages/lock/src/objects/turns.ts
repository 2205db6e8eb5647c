// Driver: owns the order of one lock object's requests: one at a time, in the order they were asked for.

import { type Limit, OVER, type Over } from './limit.js'

/**
 * Laws:
 * - The next task begins when the one before has ended; calls that nobody awaited could otherwise be applied in any order across a
 *   fail-over, a late acquire after its own release.
 * - An urgent task (giving back what a finished attempt may have got) goes before all that wait.
 */
export class Turns {
  #busy = false
  #waiting: (() => void)[] = []

  /** Begins at once where nobody is in turn. OVER: the limit came first, and the task never began. */
  async run<T>(task: () => Promise<T>, limit?: Limit): Promise<T | Over> {
    if (this.#busy && !(await this.#place((begin) => this.#waiting.push(begin), limit))) return OVER
    return this.#begin(task)
  }

  async urgent<T>(task: () => Promise<T>): Promise<T> {
    if (this.#busy) await this.#place((begin) => this.#waiting.unshift(begin))
    return this.#begin(task)
  }

  async #begin<T>(task: () => Promise<T>): Promise<T> {
    this.#busy = true
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      // It stays busy while the turn is handed over: nobody may slip in between.
      if (next === undefined) this.#busy = false
      else next()
    }
  }

  #place(stand: (begin: () => void) => void, limit?: Limit): Promise<boolean> {
    return new Promise((resolve) => {
      let off = () => {}
      const begin = () => {
        off()
        resolve(true)
      }
      stand(begin)
      if (limit === undefined) return
      off = limit.onEnd(() => {
        const place = this.#waiting.indexOf(begin)
        if (place >= 0) this.#waiting.splice(place, 1)
        resolve(false)
      })
    })
  }
}
