// Rule: each acknowledged change exists once, in the final state and in every watch.

import { LawBroken } from '../../laws/verdict.js'

/** The numbers of a sequence: no two answers overlap, and a later call gets later numbers. */
export class Sequences {
  readonly #given: {
    readonly key: string
    readonly start: number
    readonly end: number
    readonly call: number
    readonly done: number
  }[] = []

  given(key: string, start: number, end: number, call: number, done: number): void {
    this.#given.push({ key, start, end, call, done })
  }

  judge(): void {
    const sorted = [...this.#given].sort((a, b) =>
      a.key < b.key ? -1 : a.key > b.key ? 1 : a.start - b.start,
    )
    for (let i = 1; i < sorted.length; i++) {
      const [before, next] = [sorted[i - 1], sorted[i]]
      if (before === undefined || next === undefined || before.key !== next.key) continue
      if (next.start < before.end)
        throw new LawBroken('exactly once', `${next.key}: ${next.start} was given out twice`)
      if (next.done < before.call)
        throw new LawBroken(
          'linearizability',
          `${next.key}: ${next.start} was given out before ${before.start} was asked for`,
        )
    }
  }
}

export interface Seen {
  readonly revision: number
  readonly type: string
  readonly key: string
  readonly value: string | undefined
  readonly previous: string | undefined
}

export interface Reader {
  died(): boolean
  /** True if the reader is inside a removed member. */
  stranded(): boolean
  /** True if no member serves the reader and the reader cannot find this out. */
  untold(): boolean
}

/** One watch as its reader sees it, across reconnects (C11): no gap, no repeated event, no older event. */
export class WatchHistory {
  readonly name: string
  readonly #reader: Reader
  readonly #values = new Map<string, string | undefined>()
  #revision = 0
  #keysOfRevision = new Set<string>()
  events = 0
  #refused = false
  #compacted = false

  constructor(name: string, reader: Reader) {
    this.name = name
    this.#reader = reader
  }

  /** True if no more events can arrive: the reader died, got an error, or cannot get one. */
  get isOver(): boolean {
    if (this.#compacted || this.#reader.died() || this.#reader.untold()) return true
    return this.#reader.stranded() && this.#refused
  }

  /** The watch has ended because the members no longer have the next events. */
  compacted(): void {
    this.#compacted = true
  }

  refused(): void {
    this.#refused = true
  }

  get revision(): number {
    return this.#revision
  }

  saw(event: Seen): void {
    this.events++
    this.#refused = false
    const { revision, key, previous } = event
    if (revision < this.#revision) this.#broken(`revision ${revision} after ${this.#revision}`)
    if (revision > this.#revision) this.#keysOfRevision = new Set()
    if (this.#keysOfRevision.has(key)) this.#broken(`${key} of revision ${revision} came twice`)
    this.#keysOfRevision.add(key)
    this.#revision = revision
    const known = this.#values.has(key)
    if (known && this.#values.get(key) !== previous)
      this.#broken(`${key} at revision ${revision}: a change was left out, or told twice`)
    this.#values.set(key, event.type === 'delete' ? undefined : event.value)
  }

  /** Returns whether the last event of the key has the final value. */
  endsWith(key: string, value: string | undefined): boolean {
    return !this.#values.has(key) || this.#values.get(key) === value
  }

  #broken(message: string): never {
    throw new LawBroken('watches', `${this.name}: ${message}`)
  }
}
