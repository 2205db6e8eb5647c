// Driver: owns one of the independent masters of a quorum: its calls, each with a time limit, and what is
// known of its clock.

import type { Clock } from '@latchkey/base'
import { mayHaveArrived, type TakeAnswer, type TakeRequest, type Timed, type OwnTime } from '@latchkey/lock'
import type { Attempt } from './takes-under-way.js'
import type { RedisCalls } from './redis-calls.js'

/** In ms. A master that has not answered after this time has no vote in the call. */
export const MASTER_PATIENCE = 1_000

/**
 * Law (EN4): when a take is void by the caller's clock, it is void at the master by the master's clock too.
 * The lowest possible time of the master's clock follows from its last answer. Without this law: a take that
 * was delayed on its way to a master is applied there after its caller has given up, and that vote is lost
 * until its lease is over.
 */
export class Master {
  readonly calls: RedisCalls
  readonly #clock: Clock
  readonly #time: OwnTime
  readonly #rate: number
  /** What the master's clock was, and what the own clock was when that was received. */
  #seen: { readonly there: number; readonly here: number } | undefined

  /** `rate` is how many ms of the master pass at least in one ms of the own clock. */
  constructor(calls: RedisCalls, clock: Clock, time: OwnTime, rate: number) {
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
      // What was known of its clock was old, or the clock was set forward.
      const last = answer.code === 'LATE' ? await send() : answer
      if (attempt.isOver) await this.calls.cancel([{ key, id }])
      return last
    }
    return this.#limited(() => ask().finally(() => attempt.settled()))
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
