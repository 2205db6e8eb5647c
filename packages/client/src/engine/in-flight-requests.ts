// Rule: the requests on one link that have no answer yet, by id.
//
// This class does not use a Map. V8 replaces the table of a Map every few hundred calls if an entry is added
// and deleted with each call. Once a replaced table is in the old generation, a collection of young objects
// can no longer free the later tables and their calls.

/**
 * How many slots the array has. The request with the id n uses the slot n modulo this number. Ids grow by one
 * or a little more, so two requests rarely need the same slot.
 */
const PLACES = 1024

export class InFlightRequests<Call> {
  readonly #ids: number[] = Array.from({ length: PLACES }, () => 0)
  readonly #calls: (Call | undefined)[] = Array.from({ length: PLACES })
  /** Requests that stayed unanswered until a later id needed their slot. */
  readonly #late = new Map<number, Call>()
  #recent = 0

  get size(): number {
    return this.#recent + this.#late.size
  }

  get(id: number): Call | undefined {
    const place = id % PLACES
    return this.#ids[place] === id ? this.#calls[place] : this.#late.get(id)
  }

  /** The caller must add each id only once. */
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

  all(): Call[] {
    const found: [id: number, call: Call][] = [...this.#late]
    this.#calls.forEach((call, place) => {
      if (call !== undefined) found.push([this.#ids[place] as number, call])
    })
    return found.sort(([a], [b]) => a - b).map(([, call]) => call)
  }

  takeAll(): Call[] {
    const all = this.all()
    this.#calls.fill(undefined)
    this.#late.clear()
    this.#recent = 0
    return all
  }
}
