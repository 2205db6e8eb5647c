// Rule: the changes of shared locks and semaphores, entry by entry. The code shares nothing with the rules
// that it checks.
//
// Laws
// - An exclusive hold excludes all other holds. The granted permits of a semaphore are never more than it had
//   at the grant (K61, K63).
// - Waiters get the lock in the order of arrival, and no caller overtakes them (K62).
// - After an entry, a queue waits only if its first waiter conflicts with a hold (K62).
// - A set of locks is granted in one entry, and leaves all of its queues in one entry (K80). A caller may
//   overtake a set only while an earlier hold or waiter keeps the set from one of its keys. Sets overtake
//   nobody (K81).
// - A guarded write happens only under a hold in force with its current token. Under a shared hold, it
//   happens only if its guard allows this (K64).

import { CODE, type LockEvent } from '@latchkey/lock'
import type { FlowArg, OwnerResult } from '@latchkey/protocol'
import { LawBroken } from '../../laws/verdict.js'
import { Deadlocks } from './deadlocks.js'

interface Holder {
  readonly id: string
  /** The place of the request or grant in the order of all keys. */
  readonly order: number
  /** The current token. A rotation gives the hold another token. */
  token: number
  /** 0 means exclusive. */
  permits: number
  deadline: number
}

interface Waiting {
  readonly id: string
  readonly permits: number
  readonly order: number
  /** All locks of its set. Undefined if it wants only this lock. */
  readonly set: readonly Wanted[] | undefined
}
interface Wanted {
  readonly key: string
  readonly permits: number
}

interface QueueAndHolds {
  holders: Holder[]
  queue: Waiting[]
  /** The number of permits, or infinity for a lock. */
  most: number
}

/**
 * Shared locks have this prefix. The keys of semaphores and elections begin with a byte that is not UTF-8.
 */
export const SHARED_PREFIX = 'shared/'
export const isSharedKey = (key: string): boolean => key.startsWith(SHARED_PREFIX) || key.startsWith('\ufffd')

export type Answered = 'circle' | 'queued' | 'other'
type Applied = Exclude<LockEvent, { kind: 'answer' | 'promise' }>

export class SharedLocks {
  readonly #byKey = new Map<string, QueueAndHolds>()
  readonly #changed = new Set<string>()
  #order = 0
  #now = 0
  readonly #flows = new Deadlocks(
    (key) => {
      const { holders, queue, most } = this.#of(key)
      const inForce = holders.filter(({ deadline }) => this.#now <= deadline)
      return { holders: inForce, queue, isSemaphore: most !== Number.POSITIVE_INFINITY }
    },
    () => this.#byKey.keys(),
  )
  /** How many keys of each set were granted in this entry, and how many the set wants. */
  readonly #granted = new Map<string, { count: number; readonly of: number }>()

