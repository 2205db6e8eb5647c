// Rule: a model of locks, shared locks, semaphores, elections and lock sets in plain arrays, as docs/locks.md
// and docs/semaphores.md describe them. After each change, the model looks at all waiters in the order of
// their arrival.

/** The keys that a caller wants. 0 permits mean an exclusive hold. */
export type Wants = readonly (readonly [key: string, permits: number])[]

interface Waiting {
  readonly who: string
  readonly wants: Wants
  readonly isSet: boolean
  readonly lease: number
  readonly arrival: number
  /** In ms. The wait is over when the time is later than this. */
  readonly until: number
}

export interface Held {
  readonly key: string
  readonly who: string
  permits: number
  readonly arrival: number
  until: number
  /**
   * True if the model only guesses the deadline. If a hold began when another hold expired, the model does
   * not know the exact time of the expiry.
   */
  isGuess: boolean
}

export class HeldModel {
  now = 0
  held: Held[] = []
  line: Waiting[] = []
  /** How many permits each semaphore has. Keys that are missing here have no limit. */
  readonly sizes = new Map<string, number>()
  #arrivals = 0

  #fits(key: string, permits: number): boolean {
    const there = this.held.filter((hold) => hold.key === key)
    if (permits === 0) return there.length === 0
    if (there.some((hold) => hold.permits === 0)) return false
    return there.reduce((sum, hold) => sum + hold.permits, permits) <= (this.sizes.get(key) ?? Infinity)
  }

  #waitsForEarlier({ wants, arrival }: Waiting): boolean {
    return wants.some(([key, permits]) => {
      const blocks = this.held.filter((hold) => hold.key === key && (permits === 0 || hold.permits === 0))
      return this.#before(key, arrival).length > 0 || blocks.some((hold) => hold.arrival < arrival)
    })
  }

  #before(key: string, arrival: number): Waiting[] {
    return this.line.filter((one) => one.arrival < arrival && one.wants.some(([of]) => of === key))
  }

  #canServe(wants: Wants, isSet: boolean, arrival: number): boolean {
    return wants.every(([key, permits]) => {
      if (!this.#fits(key, permits)) return false
      const ahead = this.#before(key, arrival)
      if (isSet) return ahead.length === 0
      return ahead.length <= 4 && ahead.every((set) => set.isSet && this.#waitsForEarlier(set))
    })
  }

  #take(who: string, wants: Wants, lease: number, isGuess: boolean): void {
    const arrival = ++this.#arrivals
    for (const [key, permits] of wants)
      this.held.push({ key, who, permits, arrival, until: this.now + lease, isGuess })
  }

  /** Grants holds to waiters, first at the key that has changed. */
  settle(key?: string): void {
    for (;;) {
      const there = this.line.filter(({ wants }) => key === undefined || wants.some(([of]) => of === key))
      const next = there.find(({ wants, isSet, arrival }) => this.#canServe(wants, isSet, arrival))
      if (next === undefined) return
      this.line = this.line.filter((one) => one !== next)
      this.#take(next.who, next.wants, next.lease, true)
    }
  }

  /** Asks for holds. `wait` is in ms. Undefined means one attempt without a wait. */
  ask(who: string, wants: Wants, isSet: boolean, lease: number, wait: number | undefined): void {
    const arrival = ++this.#arrivals
    if (this.#canServe(wants, isSet, arrival)) this.#take(who, wants, lease, false)
    else if (wait !== undefined) this.line.push({ who, wants, isSet, arrival, lease, until: this.now + wait })
  }

  /** Releases all holds of the caller and removes the caller from all queues. */
  leave(who: string): void {
    const left = [
      ...this.held,
      ...this.line.flatMap((one) => one.wants.map(([key]) => ({ key, who: one.who }))),
    ]
    this.line = this.line.filter((one) => one.who !== who)
    this.held = this.held.filter((one) => one.who !== who)
    for (const key of new Set(left.filter((one) => one.who === who).map(({ key }) => key))) this.settle(key)
    // When a waiting set is granted, it no longer blocks other waiters at its other keys.
    this.settle()
  }

  downgrade(held: Held): void {
    held.permits = 1
    this.settle(held.key)
    this.settle()
  }

  resize(key: string, of: number): void {
    this.sizes.set(key, of)
    this.settle(key)
  }

  /** Returns the times at which holds and waits end, in order. */
  ends(): number[] {
    const all = [...this.held, ...this.line].map(({ until }) => until)
    return [...new Set(all)].filter((until) => until < Infinity).sort((a, b) => a - b)
  }

  advance(to: number): void {
    for (let [next] = this.ends(); next !== undefined && next < to; [next] = this.ends()) {
      this.now = next
      const over = this.held.filter(({ until }) => until === next)
      this.line = this.line.filter(({ until }) => until !== next)
      this.held = this.held.filter((hold) => !over.includes(hold))
      for (const { key } of over) this.settle(key)
      this.settle()
    }
    this.now = to
  }

  queueOf(key: string): string[] {
    return this.line.filter(({ wants }) => wants.some(([of]) => of === key)).map(({ who }) => who)
  }
}
