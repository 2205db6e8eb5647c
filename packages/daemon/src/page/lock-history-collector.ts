// Driver: collects changes of locks: past changes that the member still remembers, and all changes after the
// page was opened.

import { type Api, type Refusal, Stream } from './member-requests.js'
import type { Person } from './signed-in-user-types.js'
import { encodedKey, type SentKey } from './key-and-number-formatting.js'
import { now, timeOfDay } from './browser-clock.js'

export interface LockEvent {
  /**
   * Makes the row of an event unique in the table. Changes from the watch have positive numbers, and changes
   * from the member's history have negative numbers.
   */
  readonly number: number
  readonly lock: string
  readonly type: string
  readonly id: string
  readonly context?: string
  readonly contextBase64?: string
  readonly fencingToken: number
  readonly time: string
  /** The time of the change, in ms of the browser's clock. */
  readonly when: number
}

interface Remembered {
  readonly sinceMillis: number
  readonly history: readonly (Omit<LockEvent, 'number' | 'lock' | 'time' | 'when'> & {
    readonly agoMillis: number
  })[]
}

/** How many changes the page keeps. Older changes are deleted. */
const MOST_EVENTS = 2000
/** How many past changes of a lock the page reads at most. */
const MOST_READ = 100

export const pastEvent = (event: Omit<LockEvent, 'time' | 'when'>, ago: number): LockEvent => ({
  ...event,
  time: timeOfDay(ago),
  when: now() - ago,
})

/**
 * Returns the events of the member's history (`events`) that the page has not received from the watch
 * (`heard`). Events with the same type, holder and fencing token look equal. The watch delivers the later
 * events, so of two equal events the later event counts as received.
 */
export function notReceived(events: readonly LockEvent[], heard: readonly LockEvent[]): LockEvent[] {
  const left = new Map<string, number>()
  for (const event of heard) left.set(nameOf(event), (left.get(nameOf(event)) ?? 0) + 1)
  const wasHeard = (event: LockEvent) => {
    const count = left.get(nameOf(event)) ?? 0
    left.set(nameOf(event), count - 1)
    return count > 0
  }
  return events.toReversed().filter((event) => !wasHeard(event))
}

const nameOf = ({ type, id, fencingToken }: LockEvent): string => `${type} ${id} ${fencingToken}`

export class LockHistory {
  readonly #api: Api
  readonly #listeners = new Set<(lock: string) => void>()
  readonly #streams: Stream[]
  #events: LockEvent[] = []
  #count = 0
  /** Why the member does not send changes of locks. Undefined if the member sends changes. */
  refusal: Refusal | undefined

  constructor(api: Api, person: Person) {
    this.#api = api
    const prefixes = person.locks?.map(({ prefix, prefixBase64 }) => named(prefix, prefixBase64)) ?? ['']
    this.#streams = prefixes.map(
      (prefix) =>
        new Stream(api, `/v1/locks:watch?prefix=${prefix}`, {
          event: (data) => this.#onEvent(data),
          opened: () => this.#tell(''),
          refused: (why) => {
            this.refusal = why
            this.#tell('')
          },
        }),
    )
  }

  of(lock: string): readonly LockEvent[] {
    return this.#events.filter((event) => event.lock === lock).toReversed()
  }

  /**
   * Calls `heard` with the name of a lock that has changed. The name '' means that any lock may have changed.
   * The returned function ends the calls.
   */
  listen(heard: (lock: string) => void): () => void {
    this.#listeners.add(heard)
    return () => this.#listeners.delete(heard)
  }

  close(): void {
    for (const stream of this.#streams) stream.close()
  }

  #onEvent(data: Record<string, unknown>): void {
    const event = data as unknown as Omit<LockEvent, 'lock' | 'time' | 'when' | 'number'> & SentKey
    const lock = encodedKey(event)
    this.#count += 1
    this.#events.push({ ...event, lock, number: this.#count, time: timeOfDay(), when: now() })
    if (this.#events.length > MOST_EVENTS * 2) this.#events = this.#events.slice(-MOST_EVENTS)
    this.#tell(lock)
  }

  /**
   * Reads the past changes that the page has not received from the watch. `since` is a time of the browser's
   * clock: the member remembers no change from before this time.
   */
  async before(lock: string): Promise<{ readonly events: readonly LockEvent[]; readonly since: number }> {
    const read = `/v1/locks/${lock}:history?limit=${MOST_READ}`
    const { sinceMillis, history } = await this.#api.get<Remembered>(read)
    const events = history.map(({ agoMillis, ...row }, at) =>
      pastEvent({ ...row, lock, number: -1 - at }, agoMillis),
    )
    return { events: notReceived(events, this.of(lock)), since: now() - sinceMillis }
  }

  #tell(lock: string): void {
    for (const heard of this.#listeners) heard(lock)
  }
}

const named = (prefix: string | undefined, prefixBase64: string | undefined): string =>
  encodedKey({
    ...(prefix !== undefined && { key: prefix }),
    ...(prefixBase64 !== undefined && { keyBase64: prefixBase64 }),
  })
