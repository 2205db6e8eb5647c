// Driver: owns the recent events of locks, for watches of locks.
// The events are in memory only and in no snapshot. Every member applies the same entries and makes the same
// events, so a watch can continue at any member that was running at that time.
//
// Laws (K60)
// - 1: the position of an event is the index of its entry. All members agree on it, and every change of a
//   lock is in some entry.
// - 2: `of` returns all events of an entry, never a part of them; entries below `floor` were dropped.
// - 3: renewals are recorded only while a client of this member watches them.
// - 4: the number of events and their bytes are limited. An entry with more than that is not kept at all.

import { assert } from '@latchkey/base'
import type { HoldRow, LockHappening, WaiterRow } from '@latchkey/lock'
import { type EventResult, LOCK_EVENT, pack } from '@latchkey/protocol'

interface Happened {
  readonly what: LockHappening
  /** A row in memory is never changed, only replaced, so the event may refer to it. */
  readonly row: HoldRow | WaiterRow
  readonly revision: number
}
interface OfEntry {
  readonly index: number
  readonly events: readonly Happened[]
  readonly bytes: number
}

const MOST_EVENTS = 16_384
const MOST_BYTES = 8 * 1024 * 1024
/** The bytes of an event besides its strings. */
const EVENT_BYTES = 64

export class LockEvents {
  /** How many watches want renewals. */
  renewalWatches = 0
  #floor: number
  #newest: number
  #entries: OfEntry[] = []
  /** The entries before this index of the array were dropped. */
  #head = 0
  #count = 0
  #bytes = 0
  #open: Happened[] = []

  /** `applied` is the index of the last entry in the state. */
  constructor(applied: number) {
    this.#newest = applied
    this.#floor = applied + 1
  }

  get newest(): number {
    return this.#newest
  }
  get floor(): number {
    return this.#floor
  }

  record(what: LockHappening, row: HoldRow | WaiterRow, revision: number): void {
    this.#open.push({ what, row, revision })
  }

  /** Called when the whole entry is applied. */
  close(index: number): void {
    this.#newest = index
    const events = this.#open
    if (events.length === 0) return
    this.#open = []
    let bytes = 0
    for (const { row } of events)
      bytes += EVENT_BYTES + row.key.length + row.id.length + (row.context?.length ?? 0)
    this.#entries.push({ index, events, bytes })
    this.#count += events.length
    this.#bytes += bytes
    while (this.#count > MOST_EVENTS || this.#bytes > MOST_BYTES) this.#dropOldest()
  }

  #dropOldest(): void {
    const oldest = this.#entries[this.#head++] as OfEntry
    this.#floor = oldest.index + 1
    this.#count -= oldest.events.length
    this.#bytes -= oldest.bytes
    if (this.#head < 1024 || this.#head * 2 < this.#entries.length) return
    this.#entries = this.#entries.slice(this.#head)
    this.#head = 0
  }

  /** The events of an entry, in their order; the first field of each is the index of the entry. */
  of(index: number, renewals: boolean): readonly EventResult[] {
    assert(index >= this.#floor && index <= this.#newest, `entry ${index} is not kept`)
    const found: EventResult[] = []
    for (const event of this.#entryAt(index)?.events ?? [])
      if (renewals || event.what !== 'renewed') found.push(toResult(index, event))
    return found
  }

  /** A binary search, because entries are in the order of their indexes. */
  #entryAt(index: number): OfEntry | undefined {
    let low = this.#head
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#entries[middle] as OfEntry).index < index) low = middle + 1
      else high = middle
    }
    const entry = this.#entries[low]
    return entry?.index === index ? entry : undefined
  }
}

function toResult(index: number, { what, row, revision }: Happened): EventResult {
  const token = 'token' in row ? row.token : 0
  return [index, LOCK_EVENT[what], row.key, pack([row.id, row.context, token, revision]), null]
}
