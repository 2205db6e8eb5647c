// Driver: the recent events, in rows, the same on every member: a watcher goes on at any member, also after a restart.
// Laws: every revision from meta.events.floor to meta.revision is there, whole; the oldest revisions go first, by count and by
// bytes, at apply; a revision too large to be kept takes all before it with it, and its watchers are told ERR_COMPACTED.

import { assert, binary } from '@latchkey/base'
import type { EventResult } from '@latchkey/protocol'
import { eventKey } from '../keyspaces.js'
import { damagedRow } from '../rows/seal.js'
import { type Change, decodeEvents, encodeEvents, eventBytes, eventHead } from './event-row.js'
import type { Meta } from './meta.js'
import type { RowTable } from './row-table.js'

export interface EventCaps {
  readonly events: number
  readonly eventBytes: number
}

/** Revisions whose decoded events are kept for watchers that follow live, and how large one may be. */
const RECENT = 64
const RECENT_BYTES = 16 * 1024

const tableKey = (revision: number, piece: number): string => binary(eventKey(revision, piece).subarray(1))

/** The changes of one command while it runs: no more of them in memory than could be kept. */
export class Changes {
  readonly list: Change[] = []
  count = 0
  #bytes = 0
  readonly #caps: EventCaps

  constructor(caps: EventCaps) {
    this.#caps = caps
  }

  add(change: Change): void {
    this.count++
    this.#bytes += eventBytes(change)
    if (this.kept) this.list.push(change)
    else this.list.length = 0
  }

  get kept(): boolean {
    return this.count <= this.#caps.events && this.#bytes <= this.#caps.eventBytes
  }
}

export class Events {
  readonly #meta: Meta
  readonly #table: RowTable
  readonly #caps: EventCaps
  readonly #recent = new Map<number, readonly EventResult[]>()

  constructor(meta: Meta, table: RowTable, caps: EventCaps) {
    this.#meta = meta
    this.#table = table
    this.#caps = caps
  }

  /** The events of `meta.revision`, which was just taken. */
  append(changes: Changes): void {
    const { revision, events } = this.#meta
    if (!changes.kept) return this.#dropAll()
    for (const [piece, row] of encodeEvents(revision, changes.list).entries()) {
      this.#table.set(tableKey(revision, piece), row.value, undefined)
    }
    events.count += changes.count
    for (const change of changes.list) events.bytes += eventBytes(change)
    while (events.count > this.#caps.events || events.bytes > this.#caps.eventBytes)
      this.#dropOldest(revision)
  }

  #dropAll(): void {
    const { revision, events } = this.#meta
    while (events.floor < revision) this.#dropOldest(revision)
    events.floor = revision + 1
  }

  #dropOldest(newest: number): void {
    const { events } = this.#meta
    assert(events.floor <= newest, 'no event is left to drop')
    const first = this.#piece(events.floor, 0)
    const head = eventHead(first)
    this.#table.set(tableKey(events.floor, 0), null, first)
    for (let piece = 1; piece < head.pieces; piece++) {
      this.#table.set(tableKey(events.floor, piece), null, this.#piece(events.floor, piece))
    }
    this.#recent.delete(events.floor)
    events.count -= head.count
    events.bytes -= head.bytes
    events.floor++
  }

  /** All events of a revision that is kept. Shared: not to be changed. */
  of(revision: number): readonly EventResult[] {
    assert(
      revision >= this.#meta.events.floor && revision <= this.#meta.revision,
      `revision ${revision} is not kept`,
    )
    const recent = this.#recent.get(revision)
    if (recent !== undefined) return recent
    const events: EventResult[] = []
    const first = this.#piece(revision, 0)
    decodeEvents(revision, 0, first, events)
    const { pieces, bytes } = eventHead(first)
    for (let piece = 1; piece < pieces; piece++) {
      decodeEvents(revision, piece, this.#piece(revision, piece), events)
    }
    if (bytes <= RECENT_BYTES) this.#remember(revision, events)
    return events
  }

  #remember(revision: number, events: readonly EventResult[]): void {
    this.#recent.set(revision, events)
    if (this.#recent.size > RECENT) this.#recent.delete(this.#recent.keys().next().value as number)
  }

  #piece(revision: number, piece: number): Uint8Array {
    const row = this.#table.get(tableKey(revision, piece))
    if (row === undefined) throw damagedRow(eventKey(revision, piece), 'it is missing')
    return row
  }
}
