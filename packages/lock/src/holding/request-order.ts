// Driver: owns the order of one lock object's requests: one at a time, in the order they were asked for.

import type { CallLimit } from './call-limit.js'

/**
 * Laws:
 * - The next task begins when the one before has ended; calls that nobody awaited could otherwise be applied in any order across a
 *   fail-over, a late acquire after its own release.
 * - Whoever awaits what a task promised hears it before the next one begins: so it still holds.
 * - An urgent task (giving back what a finished attempt may have got) goes before all that wait.
 */
export class RequestOrder {
  #busy = false
  #waiting: (() => void)[] = []

  /** Begins at once where nobody is in turn. `over` instead of it: the limit came first, and the task never begins. */
  run<T, O>(task: () => Promise<T>, limit: CallLimit, over: () => O | Promise<O>): Promise<T | O> {
    return this.#busy ? this.#inTurn(task, limit, over) : this.#begin(task)
  }

  async #inTurn<T, O>(task: () => Promise<T>, limit: CallLimit, over: () => O | Promise<O>): Promise<T | O> {
    return (await this.#turn((begin) => this.#waiting.push(begin), limit)) ? this.#begin(task) : over()
  }

  async urgent<T>(task: () => Promise<T>): Promise<T> {
    if (this.#busy) await this.#turn((begin) => this.#waiting.unshift(begin))
    return this.#begin(task)
  }

  /** It begins behind the caller of the task before, who hears of its end now: what was promised there is still so. */
  async #turn(stand: (begin: () => void) => void, limit?: CallLimit): Promise<boolean> {
    const isMine = await this.#place(stand, limit)
    await Promise.resolve()
    return isMine
  }

  /** The turn is over before whoever awaits the task hears of its end: where nobody waits, their next call begins at once. */
  #begin<T>(task: () => Promise<T>): Promise<T> {
    this.#busy = true
    const done = task()
    done.then(this.#next, this.#next)
    return done
  }

  /** It stays busy while the turn is handed over: nobody may slip in between. */
  readonly #next = (): void => {
    const begin = this.#waiting.shift()
    if (begin === undefined) this.#busy = false
    else begin()
  }

  #place(stand: (begin: () => void) => void, limit?: CallLimit): Promise<boolean> {
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
