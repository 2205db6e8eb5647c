// Driver: owns the requests to a lock engine. This class limits the time of each request, repeats requests,
// and knows which requests may still be applied.

import { type Clock, onAbort } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { ClusterTimeBound } from '../holding/cluster-time-bound.js'
import type { LockCall, LockCallOptions } from '../holding/lock-port-interface.js'
import { mayHaveArrived, toEngineError } from './make-unreachable-error.js'
import type { LockEngine, Timed } from './lock-engine-interface.js'

const TRY_TIMEOUT = 5_000
const FIRST_PAUSE = 50
const LONGEST_PAUSE = 1_000
/**
 * In ms: by how much the difference between a time of the client and a time of the engine may be wrong. The
 * times of client and engine are rounded to whole milliseconds.
 */
const ROUNDING = 1

/**
 * One attempt that was sent. `before` is a time of the engine's clock: the engine ignores a take request that
 * arrives after this time. `isOver` is true if the engine can no longer apply the attempt.
 */
interface Flight {
  readonly before: number
  isOver: boolean
}

export type Send<T extends Timed> = (before: number) => Promise<T>

interface RequestOptions extends LockCallOptions {
  /**
   * True if it does no harm to apply the request twice. If false, the client stops after the first attempt
   * whose outcome is unknown.
   */
  readonly repeats: boolean
}

/**
 * Whether the engine has refused the request because the request came too late (EN4). The answer has the
 * engine's present time, so the request can be sent again with a later `before`.
 */
const isLate = (answer: Timed): boolean => 'code' in answer && answer.code === 'LATE'

export interface EngineCall<T> extends LockCall {
  readonly result: Promise<T>
}

export class EngineRequests {
  readonly #engine: LockEngine
  readonly #clock: Clock
  readonly #bound: ClusterTimeBound
  readonly #closed: AbortSignal
  #unreached: LatchkeyError | undefined

  constructor(engine: LockEngine, clock: Clock, bound: ClusterTimeBound, closed: AbortSignal) {
    this.#engine = engine
    this.#clock = clock
    this.#bound = bound
    this.#closed = closed
  }

  get unreached(): LatchkeyError | undefined {
    return this.#unreached
  }