  #of(key: string): QueueAndHolds {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const made = { holders: [], queue: [], most: Number.POSITIVE_INFINITY }
    this.#byKey.set(key, made)
    return made
  }

  /** Called before `asked` and `askedAll`. `by` is the flow of the request. */
  askedBy(id: string, by: FlowArg | undefined, wants: readonly Wanted[], now: number, is: Answered): void {
    this.#now = now
    const waitsAlready = wants.some(({ key }) => this.#of(key).queue.some((one) => one.id === id))
    if (waitsAlready) return
    const order = this.#order + 1
    const wishes = wants.map((want) => ({ ...want, order }))
    this.#flows.asked(id, by, wishes, is === 'circle', is === 'queued')
  }

  /** Called before the event of the answer. */
  asked(key: string, permits: number, of: number, owner: OwnerResult, id: string, queued: boolean): void {
    const state = this.#of(key)
    if (of > 0 && state.most === Number.POSITIVE_INFINITY) state.most = of
    const order = ++this.#order
    if (queued && !state.queue.some((one) => one.id === id))
      state.queue.push({ id, permits, order, set: undefined })
    if (!isNew(owner)) return
    this.#mayPass(key, { id, permits, order, set: undefined }, owner[7])
    this.#take(key, state, permits, owner)
  }

  /** A request for a set of locks. `owners` are the owners of the new holds. Without owners the set waits. */
  askedAll(id: string, wants: readonly Wanted[], owners: readonly OwnerResult[]): void {
    const order = ++this.#order
    const asked = wants.map(({ permits }): Waiting => ({ id, permits, order, set: wants }))
    wants.forEach(({ key }, i) => {
      const state = this.#of(key)
      const one = asked[i] as Waiting
      const owner = owners[i]
      if (owner !== undefined) this.#mayPass(key, one, owner[7])
      else if (!state.queue.some((other) => other.id === id)) state.queue.push(one)
    })
    wants.forEach(({ key, permits }, i) => {
      const owner = owners[i]
      if (owner !== undefined) this.#take(key, this.#of(key), permits, owner)
    })
  }

  /** No caller overtakes waiters, except sets that an earlier caller keeps from another key. */
  #mayPass(key: string, one: Waiting, now: number): void {
    const passed = this.#passed(key, one, now)
    if (passed !== undefined)
      throw new LawBroken('shared locks', `${one.id} got ${key} past ${passed}, who waits`)
  }

  /** Returns an earlier waiter that may not be overtaken. */
  #passed(key: string, one: Waiting, now: number): string | undefined {
    const ahead = this.#of(key).queue.filter(({ order }) => order < one.order)
    if (one.set !== undefined) return ahead[0]?.id
    return ahead.find((other, i) => i >= 4 || other.set === undefined || !this.#waitsForEarlier(other, now))
      ?.id
  }

  #waitsForEarlier({ set = [], order }: Waiting, now: number): boolean {
    return set.some(({ key, permits }) => {
      const state = this.#of(key)
      pass(state, now)
      const inTheWay = state.holders.filter((holder) => permits === 0 || holder.permits === 0)
      return inTheWay.some((one) => one.order < order) || state.queue.some((one) => one.order < order)
    })
  }

  resized(key: string, of: number): void {
    this.#of(key).most = of
    this.#changed.add(key)
  }

  downgraded(key: string, id: string): void {
    for (const holder of this.#of(key).holders) if (holder.id === id) holder.permits = 1
    this.#changed.add(key)
  }

  /** Guards with an older token are refused from now on (K64). */
  rotated(key: string, id: string, token: number): void {
    for (const holder of this.#of(key).holders) {
      if (holder.id !== id) continue
      if (token <= holder.token)
        throw new LawBroken('growing tokens', `token ${holder.token} of ${key} became ${token}`)
      holder.token = token
    }
  }

  told(event: Applied): void {
    const state = this.#of(event.key)
    this.#changed.add(event.key)
    switch (event.kind) {
      case 'ask':
      case 'renew':
        return prolong(state, event.owner)
      case 'grant': {
        const [id, , , , , , , now] = event.owner
        const one = state.queue.find((waiting) => waiting.id === id)
        if (one === undefined)
          throw new LawBroken('shared locks', `${id} was granted ${event.key}, and did not wait`)
        this.#mayPass(event.key, one, now)
        state.queue = state.queue.filter((waiting) => waiting !== one)
        this.#grantedOf(one)
        return this.#take(event.key, state, one.permits, event.owner)
      }
      case 'left':
        state.queue = state.queue.filter(({ id }) => id !== event.id)
        return
      case 'release':
        if (event.owner[6] === CODE.RELEASED) this.#end(state, event.owner[3])
        return
      case 'forced':
      case 'untouched':
        return this.#end(state, event.token)
    }
  }

  #grantedOf({ id, set }: Waiting): void {
    if (set === undefined) return
    const known = this.#granted.get(id) ?? { count: 0, of: set.length }
    known.count++
    this.#granted.set(id, known)
  }

  /** A set is granted at all of its keys or at none. It waits at all or at none. */
  #wholeSets(): void {
    for (const [id, { count, of }] of this.#granted)
      if (count !== of) throw new LawBroken('sets of locks', `${id} was granted ${count} of ${of} keys`)
    this.#granted.clear()
    for (const [key, { queue }] of this.#byKey)
      for (const { id, set = [] } of queue)
        if (set.some((other) => !this.#of(other.key).queue.some((one) => one.id === id)))
          throw new LawBroken('sets of locks', `${id} waits for ${key}, and not for all keys of its set`)
  }

  #end(state: QueueAndHolds, token: number): void {
    state.holders = state.holders.filter((holder) => holder.token !== token)
  }

  #take(
    key: string,
    state: QueueAndHolds,
    permits: number,
    [id, deadline, , token, , , , now]: OwnerResult,
  ): void {
    pass(state, now)
    if (!fits(state, permits)) {
      const held = state.holders.map((one) => `${one.id} ${one.permits} until ${one.deadline}`)
      throw new LawBroken(
        'shared locks',
        `${id} got ${permits} of ${key} at ${now} beside ${held.join(', ')}`,
      )
    }
    state.holders.push({ id, token, permits, deadline, order: ++this.#order })
  }

  entryOver(time: number): void {
    for (const [key, state] of this.#byKey) {
      const before = state.holders.length
      pass(state, time)
      if (before === state.holders.length && !this.#changed.has(key)) continue
      const idle = state.queue.find((one) => this.#isServable(key, one, time))
      if (idle !== undefined)
        throw new LawBroken('shared locks', `${idle.id} waits for ${key}, though it fits`)
    }
    this.#changed.clear()
    this.#wholeSets()
  }

  #isServable(key: string, one: Waiting, now: number): boolean {
    const wants = one.set ?? [{ key, permits: one.permits }]
    return wants.every((want) => {
      const state = this.#of(want.key)
      pass(state, now)
      return fits(state, want.permits) && this.#passed(want.key, one, now) === undefined
    })
  }

  guarded(key: string, token: number, shared: boolean, time: number): void {
    const holder = this.#of(key).holders.find((one) => one.token === token && time <= one.deadline)
    if (holder === undefined || (holder.permits > 0 && !shared))
      throw new LawBroken('fenced writes', `a write with token ${token} of ${key} at ${time}`)
  }
}

const isNew = (owner: OwnerResult): boolean => owner[6] === CODE.FIRST_TIME || owner[6] === CODE.NEW_ACQUIRE

/** A hold is over at the first entry after its deadline. */
function pass(state: QueueAndHolds, time: number): void {
  state.holders = state.holders.filter(({ deadline }) => time <= deadline)
}

function fits({ holders, most }: QueueAndHolds, permits: number): boolean {
  if (permits === 0) return holders.length === 0
  if (holders.some((holder) => holder.permits === 0)) return false
  return holders.reduce((sum, holder) => sum + holder.permits, permits) <= most
}

function prolong({ holders }: QueueAndHolds, owner: OwnerResult): void {
  if (owner[6] !== CODE.KEEP_LEASE && owner[6] !== CODE.REENTRANT) return
  for (const holder of holders) if (holder.token === owner[3]) holder.deadline = owner[1]
}
