// Rule: mirrors (C62). Each shown state is the state of the store at the revision that the mirror names. A
// mirror never goes back to an older state. At the end, each mirror shows the final state.

import { LawBroken } from '../../laws/verdict.js'
import type { Reader } from './sequences-and-watches.js'

export type Rows = ReadonlyMap<string, string>

const textOf = (rows: Rows): string => JSON.stringify([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)))

/**
 * The states of the store at the revisions at which a member stopped. If a member applied two revisions in
 * one step, the first state is not known.
 */
export class StoreStates {
  readonly #byRevision = new Map<number, Rows>()

  has(revision: number): boolean {
    return this.#byRevision.has(revision)
  }

  applied(revision: number, rows: Rows): void {
    this.#byRevision.set(revision, rows)
  }

  /** Returns undefined if the state is not known. */
  below(prefix: string, revision: number): string | undefined {
    const rows = this.#byRevision.get(revision)
    return rows && textOf(new Map([...rows].filter(([key]) => key.startsWith(prefix))))
  }
}

export class MirrorHistory {
  readonly name: string
  readonly #prefix: string
  readonly #reader: Reader
  #revision = 0
  #text = ''
  #rows: Rows = new Map()
  #refused = false
  readonly #shown = new Map<number, string>()

  constructor(name: string, prefix: string, reader: Reader) {
    this.name = name
    this.#prefix = prefix
    this.#reader = reader
  }

  shows(revision: number, rows: Rows): void {
    const text = textOf(rows)
    this.#refused = false
    if (revision < this.#revision) this.#broken(`revision ${revision} after ${this.#revision}`)
    if (revision === this.#revision && this.#text !== '' && text !== this.#text)
      this.#broken(`two states at revision ${revision}: ${this.#text} and ${text}`)
    this.#revision = revision
    this.#text = text
    this.#rows = new Map(rows)
    this.#shown.set(revision, text)
  }

  refused(): void {
    this.#refused = true
  }

  get isOver(): boolean {
    if (this.#reader.died() || this.#reader.untold()) return true
    return this.#reader.stranded() && this.#refused
  }

  endsWith(finals: ReadonlyMap<string, string | undefined>): boolean {
    return [...finals].every(([key, value]) => !key.startsWith(this.#prefix) || this.#rows.get(key) === value)
  }

  judge(states: StoreStates): void {
    for (const [revision, text] of this.#shown) {
      const known = states.below(this.#prefix, revision)
      if (known !== undefined && known !== text)
        this.#broken(`at revision ${revision} it shows ${text}, and the store had ${known}`)
    }
  }

  #broken(message: string): never {
    throw new LawBroken('mirrors', `${this.name}: ${message}`)
  }
}