  /**
   * Sends attempts until one attempt is answered or permanently refused, or until the limits end the call.
   *
   * Law: `whenFinal` does not resolve while the engine can still apply an attempt. An attempt can no longer
   * be applied if it was answered or refused, or if the engine's clock is above the `before` of the attempt.
   * Without this law: a caller gives up, and its place in the queue is cancelled. Then the delayed take is
   * applied, and the lock has a holder that no caller knows.
   */
  call<T extends Timed>(send: Send<T>, { repeats, ...limits }: RequestOptions): EngineCall<T> {
    const flights: Flight[] = []
    const state = { isOver: false, wasSent: false }
    const tries = async (): Promise<T> => {
      for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
        try {
          const before = await this.#before()
          if (state.isOver) throw new LatchkeyError('ERR_TIMEOUT')
          const flight: Flight = { before, isOver: false }
          flights.push(flight)
          state.wasSent = true
          const answer = await this.#try(() => send(before), flight)
          if (!isLate(answer)) return answer
          if (state.isOver) throw new LatchkeyError('ERR_TIMEOUT')
        } catch (error) {
          const failure = toEngineError(error)
          if (failure.code === 'ERR_NO_LEADER' || failure.outcome === 'unknown') this.#unreached = failure
          const again = failure.outcome === 'unknown' ? repeats : failure.retryable
          if (state.isOver || !again || failure.code === 'ERR_BUSY') throw failure
        }
        await this.#pause(pause)
      }
    }
    const result = this.#limited(tries(), limits, () => {
      state.isOver = true
      return flights.some(({ isOver }) => !isOver)
    })
    let final: Promise<void> | undefined
    return {
      result,
      get sent() {
        return state.wasSent
      },
      whenFinal: () => (final ??= this.#whenFinal(flights)),
    }
  }

  async #try<T extends Timed>(send: () => Promise<T>, flight: Flight): Promise<T> {
    const sentAt = this.#clock.instant()
    const answered = send().then(
      (answer) => {
        flight.isOver = true
        return answer
      },
      (error: unknown) => {
        flight.isOver = toEngineError(error).outcome === 'not-applied'
        throw error
      },
    )
    const answer = await this.#withTimeout(answered)
    this.#unreached = undefined
    this.#learn(answer.now, sentAt)
    return answer
  }

  /**
   * Law (EN8): if an answer has a time above the computed upper bound of the server's time, somebody has set
   * the server's clock forward. A new bound is then computed from that answer. Without this law: the clock of
   * the server jumps an hour ahead, and every new deadline is an hour above the old bound. A holder that
   * cannot renew for a minute believes for an hour that it still holds the lock.
   */
  #learn(time: number, sentAt: ReturnType<Clock['instant']>): void {
    const now = this.#clock.instant()
    if (time > this.#bound.upper(now) + ROUNDING) this.#bound.beginAgain()
    this.#bound.learn(time, sentAt, now)
  }

  async #before(): Promise<number> {
    const known = this.#bound.upper(this.#clock.instant())
    if (known !== Number.POSITIVE_INFINITY) return Math.ceil(known) + TRY_TIMEOUT
    await this.#try(() => this.#engine.time(), { before: 0, isOver: true })
    return Math.ceil(this.#bound.upper(this.#clock.instant())) + TRY_TIMEOUT
  }

  async #whenFinal(flights: readonly Flight[]): Promise<void> {
    const open = () => flights.filter(({ isOver }) => !isOver)
    for (let pause = FIRST_PAUSE; open().length > 0; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      if (this.#closed.aborted) throw new LatchkeyError('ERR_CLOSED')
      const last = Math.max(...open().map(({ before }) => before))
      try {
        const flight = { before: 0, isOver: true }
        const { now } = await this.#try(() => this.#engine.time(), flight)
        if (now > last) return
      } catch {
        // The server could not be reached. The loop asks the server again after a pause.
      }
      await this.#pause(pause)
    }
  }

  #withTimeout<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = this.#clock.after(TRY_TIMEOUT, () => reject(mayHaveArrived()), { ref: false })
      promise.finally(() => timer.cancel()).then(resolve, reject)
    })
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel()
        off()
        resolve()
      }
      const timer = this.#clock.after(ms, done, { ref: false })
      const off = onAbort(this.#closed, done)
    })
  }

  /**
   * Waits for `promise` within the limits of the call. If a limit ends the call, `end` is called and returns
   * whether an attempt may still be applied.
   */
  #limited<T>(
    promise: Promise<T>,
    { timeout, due, signal }: LockCallOptions,
    end: () => boolean,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const clean: (() => void)[] = []
      const finish = (settle: () => void) => {
        for (const undo of clean) undo()
        settle()
      }
      const over = (code: 'ERR_ABORTED' | 'ERR_CLOSED' | 'ERR_TIMEOUT', cause?: unknown) => {
        const outcome = end() ? 'unknown' : 'not-applied'
        finish(() => reject(this.#overError(code, outcome, cause)))
      }
      const ms = timeout ?? (due === undefined ? undefined : Math.max(0, due - this.#clock.now()))
      if (ms !== undefined) {
        const timer = this.#clock.after(ms, () => over('ERR_TIMEOUT'))
        clean.push(() => timer.cancel())
      }
      clean.push(onAbort(this.#closed, () => over('ERR_CLOSED')))
      if (signal !== undefined) clean.push(onAbort(signal, () => over('ERR_ABORTED', signal.reason)))
      promise.then(
        (value) => finish(() => resolve(value)),
        (error: unknown) => finish(() => reject(error as Error)),
      )
      if (this.#closed.aborted) over('ERR_CLOSED')
      else if (signal?.aborted) over('ERR_ABORTED', signal.reason)
    })
  }

  #overError(
    code: 'ERR_ABORTED' | 'ERR_CLOSED' | 'ERR_TIMEOUT',
    outcome: 'unknown' | 'not-applied',
    cause: unknown,
  ): LatchkeyError {
    if (code !== 'ERR_TIMEOUT') return new LatchkeyError(code, undefined, { outcome, cause })
    if (outcome === 'unknown') return mayHaveArrived(this.#unreached)
    return this.#unreached ?? new LatchkeyError('ERR_TIMEOUT')
  }
}
