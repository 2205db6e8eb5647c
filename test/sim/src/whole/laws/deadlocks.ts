// Rule: finds circles of flows in the changes that the log made. The code shares nothing with the checked
// rule. One search finds every possible wait, and the other search finds only certain waits.
//
// Laws
// - If a caller gets ERR_DEADLOCK, it possibly waits, over some way, for a hold of its own flow (K82).
// - No caller certainly waits for itself: inside a withLock, through exclusive locks (K83).

import type { FlowArg } from '@latchkey/protocol'
import { LawBroken } from '../../laws/verdict.js'

export interface FlowHolder {
  readonly id: string
  readonly permits: number
}
export interface FlowWaiter extends FlowHolder {
  readonly order: number
  readonly set: readonly { readonly key: string; readonly permits: number }[] | undefined
}
export interface FlowPlace {
  readonly holders: readonly FlowHolder[]
  readonly queue: readonly FlowWaiter[]
  readonly isSemaphore: boolean
}

interface Wish {
  readonly key: string
  readonly permits: number
  readonly order: number
}

const NONE: FlowArg = [null, []]

export class Deadlocks {
  readonly #places: (key: string) => FlowPlace
  readonly #keys: () => Iterable<string>
  readonly #flows = new Map<string, FlowArg>()

  constructor(places: (key: string) => FlowPlace, keys: () => Iterable<string>) {
    this.#places = places
    this.#keys = keys
  }

  /** Called before the request joins a queue. */
  asked(id: string, by: FlowArg | undefined, wishes: readonly Wish[], told: boolean, waits: boolean): void {
    if (by === undefined) return
    this.#flows.set(id, by)
    if (told && !this.#leadsBack(by, wishes, false))
      throw new LawBroken('circles of flows', `${id} was told of a circle, and none is there`)
    if (waits && wishes.length === 1 && this.#leadsBack([null, by[1]], wishes, true))
      throw new LawBroken('circles of flows', `${id} waits for itself at ${wishes[0]?.key}`)
  }

  #leadsBack([name, within]: FlowArg, wishes: readonly Wish[], certain: boolean): boolean {
    const open = [...wishes]
    const seen = new Set<string>()
    for (const wish of open) {
      const { key, permits, order } = wish
      const { holders, queue, isSemaphore } = this.#places(key)
      if (certain && isSemaphore) continue
      const isDirect = wishes.includes(wish)
      for (const hold of holders) {
        if (!isSemaphore && permits > 0 && hold.permits > 0) continue
        const [flow] = this.#flows.get(hold.id) ?? NONE
        const isNamed = !certain && flow !== null && flow === name
        if (isNamed || (within.includes(hold.id) && !isDirect)) return true
        open.push(...this.#waitersOf(hold.id, flow, certain, seen))
      }
      for (const ahead of queue) {
        if (ahead.order >= order || (certain && ahead.set !== undefined)) continue
        if (certain && permits > 0 && ahead.permits > 0) continue
        open.push(...wishesOf(key, ahead, seen))
      }
    }
    return false
  }

  /**
   * Returns the waits that delay the release of a hold: waits inside the hold, and other waits of its flow.
   */
  #waitersOf(id: string, flow: string | null, certain: boolean, seen: Set<string>): Wish[] {
    return [...this.#keys()].flatMap((key) =>
      this.#places(key).queue.flatMap((waiter) => {
        const [name, within] = this.#flows.get(waiter.id) ?? NONE
        const isOfHold = within.includes(id) || (!certain && name !== null && name === flow)
        return isOfHold && !(certain && waiter.set !== undefined) ? wishesOf(key, waiter, seen) : []
      }),
    )
  }
}

function wishesOf(key: string, { id, permits, order, set }: FlowWaiter, seen: Set<string>): Wish[] {
  if (seen.has(id)) return []
  seen.add(id)
  return (set ?? [{ key, permits }]).map((one) => ({ ...one, order }))
}
