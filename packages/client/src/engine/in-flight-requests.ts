// Rule: what was asked on one link and not answered, by id.
//
// No Map: the table of one that is filled and emptied with each call is replaced every few hundred calls, and one such table that has
// grown old keeps all that came after it, with the calls they held, from being collected while they are young.

/** Ids grow by one or a little more: so many in a row have places of their own. */
const PLACES = 1024

export class InFlightRequests<Call> {
  readonly #ids: number[] = Array.from({ length: PLACES }, () => 0)
  readonly #calls: (Call | undefined)[] = Array.from({ length: PLACES })
  /** Unanswered for so long that a later one came to their place. */
  readonly #late = new Map<number, Call>()
  #recent = 0

  get size(): number {
    return this.#recent + this.#late.size
  }

  get(id: number): Call | undefined {
    const place = id % PLACES
    return this.#ids[place] === id ? this.#calls[place] : this.#late.get(id)
  }

  /** `id` was never added before. */
  add(id: number, call: Call): void {
    const place = id % PLACES
    const before = this.#calls[place]
    if (before === undefined) this.#recent++
    else this.#late.set(this.#ids[place] as number, before)
    this.#ids[place] = id
    this.#calls[place] = call
  }

  delete(id: number): void {
    const place = id % PLACES
    if (this.#ids[place] !== id) this.#late.delete(id)
    else if (this.#calls[place] !== undefined) {
      this.#calls[place] = undefined
      this.#recent--
    }
  }

  /** In the order of their ids. */
  all(): Call[] {
    const found: [id: number, call: Call][] = [...this.#late]
    this.#calls.forEach((call, place) => {
      if (call !== undefined) found.push([this.#ids[place] as number, call])
    })
    return found.sort(([a], [b]) => a - b).map(([, call]) => call)
  }

  /** All of them, in that order; it is empty afterwards. */
  takeAll(): Call[] {
    const all = this.all()
    this.#calls.fill(undefined)
    this.#late.clear()
    this.#recent = 0
    return all
  }
}
