// Rule: who believes to hold what, in true time. The one law that all others are for: at no moment do two
// running processes both say `held` of one key (CT6). Looked at after every event. And whoever said no once
// never says yes again (K30).

import type { LockEvent } from '@latchkey/lock'
import type { VirtualTime } from '../../world/virtual-time.js'
import type { HostProcess } from '@latchkey/raft/memory'
import { LawBroken } from '../../laws/verdict.js'

/**
 * Two that cannot both hold it: one of them is exclusive, or all together have more permits than there are.
 */
const isTooMuch = (a: Believer, b: Believer, permits: number): boolean =>
  a.permits === 0 || b.permits === 0 || (b.of > 0 && permits > b.of)

/** Microseconds after which one who said no is asked once more. */
const AGAIN = 300_000

interface Believer {
  readonly name: string
  readonly life: HostProcess
  readonly token: number
  readonly held: () => boolean
  readonly since: number
  last: number
  /** 0: exclusive. Otherwise so many of a semaphore that has `of`; of a lock any number. */
  permits: number
  readonly of: number
}

interface Share {
  readonly permits: number
  /** 0: any number. */
  readonly of: number
}
const EXCLUSIVE: Share = { permits: 0, of: 0 }

export class OneHolder {
  readonly #time: VirtualTime
  readonly #keys = new Map<string, Believer[]>()
  readonly #promises: LockEvent[] = []
  /** Said no, and are asked once more a while later. */
  #lost: { readonly key: string; readonly one: Believer; readonly again: number }[] = []
  readonly #exclusive: boolean
  /** Holds that were promised at some moment. */
  count = 0

  /** Not `exclusive`: clocks go wrong by more than was promised; then only tokens protect. */
  constructor(time: VirtualTime, exclusive = true) {
    this.#time = time
    this.#exclusive = exclusive
  }

  /** That process has got it. `held` is asked until it says no. */
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

  /** What is ended by force is not known to its holder: it is judged no more. */
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

  /** Once, at the end. */
  promises(): readonly LockEvent[] {
    for (const [key, believers] of this.#keys)
      while (believers.length > 0) this.#over(key, believers, believers.length - 1)
    return this.#promises
  }
}
