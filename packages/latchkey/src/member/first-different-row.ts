// Driver: finds the first row in which the states of two members differ. Both members have kept a view of
// their state after the same entry. The search compares checksums of a thousand rows at a time, then of
// thirty rows, and then of single rows. If one of the two members has closed its view, the search ends. The
// next comparison of hashes starts a new search.

import { elementAt, type Clock, type Random, type Timer } from '@latchkey/base'
import { type StateDigest, nameOfRow, type RowsDigest, type SpaceName } from '@latchkey/kv'
import { type MemberMessage, firstId } from './non-raft-member-messages.js'

type Question = Extract<MemberMessage, { kind: 'compare' }>
type Answer = Extract<MemberMessage, { kind: 'compared' }>

interface Difference {
  readonly space: SpaceName
  readonly key: string
  readonly what: 'it is only here' | 'it is only there' | 'it is another one there'
}

interface RowSearchPorts {
  readonly clock: Clock
  /**
   * The numbers must differ after each start of the process, so that no late answer matches a new request
   * (C5).
   */
  readonly random: Random
  /**
   * Makes a view of the state after the entry `index`. Undefined if the state has changed since that entry.
   */
  readonly freeze: (index: number) => Promise<StateDigest | undefined>
  readonly send: (to: string, message: Question | Answer) => void
  readonly found: (from: string, index: number, difference: Difference) => void
}

const ROWS = [1_000, 30, 1] as const
/** In ms. A view without requests is closed after this time. */
const IDLE_MS = 15_000
/** In ms. If one request is not answered within this time, the search ends. */
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

export class DifferentRowSearch {
  readonly #ports: RowSearchPorts
  readonly #waiting = new Map<number, Waiting>()
  readonly #searching = new Set<string>()
  #held: Held | undefined
  /**
   * The ids of requests begin at another number in each process. Otherwise, after a restart of this member, a
   * late answer to an earlier request could complete a new request (C5).
   */
  #lastId: number
  #closed = false

  constructor(ports: RowSearchPorts) {
    this.#ports = ports
    this.#lastId = firstId(ports.random)
  }

  /**
   * Keeps a view of the state after the entry `index`. Resolves to undefined if the state has changed since
   * that entry, or if another view is kept.
   */
  hold(index: number): Promise<StateDigest | undefined> {
    if (this.#closed) return Promise.resolve(undefined)
    this.#held ??= { index, state: this.#freeze(index), timer: undefined }
    if (this.#held.index !== index) return Promise.resolve(undefined)
    this.#closeViewLater(this.#held)
    return this.#held.state
  }

  async #freeze(index: number): Promise<StateDigest | undefined> {
    const state = await this.#ports.freeze(index).catch(() => undefined)
    // `state` is undefined if the state has changed since the entry, or if the member has stopped. The next
    // comparison of hashes tries again.
    if (state === undefined && this.#held?.index === index) this.#closeView()
    return state
  }

  #closeViewLater(held: Held): void {
    held.timer?.cancel()
    held.timer = this.#ports.clock.after(IDLE_MS, () => this.#closeView(), { ref: false })
  }

  #closeView(): void {
    const held = this.#held
    this.#held = undefined
    held?.timer?.cancel()
    // Nobody uses the view any more, so an error of close() does not matter.
    held?.state.then((state) => state?.close()).catch(() => {})
  }

  /**
   * Resolves to false if the search stopped before its end, or if a search with the same member already runs.
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
      // If the other member has no rows after the key `after`, `theirs.last` is undefined, and the digest
      // covers all remaining rows of this member.
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
      // The view was closed during the request. The answer says that this member has no view.
    }
    const answer = digest && { sum: digest.sum, last: digest.last }
    if (!this.#closed) this.#ports.send(from, { kind: 'compared', id, rows: answer })
  }

  answered(from: string, { id, rows }: Answer): void {
    const waiting = this.#waiting.get(id)
    if (waiting?.from === from) waiting.tell(rows)
  }

  close(): void {
    this.#closed = true
    for (const { tell } of [...this.#waiting.values()]) tell(undefined)
    this.#closeView()
  }
}

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
