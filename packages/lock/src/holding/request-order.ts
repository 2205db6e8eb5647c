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
  #waiting: (() => void)[] = []

  /**
   * Runs the task after the earlier tasks. If the limit ends before the task begins, the task never begins,
   * and the result of `over` is returned.
   */
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

  /**
   * Waits until the previous task has ended, and one microtask more. In this microtask the caller of the
   * previous task continues, and the result of that task is still true.
   */
  async #turn(stand: (begin: () => void) => void, limit?: CallLimit): Promise<boolean> {
    const isMine = await this.#place(stand, limit)
    await Promise.resolve()
    return isMine
  }

  /**
   * The task counts as ended before its caller continues. So if no task waits, the next call of that caller
   * begins immediately.
   */
  #begin<T>(task: () => Promise<T>): Promise<T> {
    this.#busy = true
    const done = task()
    done.then(this.#next, this.#next)
    return done
  }

  /**
   * #busy stays true from the end of a task to the start of the next task, so that no new call begins in
   * between.
   */
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
