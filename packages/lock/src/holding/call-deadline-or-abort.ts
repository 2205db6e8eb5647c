// Driver: ends one call at its deadline, at the abort of its signal, or at the close of the store.

import { onAbort, type Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { LockCallOptions, LockPort } from './lock-port-interface.js'

export const OVER: unique symbol = Symbol('over')
export type Over = typeof OVER
type CallLimitEnd = 'timeout' | 'aborted' | 'closed'

/**
 * The time limit and the signal of one call of the user. Each request of the call gets this object as its
 * options.
 */
export class CallLimit implements LockCallOptions {
  readonly signal: AbortSignal | undefined
  readonly #port: LockPort
  readonly due: number | undefined
  /**
   * The next two fields stay undefined until the call waits, because most calls never wait. #waiting has the
   * functions that run when the limit ends the call, and #offs has the functions that remove listeners.
   */
  #waiting: Set<() => void> | undefined
  #offs: (() => void)[] | undefined
  #timer: Timer | undefined

  constructor(port: LockPort, timeout: number | undefined, signal?: AbortSignal) {
    this.#port = port
    this.signal = signal
    this.due = timeout === undefined ? undefined : port.clock.now() + timeout
  }

  /**
   * Why the call has ended, or undefined. Each read compares the deadline with the clock, so that a blocked
   * event loop does not extend the limit.
   */
  get end(): CallLimitEnd | undefined {
    if (this.signal?.aborted) return 'aborted'
    if (this.#port.closed.aborted) return 'closed'
    return this.left() === 0 ? 'timeout' : undefined
  }

  left(): number | undefined {
    return this.due === undefined ? undefined : Math.max(0, Math.ceil(this.due - this.#port.clock.now()))
  }

  error(): LatchkeyError {
    const end = this.end
    if (end === 'aborted') return new LatchkeyError('ERR_ABORTED', undefined, { cause: this.signal?.reason })
    if (end === 'closed') return closedError(this.#port)
    return new LatchkeyError('ERR_TIMEOUT')
  }

  onEnd(run: () => void): () => void {
    if (this.end !== undefined) {
      run()
      return () => {}
    }
    const waiting = (this.#waiting ??= new Set())
    waiting.add(run)
    this.#listen()
    return () => {
      waiting.delete(run)
      if (waiting.size === 0) this.#silence()
    }
  }

  wait<T>(promise: Promise<T>): Promise<T | Over> {
    return new Promise((resolve, reject) => {
      const off = this.onEnd(() => resolve(OVER))
      promise.then(resolve, reject).finally(off)
    })
  }

  #listen(): void {
    if (this.#offs !== undefined) return
    const finish = () => this.#finish()
    this.#offs = [onAbort(this.#port.closed, finish)]
    if (this.signal) this.#offs.push(onAbort(this.signal, finish))
    this.#arm()
  }

  #arm(): void {
    const left = this.left()
    if (left === undefined) return
    this.#timer = this.#port.clock.after(left, () => (this.left() === 0 ? this.#finish() : this.#arm()), {
      ref: false,
    })
  }

  #silence(): void {
    for (const off of this.#offs ?? []) off()
    this.#offs = undefined
    this.#timer?.cancel()
  }

  #finish(): void {
    this.#silence()
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const run of waiting) run()
  }
}

function closedError(port: LockPort): LatchkeyError {
  const reason: unknown = port.closed.reason
  return reason instanceof LatchkeyError ? reason : new LatchkeyError('ERR_CLOSED')
}
