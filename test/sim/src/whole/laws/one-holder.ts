// Rule: two running processes never have `held` true for the same key at one moment of real time (CT6). All
// other laws of locks serve this law. A hold that was reported as lost is never reported as held again (K30).
// The law is checked after every event.

import type { LockEvent } from '@latchkey/lock'
import type { VirtualTime } from '../../world/virtual-time.js'
import type { HostProcess } from '@latchkey/raft/memory'
import { LawBroken } from '../../laws/verdict.js'

/** True if one of the holders is exclusive, or if all holders have more permits than the semaphore. */
const isTooMuch = (a: Believer, b: Believer, permits: number): boolean =>
  a.permits === 0 || b.permits === 0 || (b.of > 0 && permits > b.of)

/** In µs. A lost hold is asked again after this time. */
const AGAIN = 300_000

interface Believer {
  readonly name: string
  readonly life: HostProcess
  readonly token: number
  readonly held: () => boolean
  readonly since: number
  last: number
  /**
   * 0 means exclusive. Otherwise the number of permits of a semaphore with `of` permits. A shared lock has no
   * limit.
   */
  permits: number
  readonly of: number
}

interface Share {
  readonly permits: number
  /** 0 means that the number of permits is not limited. */
  readonly of: number
}
const EXCLUSIVE: Share = { permits: 0, of: 0 }

export class OneHolder {
  readonly #time: VirtualTime
  readonly #keys = new Map<string, Believer[]>()
  readonly #promises: LockEvent[] = []
  /** Lost holds, which are asked again later. */
  #lost: { readonly key: string; readonly one: Believer; readonly again: number }[] = []
  readonly #exclusive: boolean
  count = 0

  /** With `exclusive` false, the clocks are more wrong than allowed, so only tokens protect. */
  constructor(time: VirtualTime, exclusive = true) {
    this.#time = time
    this.#exclusive = exclusive
  }

  /** A process has received a hold. `held` is asked until it returns false. */
  began(
    name: string,
    life: HostProcess,
    key: string,
    token: number,
    held: () => boolean,
    share = EXCLUSIVE,
  ): { permits: number } {
    const { now } = this.#time
    const believers = this.#keys.get(key) ?? []
    this.#keys.set(key, believers)
    const believer = { name, life, token, held, since: now, last: now, ...share }
    believers.push(believer)
    this.count++
    return believer
  }

  /**
   * The law does not judge holds of `forced`: they were ended by force, and their holders do not know this.
   */
  look(forced: ReadonlySet<string>): void {
    this.#askAgain()
    for (const [key, believers] of this.#keys) {
      if (believers.length === 0) continue
      let holder: Believer | undefined
      let permits = 0
      for (let i = believers.length - 1; i >= 0; i--) {
        const one = believers[i] as Believer
        if (one.life.dead || forced.has(`${key}/${one.token}`)) this.#over(key, believers, i)
        else if (one.life.running) {
          if (!one.held()) {
            this.#over(key, believers, i)
            this.#lost.push({ key, one, again: this.#time.now + AGAIN })
          } else {
            permits += one.permits
            if (holder !== undefined && this.#exclusive && isTooMuch(holder, one, permits))
              this.#two(key, holder, one)
            holder = one
            one.last = this.#time.now
          }
        }
      }
    }
  }

  /** The first in the list is the oldest. */
  #askAgain(): void {
    for (let first = this.#lost[0]; first && first.again <= this.#time.now; first = this.#lost[0]) {
      this.#lost.shift()
      const { key, one } = first
      if (one.life.running && one.held())
        throw new LawBroken('lost is lost', `${one.name} holds ${key} again, with token ${one.token}`)
    }
  }

  #two(key: string, a: Believer, b: Believer): never {
    const told = (one: Believer) => `${one.name} token ${one.token} since ${one.since / 1000} ms`
    throw new LawBroken(
      'one holder',
      `${key} is held by two: ${told(a)}; ${told(b)}; now ${this.#time.now / 1000} ms`,
    )
  }

  #over(key: string, believers: Believer[], at: number): void {
    const [one] = believers.splice(at, 1)
    if (one === undefined || !this.#exclusive || one.permits > 0) return
    this.#promises.push({ kind: 'promise', key, token: one.token, at: one.since })
    if (one.last > one.since) this.#promises.push({ kind: 'promise', key, token: one.token, at: one.last })
  }

  /** Called once, at the end of the run. */
  promises(): readonly LockEvent[] {
    for (const [key, believers] of this.#keys)
      while (believers.length > 0) this.#over(key, believers, believers.length - 1)
    return this.#promises
  }
}
