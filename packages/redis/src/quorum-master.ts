// Driver: owns one of the independent masters of a quorum. The class makes the calls of this master, each
// with a time limit, and estimates the master's clock.

import type { Clock } from '@latchkey/base'
import {
  mayHaveArrived,
  type TakeAnswer,
  type TakeRequest,
  type Timed,
  type ClientClock,
} from '@latchkey/lock'
import type { Attempt } from './unanswered-attempts.js'
import type { RedisCalls } from './redis-calls.js'

/** In ms. A master that does not answer within this time has no vote in the call. */
const MASTER_PATIENCE = 1_000

/**
 * Law: a master refuses a take request that arrives after its caller has given up (EN4). The request contains
 * a time limit by the master's clock, computed from the master's last answer. Because clocks drift, this
 * limit may be too early, but it is never too late. Without this law: a delayed take request is applied after
 * its caller has given up. Then the master's vote belongs to nobody, and no other caller gets the vote until
 * the lease ends.
 */
export class Master {
  readonly calls: RedisCalls
  readonly #clock: Clock
  readonly #time: ClientClock
  readonly #rate: number
  /**
   * The last time of the master's clock that an answer contained, and this process's time when the answer
   * arrived.
   */
  #seen: { readonly there: number; readonly here: number } | undefined

  /**
   * `rate` is the smallest number of ms by which the master's clock can advance in one ms of this process's
   * clock.
   */
  constructor(calls: RedisCalls, clock: Clock, time: ClientClock, rate: number) {
    this.calls = calls
    this.#clock = clock
    this.#time = time
    this.#rate = rate
  }

  take(request: TakeRequest, token: number, attempt: Attempt): Promise<TakeAnswer> {
    const { key } = request
    const id = attempt.vote
    const ask = async () => {
      if (this.#seen === undefined) this.#learn(await this.calls.time())
      const send = async () => {
        const answer = await this.calls.take({ ...request, id, before: this.#before(request.before) }, token)
        this.#learn(answer)
        return answer
      }
      const answer = await send()
      // 'LATE' may only mean that the known time of the master's clock was too old, or that this clock was
      // set forward. The answer contains the present time of this clock, so the request is sent once more.
      const last = answer.code === 'LATE' ? await send() : answer
      if (attempt.isOver) await this.calls.cancel([{ key, id }])
      return last
    }
    return this.#limited(() => ask().finally(() => attempt.answered()))
  }

  call<T extends Timed>(run: (calls: RedisCalls) => Promise<T>): Promise<T> {
    return this.#limited(async () => {
      const answer = await run(this.calls)
      this.#learn(answer)
      return answer
    })
  }

  #learn({ now }: Timed): void {
    this.#seen = { there: now, here: this.#time.now() }
  }

  #before(before: number): number {
    const { there, here } = this.#seen ?? { there: 0, here: before }
    return Math.floor(there + (before - here - 1) * this.#rate)
  }

  #limited<T>(run: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = this.#clock.after(MASTER_PATIENCE, () => reject(mayHaveArrived()), { ref: false })
      run()
        .finally(() => timer.cancel())
        .then(resolve, reject)
    })
  }
}
