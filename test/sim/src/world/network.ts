// Driver: the simulated network. Loses, delays, doubles and reorders; links can be cut one way or clogged.

import type { Random } from '@latchkey/base'
import type { EventHeap } from '@latchkey/raft/memory'

export interface NetworkOptions {
  /** Microseconds every message needs. */
  readonly base: number
  /** Microseconds of a long-tailed extra delay. */
  readonly tail: number
  readonly loss: number
  readonly duplicate: number
  /** Microseconds after which a duplicate may still arrive. */
  readonly late: number
  /** As over one connection: no message overtakes another of its link. */
  readonly inOrder: boolean
}

export interface Delivery {
  readonly from: number
  readonly to: number
  readonly message: unknown
}

interface Link {
  /** Cuts may overlap: the link works when none is left. */
  cuts: number
  clogs: number
  held: Delivery[]
  lastArrival: number
}

/** What a directed scenario does with a message; 'pass' leaves it to the options. */
export type Verdict = 'pass' | 'drop' | 'hold'

export class Network {
  readonly #heap: EventHeap
  readonly #now: () => number
  readonly #random: Random
  readonly #deliver: (delivery: Delivery) => void
  readonly #links: Link[][] = []
  #options: NetworkOptions
  /** For directed scenarios only. */
  filter: ((delivery: Delivery) => Verdict) | undefined
  readonly held: Delivery[] = []
  sent = 0
  lost = 0
  #healed = false

  constructor(
    heap: EventHeap,
    now: () => number,
    random: Random,
    options: NetworkOptions,
    deliver: (delivery: Delivery) => void,
  ) {
    this.#heap = heap
    this.#now = now
    this.#random = random
    this.#options = options
    this.#deliver = deliver
  }

  get options(): NetworkOptions {
    return this.#options
  }

  set options(options: NetworkOptions) {
    this.#options = options
  }

  send(from: number, to: number, message: unknown): void {
    this.sent++
    const delivery: Delivery = { from, to, message }
    const verdict = this.filter === undefined ? 'pass' : this.filter(delivery)
    if (verdict === 'drop') return
    if (verdict === 'hold') {
      this.held.push(delivery)
      return
    }
    this.#transmit(delivery)
  }

  /** Lets messages that a scenario held go on, in the order in which they were sent. */
  release(which: (delivery: Delivery) => boolean): number {
    const free = this.held.filter(which)
    const kept = this.held.filter((delivery) => !which(delivery))
    this.held.splice(0, this.held.length, ...kept)
    for (const delivery of free) this.#transmit(delivery)
    return free.length
  }

  cut(from: number, to: number): void {
    this.#link(from, to).cuts++
  }

  mend(from: number, to: number): void {
    const link = this.#link(from, to)
    if (link.cuts > 0) link.cuts--
  }

  clog(from: number, to: number): void {
    this.#link(from, to).clogs++
  }

  unclog(from: number, to: number): void {
    const link = this.#link(from, to)
    if (link.clogs > 0) link.clogs--
    if (link.clogs > 0) return
    for (const delivery of link.held.splice(0)) this.#schedule(link, delivery, 0)
  }

  /**
   * No cut, no clog, no loss any more; what was held arrives now. Doubles that are still on their way are
   * dropped.
   */
  heal(): void {
    this.#healed = true
    for (const row of this.#links) {
      for (const link of row ?? []) {
        if (link === undefined) continue
        link.cuts = 0
        link.clogs = 0
        for (const delivery of link.held.splice(0)) this.#schedule(link, delivery, 0)
      }
    }
    this.#options = { ...this.#options, loss: 0, duplicate: 0 }
  }

  isCut(from: number, to: number): boolean {
    return this.#link(from, to).cuts > 0
  }

  #transmit(delivery: Delivery): void {
    const { from, to } = delivery
    const link = this.#link(from, to)
    const options = this.#options
    if (link.cuts > 0 || (options.loss > 0 && this.#random.chance(options.loss))) {
      this.lost++
      return
    }
    if (link.clogs > 0) {
      link.held.push(delivery)
      return
    }
    this.#schedule(link, delivery, this.#delay())
    if (options.duplicate > 0 && this.#random.chance(options.duplicate)) {
      const late = Math.floor(this.#random.float() ** 3 * options.late)
      this.#heap.push(this.#now() + this.#delay() + late, this.#arriveAgain, delivery)
    }
  }

  #schedule(link: Link, delivery: Delivery, delay: number): void {
    let at = this.#now() + delay
    if (this.#options.inOrder) at = link.lastArrival = Math.max(at, link.lastArrival)
    this.#heap.push(at, this.#arrive, delivery)
  }

  /** A cut also loses what is on its way. */
  #arrive = (delivery: Delivery): void => {
    if (this.#link(delivery.from, delivery.to).cuts > 0) this.lost++
    else this.#deliver(delivery)
  }

  #arriveAgain = (delivery: Delivery): void => {
    if (this.#healed) this.lost++
    else this.#arrive(delivery)
  }

  /**
   * A power of a uniform number has a long tail, without a logarithm whose last bits differ between machines.
   */
  #delay(): number {
    const { base, tail } = this.#options
    if (tail === 0) return base
    const u = this.#random.float()
    return base + Math.floor(u * u * u * u * tail)
  }

  #link(from: number, to: number): Link {
    let row = this.#links[from]
    if (row === undefined) row = this.#links[from] = []
    let link = row[to]
    if (link === undefined) link = row[to] = { cuts: 0, clogs: 0, held: [], lastArrival: 0 }
    return link
  }
}
