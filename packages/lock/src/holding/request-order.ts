// Driver: owns the order of one lock object's requests. The requests are sent one at a time, in the order of
// the calls.

import type { CallLimit } from './call-deadline-or-abort.js'

/**
 * Laws:
 * - A task begins when the previous task has ended. Without this law: a caller sends an acquire, and then an
 *   unlock without awaiting the acquire. The leader changes, and the retried acquire is applied after its own
 *   release.
 * - A caller that awaits a task continues before the next task begins. So the result of the task is still
 *   true when the caller reads the result.
 * - An urgent task comes before all waiting tasks. An urgent task releases the hold, or the place in the
 *   queue, that a finished attempt may have got.
 */
export class RequestOrder {
  #busy = false
  readonly #waiting: (() => void)[] = []

  /**
   * Runs the task after the earlier tasks. If the limit ends before the task begins, the task never begins,
   * and the result of `over` is returned.
   */
  async run<T, O>(task: () => Promise<T>, limit: CallLimit, over: () => O | Promise<O>): Promise<T | O> {
    if (!this.tryBegin() && !(await this.turn(limit))) return over()
    try {
      return await task()
    } finally {
      this.end()
    }
  }

  async urgent<T>(task: () => Promise<T>): Promise<T> {
    await this.urgentTurn()
    try {
      return await task()
    } finally {
      this.end()
    }
  }

  /**
   * Returns false if another task is under way. Otherwise a task of the caller begins. The caller must call
   * `end` before the promise of the task settles. `turn` and `urgentTurn` begin a task in the same way.
   */
  tryBegin(): boolean {
    if (this.#busy) return false
    this.#busy = true
    return true
  }

  /** Resolves to true when the task of the caller begins, and to false if the limit ends first. */
  async turn(limit: CallLimit): Promise<boolean> {
    if (!(await this.#place((begin) => this.#waiting.push(begin), limit))) return false
    await callerContinues()
    return true
  }

  async urgentTurn(): Promise<void> {
    if (this.tryBegin()) return
    await this.#place((begin) => this.#waiting.unshift(begin))
    await callerContinues()
  }

  /**
   * Ends a task. #busy stays true from the end of a task to the start of the next waiting task, so that no
   * new call begins in between.
   */
  end(): void {
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

/**
 * Waits a few microtasks. In these microtasks the caller of the previous task continues, and the result of that
 * task is still true.
 */
async function callerContinues(): Promise<void> {
  await Promise.resolve()
  await Promise.resolve()
}
