// Rule: linearizable reads. Reads that arrive together share one round of the core: the leader notes its
// commit index, and a majority of the members confirms that this leader still leads. A read is answered once
// this member has applied the log up to that index (R4). A read that arrives during a round waits for the
// next round (R5).

export type ReadOutcome =
  /** The read sees everything up to `index`. `time` is the leader's cluster time (CT5). */
  { readonly ok: true; readonly index: number; readonly time: number } | { readonly ok: false }
export type ReadDone = (outcome: ReadOutcome) => void

interface Confirmed {
  readonly index: number
  readonly time: number
  readonly callers: readonly ReadDone[]
}

export class Reads {
  #gathered: ReadDone[] = []
  #rounds = new Map<number, readonly ReadDone[]>()
  #confirmed: Confirmed[] = []
  #lastContext = 0

  add(done: ReadDone): void {
    this.#gathered.push(done)
  }

  get gathered(): number {
    return this.#gathered.length
  }

  /**
   * Starts a round for all waiting reads. Returns the round's context, a number that the core's answer
   * repeats. Each context is used once, so a late answer confirms no other round (R3).
   */
  startRound(): number {
    this.#lastContext++
    this.#rounds.set(this.#lastContext, this.#gathered)
    this.#gathered = []
    return this.#lastContext
  }

  /**
   * Called when the core has ended a round. If the messages of a round are lost, the core ends the round
   * after an election timeout. If `index` is undefined, no leader has confirmed the round, and the callers
   * try again.
   */
  confirm(context: number, index: number | undefined, time: number): void {
    const callers = this.#rounds.get(context)
    if (callers === undefined) return
    this.#rounds.delete(context)
    if (index === undefined) return fail(callers)
    this.#confirmed.push({ index, time, callers })
  }

  serve(applied: number): void {
    if (this.#confirmed.length === 0) return
    const ready = this.#confirmed.filter((one) => one.index <= applied)
    if (ready.length === 0) return
    this.#confirmed = this.#confirmed.filter((one) => one.index > applied)
    for (const { callers, index, time } of ready) for (const done of callers) done({ ok: true, index, time })
  }

  abandon(): void {
    const callers = [
      ...this.#rounds.values(),
      ...this.#confirmed.map((one) => one.callers),
      this.#gathered,
    ].flat()
    this.#rounds.clear()
    this.#confirmed = []
    this.#gathered = []
    fail(callers)
  }
}

function fail(callers: readonly ReadDone[]): void {
  for (const done of callers) done({ ok: false })
}
