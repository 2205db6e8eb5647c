// Driver: groups the watches by their ranges, and finds the groups whose range contains the key of an event.

import { elementAt, binary } from '@latchkey/base'
import type { EventResult } from '@latchkey/protocol'
import { NO_END, IntervalTree, type Span } from './interval-tree.js'
import type { KeyRange, WatchSink } from './kv-store-types.js'

export interface Group extends Span {
  readonly range: KeyRange
  readonly cursors: Set<Cursor>
  /** The events that match the group's range, among the revisions that are being read. */
  found: EventResult[]
}

export interface Cursor {
  readonly group: Group
  readonly sink: WatchSink
  readonly by: string
  /**
   * True if the watch is up to date. The store serves all up-to-date watches together. `next` is the next
   * revision to read, and is used only while the watch is not up to date.
   */
  isUpToDate: boolean
  next: number
  /** The store has sent all matching events up to this revision to the client. */
  sentUpTo: number
  /** How many more events the client permits the store to send. */
  credit: number
  over: boolean
}

export class Groups {
  readonly #index = new IntervalTree<Group>()
  #withEvents: Group[] = []
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
    const cursor = { group, sink, by, isUpToDate: false, next, sentUpTo: next - 1, credit: 0, over: false }
    group.cursors.add(cursor)
    return cursor
  }

  leave(cursor: Cursor): void {
    const { group } = cursor
    if (group.cursors.delete(cursor) && group.cursors.size === 0) this.#index.remove(group)
  }

  /**
   * Adds the events of a revision to the groups whose range has the key. Returns the bytes of the added
   * events. An event that is added to several groups counts for each group.
   */
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
    if (group.found.length === 0) this.#withEvents.push(group)
    group.found.push(event)
    this.#bytes += bytesOf(event)
  }

  /** Returns the groups to which events were added after the last call, each group with these events. */
  taken(): readonly (readonly [Group, readonly EventResult[]])[] {
    const taken = this.#withEvents.map((group) => [group, group.found] as const)
    for (const [group] of taken) group.found = []
    this.#withEvents = []
    return taken
  }
}

export const bytesOf = (event: EventResult): number =>
  event[2].length + (event[3]?.length ?? 0) + (event[4]?.length ?? 0)

/**
 * Returns how many of the events a watch with this credit may send. The events of one revision stay together,
 * so the last revision may exceed the credit.
 */
export function within(credit: number, events: readonly EventResult[]): number {
  if (credit >= events.length) return events.length
  let count = Math.max(0, credit)
  if (count === 0) return 0
  const [last] = elementAt(events, count - 1)
  while (events[count]?.[0] === last) count++
  return count
}
