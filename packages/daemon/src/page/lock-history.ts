// Driver: collects what happened to locks: what the member remembers of the time before, and each change
// since this page was opened. The page keeps a change even when the member has forgotten it.

import { type Api, type Refusal, Stream } from './api.js'
import type { Person } from './signed-in-person.js'
import { encodedKey, type SentKey } from './texts.js'
import { now, timeOfDay } from './timers.js'

export interface LockEvent {
  /**
   * The number of the row. It is above 0 if the page received the change, and below 0 if the member
   * remembered it.
   */
  readonly number: number
  readonly lock: string
  readonly type: string
  readonly id: string
  readonly context?: string
  readonly contextBase64?: string
  readonly fencingToken: number
  readonly time: string
  /** The time by the clock of the page. */
  readonly when: number
}

interface Remembered {
  readonly sinceMillis: number
  readonly history: readonly (Omit<LockEvent, 'number' | 'lock' | 'time' | 'when'> & {
    readonly agoMillis: number
  })[]
}

/** How many changes are kept. Older ones are forgotten. */
const MOST_EVENTS = 2000
const MOST_READ = 100

export const pastEvent = (event: Omit<LockEvent, 'time' | 'when'>, ago: number): LockEvent => ({
  ...event,
  time: timeOfDay(ago),
  when: now() - ago,
})

/**
 * Returns those of `events` that came before the received ones. The last events of each kind are those that
 * were received.
 */
export function unheard(events: readonly LockEvent[], heard: readonly LockEvent[]): LockEvent[] {
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
  /** Why no change is received. */
  refusal: Refusal | undefined

  constructor(api: Api, person: Person) {
    this.#api = api
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

  /** Returns the changes of a lock, the newest first. */
  of(lock: string): readonly LockEvent[] {
    return this.#events.filter((event) => event.lock === lock).toReversed()
  }

  /** `heard` gets the lock, or '' if any lock may have changed. The returned function ends the calls. */
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

  /**
   * Reads what the member remembers of one lock that was not received here, and how far back its memory goes.
   */
  async before(lock: string): Promise<{ readonly events: readonly LockEvent[]; readonly since: number }> {
    const read = `/v1/locks/${lock}:history?limit=${MOST_READ}`
    const { sinceMillis, history } = await this.#api.get<Remembered>(read)
    const events = history.map(({ agoMillis, ...row }, at) =>
      pastEvent({ ...row, lock, number: -1 - at }, agoMillis),
    )
    return { events: unheard(events, this.of(lock)), since: now() - sinceMillis }
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
