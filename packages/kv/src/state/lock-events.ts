// Driver: owns the recent events of locks, for the clients that watch locks and for the history of one lock.
// The events are in memory only, and a snapshot does not contain them. Every member makes the same events
// from the same entries. So after a reconnect, a watch can continue at any member that was running at the
// time of the events.
//
// Laws (watches of locks, K60)
// - 1: the position of an event is the index of its log entry.
// - 2: `of` returns all events of an entry. The events of entries below `floor` were dropped.
// - 3: renewals are recorded only while a client of this member watches them.
// - 4: the number of events and their bytes are limited. If one entry has more events than the limit, none of
//   its events is kept.
// - 5: every change of a lock after the time `since` is kept, except renewals (K67). Without this law: an
//   operator takes a shortened history for a complete one.

import { assert, equalBytes } from '@latchkey/base'
import type { HoldRow, LockHappening, WaiterRow } from '@latchkey/lock'
import { type EventResult, LOCK_EVENT, type LockHistoryResult, pack } from '@latchkey/protocol'

/**
 * The most events that are kept. A further event drops the oldest event. With a limit of 16,384 events, whose
 * rows stay in memory, a pair of acquire and release took 3 µs longer.
 */
const MOST_EVENTS = 1_024
const MOST_BYTES = 8 * 1024 * 1024
/** In bytes, how much an event counts besides its key, id and context. */
const EVENT_BYTES = 64

type Row = HoldRow | WaiterRow

const bytesOf = ({ key, id, context }: Row): number =>
  EVENT_BYTES + key.length + id.length + (context?.length ?? 0)

/** The events are in a ring buffer of arrays with a fixed size, so recording an event allocates no memory. */
export class LockEvents {
  /** How many open watches report renewals of holds. */
  renewalWatches = 0
  #floor: number
  #newest: number
  /** In cluster time. All events after this time are kept. */
  #since: number
  readonly #kinds = new Uint8Array(MOST_EVENTS)
  readonly #indexes = new Float64Array(MOST_EVENTS)
  readonly #revisions = new Float64Array(MOST_EVENTS)
  /** The cluster time of each event. */
  readonly #times = new Float64Array(MOST_EVENTS)
  /** The rows are not copied, because code that changes a hold or a waiter makes a new row. */
  readonly #rows: (Row | undefined)[] = []
  /**
   * How many events this object has recorded, and how many of these events the ring buffer has dropped again.
   * The events are numbered from 0, in the order in which they were recorded. The number of an event, modulo
   * the size of the ring buffer, is the index of the event in the arrays.
   */
  #recorded = 0
  #dropped = 0
  #bytes = 0

  /** `index` and `time` are those of the last entry in the state. */
  constructor({ index, time }: { readonly index: number; readonly time: number }) {
    this.#newest = index
    this.#since = time
    this.#floor = index + 1
  }

  get newest(): number {
    return this.#newest
  }
  get floor(): number {
    return this.#floor
  }

  /** Records an event of the entry that is being applied, which is the entry after `newest`. */
  record(what: LockHappening, row: Row, revision: number, time: number): void {
    if (this.#recorded - this.#dropped === MOST_EVENTS) this.#dropOldest()
    const slot = this.#recorded++ % MOST_EVENTS
    this.#kinds[slot] = LOCK_EVENT[what]
    this.#indexes[slot] = this.#newest + 1
    this.#revisions[slot] = revision
    this.#times[slot] = time
    this.#rows[slot] = row
    this.#bytes += bytesOf(row)
    while (this.#bytes > MOST_BYTES) this.#dropOldest()
  }

  /**
   * Drops the oldest event. If its log entry has the index i, `#floor` becomes i + 1, so `of` no longer
   * returns any events of the entry i (law 2).
   */
  #dropOldest(): void {
    const slot = this.#dropped++ % MOST_EVENTS
    this.#floor = (this.#indexes[slot] as number) + 1
    this.#since = this.#times[slot] as number
    this.#bytes -= bytesOf(this.#rows[slot] as Row)
    this.#rows[slot] = undefined
  }

  /** Makes `index` the newest entry. Called after the store has applied the whole entry. */
  close(index: number): void {
    this.#newest = index
  }

  /**
   * Returns the events of an entry, in their order. The first field of each event is the index of the entry.
   */
  of(index: number, renewals: boolean): readonly EventResult[] {
    assert(index >= this.#floor && index <= this.#newest, `entry ${index} is not kept`)
    const found: EventResult[] = []
    for (let at = this.#firstOf(index); at < this.#recorded; at++) {
      const slot = at % MOST_EVENTS
      if (this.#indexes[slot] !== index) break
      const kind = this.#kinds[slot] as LockKind
      if (renewals || kind !== LOCK_EVENT.renewed)
        found.push(toResult(index, kind, this.#rows[slot] as Row, this.#revisions[slot] as number))
    }
    return found
  }

  /** Returns the kept events of one lock, in their order. `now` is the present cluster time. */
  historyOf(key: Uint8Array, now: number): LockHistoryResult {
    const rows: LockHistoryResult[1][number][] = []
    for (let at = this.#dropped; at < this.#recorded; at++) {
      const slot = at % MOST_EVENTS
      const kind = this.#kinds[slot] as LockKind
      const row = this.#rows[slot] as Row
      if (kind === LOCK_EVENT.renewed || !equalBytes(row.key, key)) continue
      const [revision, time] = [this.#revisions[slot] as number, this.#times[slot] as number]
      rows.push([kind, row.id, row.context, tokenOf(row), revision, ago(now, time)])
    }
    return [ago(now, this.#since), rows]
  }

  #firstOf(index: number): number {
    let low = this.#dropped
    let high = this.#recorded
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if ((this.#indexes[middle % MOST_EVENTS] as number) < index) low = middle + 1
      else high = middle
    }
    return low
  }
}

type LockKind = (typeof LOCK_EVENT)[LockHappening]

function toResult(index: number, kind: LockKind, row: Row, revision: number): EventResult {
  return [index, kind, row.key, pack([row.id, row.context, tokenOf(row), revision]), null]
}

/** Returns 0 for a waiter. */
const tokenOf = (row: Row): number => ('token' in row ? row.token : 0)
const ago = (now: number, time: number): number => Math.max(0, Math.floor(now - time))
