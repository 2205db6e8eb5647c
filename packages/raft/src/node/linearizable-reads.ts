// Rule: linearizable reads. Reads that arrive together share one round of the core. A read is served once
// this member has applied the log up to the index of its round (R4). A read that arrives while a round is
// under way waits for the next round (R5).

export type ReadOutcome =
  /**
   * The result of a read. The read shows everything up to `index`. `time` is the leader's cluster time (CT5).
   */
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

  get pending(): number {
    return this.#rounds.size
  }

  /**
   * Starts a round for all waiting reads, and returns its context. A context is never used again, so that no
   * late answer confirms another round (R3).
   */
  startRound(): number {
    this.#lastContext++
    this.#rounds.set(this.#lastContext, this.#gathered)
    this.#gathered = []
    return this.#lastContext
  }

  /**
   * Called when the core has ended a round. The core ends every round: after an election timeout, it also ends
   * a round whose message was lost. An undefined `index` means that the round cannot be confirmed. Then the
   * callers of the round ask again.
   */
  confirm(context: number, index: number | undefined, time: number): void {
    const callers = this.#rounds.get(context)
    if (callers === undefined) return
    this.#rounds.delete(context)
    if (index === undefined) return fail(callers)
    this.#confirmed.push({ index, time, callers })
  }

  /** Serves the reads whose index is at most `applied`. */
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
