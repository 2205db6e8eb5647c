// Driver: owns the watches grouped by their ranges, so that an event finds the groups whose range contains
// its key.

import { elementAt, binary } from '@latchkey/base'
import type { EventResult } from '@latchkey/protocol'
import { NO_END, RangeIndex, type Span } from './range-index.js'
import type { KeyRange, WatchSink } from './kv-store.js'

export interface Group extends Span {
  readonly range: KeyRange
  readonly cursors: Set<Cursor>
  /** The group's events among the revisions that are being read. */
  found: EventResult[]
}

export interface Cursor {
  readonly group: Group
  readonly sink: WatchSink
  /** The client that opened it. */
  readonly by: string
  /** The watch is up to date and is served together with the others that are; `next` has no meaning then. */
  follows: boolean
  /** The next revision to read. */
  next: number
  /** All revisions up to this one were sent. */
  told: number
  credit: number
  over: boolean
}

export class Groups {
  readonly #index = new RangeIndex<Group>()
  #concerned: Group[] = []
  #event: EventResult | undefined
  #bytes = 0

  enter(range: KeyRange, sink: WatchSink, next: number, by: string): Cursor {
    const start = range.start === null ? '' : binary(range.start)
    const end = range.end === null ? NO_END : binary(range.end)
    let group = this.#index.get(start, end)
    if (group === undefined) {
      group = { start, end, range, cursors: new Set(), found: [] }
      this.#index.add(group)
    }
    const cursor = { group, sink, by, follows: false, next, told: next - 1, credit: 0, over: false }
    group.cursors.add(cursor)
    return cursor
  }

  leave(cursor: Cursor): void {
    const { group } = cursor
    if (group.cursors.delete(cursor) && group.cursors.size === 0) this.#index.remove(group)
  }

  /** Adds the events of a revision to their groups; returns the bytes of those events that a group needs. */
  add(events: readonly EventResult[]): number {
    this.#bytes = 0
    for (const event of events) {
      this.#event = event
      this.#index.find(binary(event[2]), this.#found)
    }
    return this.#bytes
  }

  readonly #found = (group: Group): void => {
    const event = this.#event as EventResult
    if (group.found.length === 0) this.#concerned.push(group)
    group.found.push(event)
    this.#bytes += bytesOf(event)
  }

  /** Returns each group with its events since the last call. */
  taken(): readonly (readonly [Group, readonly EventResult[]])[] {
    const taken = this.#concerned.map((group) => [group, group.found] as const)
    for (const [group] of taken) group.found = []
    this.#concerned = []
    return taken
  }
}

export const bytesOf = (event: EventResult): number =>
  event[2].length + (event[3]?.length ?? 0) + (event[4]?.length ?? 0)

/** How many of the events may be sent for this credit: whole revisions, the last of which may exceed it. */
export function within(credit: number, events: readonly EventResult[]): number {
  if (credit >= events.length) return events.length
  let count = Math.max(0, credit)
  if (count === 0) return 0
  const [last] = elementAt(events, count - 1)
  while (events[count]?.[0] === last) count++
  return count
}
