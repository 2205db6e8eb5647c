// Driver: what happened to locks since this page was opened. The member keeps no history of locks: it tells
// each change once, to whoever watches.

import { type Api, type Refusal, Stream } from './api.js'
import type { Person } from './person.js'
import { encodedKey, type SentKey } from './texts.js'
import { now, timeOfDay } from './timers.js'

export interface LockEvent {
  readonly number: number
  readonly lock: string
  readonly type: string
  readonly id: string
  readonly context?: string
  readonly contextBase64?: string
  readonly fencingToken: number
  readonly time: string
  /** By the clock of the page. */
  readonly when: number
}

/** Older ones are forgotten. */
const MOST_EVENTS = 2000

export class LockHistory {
  readonly since = timeOfDay()
  readonly #listeners = new Set<(lock: string) => void>()
  readonly #streams: Stream[]
  #events: LockEvent[] = []
  #count = 0
  /** Why nothing is heard. */
  refusal: Refusal | undefined

  constructor(api: Api, person: Person) {
    const prefixes = person.locks?.map(({ prefix, prefixBase64 }) => named(prefix, prefixBase64)) ?? ['']
    this.#streams = prefixes.map(
      (prefix) =>
        new Stream(api, `/v1/locks:watch?prefix=${prefix}`, {
          event: (data) => this.#heard(data),
          opened: () => this.#tell(''),
          refused: (why) => {
            this.refusal = why
            this.#tell('')
          },
        }),
    )
  }

  /** The newest first. */
  of(lock: string): readonly LockEvent[] {
    return this.#events.filter((event) => event.lock === lock).toReversed()
  }

  /** `heard` gets the lock; '': any of them may have changed. Returns what ends it. */
  listen(heard: (lock: string) => void): () => void {
    this.#listeners.add(heard)
    return () => this.#listeners.delete(heard)
  }

  close(): void {
    for (const stream of this.#streams) stream.close()
  }

  #heard(data: Record<string, unknown>): void {
    const event = data as unknown as Omit<LockEvent, 'lock' | 'time' | 'when' | 'number'> & SentKey
    const lock = encodedKey(event)
    this.#count += 1
    this.#events.push({ ...event, lock, number: this.#count, time: timeOfDay(), when: now() })
    if (this.#events.length > MOST_EVENTS * 2) this.#events = this.#events.slice(-MOST_EVENTS)
    this.#tell(lock)
  }

  #tell(lock: string): void {
    for (const heard of this.#listeners) heard(lock)
  }
}

export const named = (prefix: string | undefined, prefixBase64: string | undefined): string =>
  encodedKey({
    ...(prefix !== undefined && { key: prefix }),
    ...(prefixBase64 !== undefined && { keyBase64: prefixBase64 }),
  })
