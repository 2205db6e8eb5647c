// Driver: searches for the first row in which this member differs from another one. Both members have
// kept a view of their state after the same entry, and the search compares these views. The search asks for
// checksums of a thousand rows at a time, then of thirty rows of the thousand, and then of single rows. So
// the search needs little memory, and members that agree exchange nothing. If a member cannot keep its view
// any longer, its answer reports this, and the next comparison tries again.

import { elementAt, type Clock, type Random, type Timer } from '@latchkey/base'
import { type StateDigest, nameOfRow, type RowsDigest, type SpaceName } from '@latchkey/kv'
import { type MemberMessage, firstId } from './member-messages.js'

type Question = Extract<MemberMessage, { kind: 'compare' }>
type Answer = Extract<MemberMessage, { kind: 'compared' }>

/** A row that differs between the two members. */
export interface Difference {
  readonly space: SpaceName
  readonly key: string
  readonly what: 'it is only here' | 'it is only there' | 'it is another one there'
}

interface StateSearchPorts {
  readonly clock: Clock
  /** Gives another random sequence at each start of the process. */
  readonly random: Random
  /** Returns the stored state after that entry, or undefined if the state has changed since then. */
  readonly freeze: (index: number) => Promise<StateDigest | undefined>
  readonly send: (to: string, message: Question | Answer) => void
  readonly found: (from: string, index: number, difference: Difference) => void
}

/** How many rows one request covers. Each step of the search covers fewer rows, and the last step one row. */
const ROWS = [1_000, 30, 1] as const
/** In ms. A kept state is released if no request has come for this time. */
const IDLE_MS = 15_000
const PATIENCE_MS = 10_000

interface Held {
  readonly index: number
  readonly state: Promise<StateDigest | undefined>
  timer: Timer | undefined
}
interface Waiting {
  readonly from: string
  readonly tell: (rows: Answer['rows']) => void
}

export class StateSearch {
  readonly #ports: StateSearchPorts
  readonly #waiting = new Map<number, Waiting>()
  readonly #searching = new Set<string>()
  #held: Held | undefined
  /**
   * The first id is another number in each process, because a request of a former process may be answered in
   * this process (C5).
   */
  #lastId: number
  #closed = false

  constructor(ports: StateSearchPorts) {
    this.#ports = ports
    this.#lastId = firstId(ports.random)
  }

  /** Keeps the state after that entry, if this state is still the present one and no other state is kept. */
  hold(index: number): Promise<StateDigest | undefined> {
    if (this.#closed) return Promise.resolve(undefined)
    this.#held ??= { index, state: this.#freeze(index), timer: undefined }
    if (this.#held.index !== index) return Promise.resolve(undefined)
    this.#letGoLater(this.#held)
    return this.#held.state
  }

  async #freeze(index: number): Promise<StateDigest | undefined> {
    const state = await this.#ports.freeze(index).catch(() => undefined)
    // The member has stopped, or its state was replaced or has changed. The next comparison tries again.
    if (state === undefined && this.#held?.index === index) this.#letGo()
    return state
  }

  #letGoLater(held: Held): void {
    held.timer?.cancel()
    held.timer = this.#ports.clock.after(IDLE_MS, () => this.#letGo(), { ref: false })
  }

  #letGo(): void {
    const held = this.#held
    this.#held = undefined
    held?.timer?.cancel()
    // A kept state that cannot be closed is not used any more either, so the error is ignored.
    held?.state.then((state) => state?.close()).catch(() => {})
  }

  /**
   * Searches in the given spaces. Only one search for each member runs at a time. Resolves to true if each of
   * the spaces was searched.
   */
  async search(from: string, index: number, spaces: readonly SpaceName[]): Promise<boolean> {
    if (this.#searching.has(from)) return false
    this.#searching.add(from)
    try {
      const own = await this.hold(index)
      for (const space of spaces) {
        if (own === undefined || !(await this.#searchSpace(own, from, index, space))) return false
      }
      return true
    } catch {
      return false
    } finally {
      this.#searching.delete(from)
    }
  }

  async #searchSpace(own: StateDigest, from: string, index: number, space: SpaceName): Promise<boolean> {
    let after: Uint8Array | undefined
    for (let level = 0; ; ) {
      const theirs = await this.#ask(from, { index, space, after, rows: elementAt(ROWS, level) })
      if (theirs === undefined) return false
      // The other member has no more rows, so all remaining rows of this member differ.
      const ours = await own.digest(space, after, theirs.last)
      void this.hold(index)
      if (ours.sum === theirs.sum) {
        if (theirs.last === undefined) return true
        after = theirs.last
      } else if (level < ROWS.length - 1) level++
      else {
        this.#ports.found(from, index, differenceOf(space, ours.first, theirs.last))
        return true
      }
    }
  }

  #ask(to: string, question: Omit<Question, 'kind' | 'id'>): Promise<Answer['rows']> {
    const id = ++this.#lastId
    return new Promise((resolve) => {
      const timer = this.#ports.clock.after(PATIENCE_MS, () => tell(undefined), { ref: false })
      const tell = (rows: Answer['rows']) => {
        timer.cancel()
        this.#waiting.delete(id)
        resolve(rows)
      }
      this.#waiting.set(id, { from: to, tell })
      this.#ports.send(to, { kind: 'compare', id, ...question })
    })
  }

  async asked(from: string, { id, index, space, after, rows }: Question): Promise<void> {
    let digest: RowsDigest | undefined
    try {
      const state = await this.hold(index)
      digest = await state?.digest(space, after, undefined, Math.min(rows, ROWS[0]))
    } catch {
      // The view was closed in the meantime. The answer is the same as if the state had not been kept.
    }
    const told = digest && { sum: digest.sum, last: digest.last }
    if (!this.#closed) this.#ports.send(from, { kind: 'compared', id, rows: told })
  }

  answered(from: string, { id, rows }: Answer): void {
    const waiting = this.#waiting.get(id)
    if (waiting?.from === from) waiting.tell(rows)
  }

  close(): void {
    this.#closed = true
    for (const { tell } of [...this.#waiting.values()]) tell(undefined)
    this.#letGo()
  }
}

/** Returns the number of equal rows before the first row that differs. */
function differenceOf(
  space: SpaceName,
  here: Uint8Array | undefined,
  there: Uint8Array | undefined,
): Difference {
  const order = here === undefined ? 1 : there === undefined ? -1 : Buffer.compare(here, there)
  const key = nameOfRow((order <= 0 ? here : there) ?? new Uint8Array(0))
  return {
    space,
    key,
    what: order === 0 ? 'it is another one there' : order < 0 ? 'it is only here' : 'it is only there',
  }
}
