// Rule: what was acknowledged is there once, in the end and in every watch on the way.

import { LawBroken } from '../../laws/verdict.js'

/** Numbers out of a sequence: no two answers overlap, and later asked is later numbered. */
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

/** Of a watch. */
export interface Reader {
  died(): boolean
  /** It lives in a member that was removed. */
  stranded(): boolean
  /** Nobody serves it, and it has no way to know. */
  untold(): boolean
}

/** One watch as its reader sees it, across reconnects (C11): no gap, no repeat, no way back. */
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

  /** Nothing more is to be heard: its reader died, was told so, or cannot be told. */
  get isOver(): boolean {
    if (this.#compacted || this.#reader.died() || this.#reader.untold()) return true
    return this.#reader.stranded() && this.#refused
  }

  /** It was told that what comes next is not kept any more. */
  compacted(): void {
    this.#compacted = true
  }

  /** It ended with an error. */
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

  /** What it knows last is what is there in the end. */
  endsWith(key: string, value: string | undefined): boolean {
    return !this.#values.has(key) || this.#values.get(key) === value
  }

  #broken(message: string): never {
    throw new LawBroken('watches', `${this.name}: ${message}`)
  }
}
