// Rule: which seats are told of which session's grants. A seat speaks for one session at a time, the last it named. Ids of sessions
// are easy to guess: so naming one takes nothing away from another seat that named it too, and needs the right to write.

export class Attached<Seat> {
  readonly #bySession = new Map<number, Set<Seat>>()
  readonly #bySeat = new Map<Seat, number>()

  attach(session: number, seat: Seat): void {
    this.leave(seat)
    this.#bySeat.set(seat, session)
    const seats = this.#bySession.get(session) ?? new Set()
    this.#bySession.set(session, seats.add(seat))
  }

  leave(seat: Seat): void {
    const session = this.#bySeat.get(seat)
    if (session === undefined) return
    this.#bySeat.delete(seat)
    const seats = this.#bySession.get(session)
    seats?.delete(seat)
    if (seats?.size === 0) this.#bySession.delete(session)
  }

  of(session: number): Iterable<Seat> {
    return this.#bySession.get(session) ?? []
  }

  get sessions(): number {
    return this.#bySession.size
  }
}
