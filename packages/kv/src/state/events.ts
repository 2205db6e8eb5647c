// Driver: the recent events, in rows, the same on every member: a watcher goes on at any member, also after a restart.
// Laws: every revision from meta.events.floor to meta.revision is there, whole; the oldest revisions go first, by count and by
// bytes, at apply; a revision too large to be kept takes all before it with it, and its watchers are told ERR_COMPACTED.

import { assert, binary } from '@latchkey/base'
import type { EventResult } from '@latchkey/protocol'
import { SPACE, eventKey } from '../keyspaces.js'
import type { RowChange, RowStore } from '../storage/row-store.js'
import { SEAL, damagedRow, isSealed } from '../storage/row-checksum.js'
import { Changes, type EventCaps } from './changes.js'
import { EventGroup, LEAST } from './event-group.js'
import {
  GROUP,
  INLINE_BYTES,
  SCRATCH,
  decodeEvents,
  eventBytes,
  firstMark,
  marked,
  writeEvent,
  writeEvents,
} from './event-row.js'
import type { Meta } from './meta-row.js'
import { RowTable } from './row-table.js'
import { BufferPool } from './buffer-pool.js'
import { Sum } from './set-hash.js'
import { RevisionCounts } from './revision-counts.js'

/** Groups kept although nothing has to be written of them: the newest, and what watchers read. */
const RESIDENT = 32
/** Revisions whose decoded events are kept for watchers that follow live, and how large one may be. */
const RECENT = 64
const RECENT_BYTES = 16 * 1024

const firstOf = (revision: number): number => revision - (revision % GROUP)
const pieceKey = (revision: number, piece: number): string => binary(eventKey(revision, piece).subarray(1))

export class Events {
  readonly #meta: Meta
  readonly #store: RowStore
  readonly #caps: EventCaps
  readonly #sum: Sum
  readonly #groups = new Map<number, EventGroup>()
  readonly #revisionCounts = new RevisionCounts()
  /** What the row of the last whole group came to. */
  #usualBytes = LEAST
  readonly #spare = new BufferPool()
  readonly #pieces: RowTable
  /** By revision, the lowest bits of it: a later one takes its place. */
  readonly #recent: { readonly revision: number; readonly events: readonly EventResult[] }[] = []
  #dirty = new Set<EventGroup>()
  /** Groups whose row is being written: in the store only when that is done. */
  #inFlight = new Set<EventGroup>()
  #removed: number[] = []
  #pendingBytes = 0

  constructor(meta: Meta, store: RowStore, caps: EventCaps) {
    this.#meta = meta
    this.#store = store
    this.#caps = caps
    this.#sum = meta.sums.events
    this.#pieces = new RowTable(SPACE.events, store, new Sum())
  }

  get pendingBytes(): number {
    return this.#pendingBytes + this.#pieces.bytes
  }

  /** The events of `meta.revision`, which was just taken. */
  append(changes: Changes | undefined): void {
    const { revision } = this.#meta
    if (changes === undefined || !changes.kept) return this.#dropAll()
    const { bytes, count, mark } = changes
    if (bytes > INLINE_BYTES) changes.closePiece()
    const { list, pieces } = changes
    pieces.forEach((piece, i) => this.#pieces.set(pieceKey(revision, i + 1), piece, undefined))
    const group = this.#groupFor(revision)
    const at = group.add(revision, count, bytes, mark, pieces.length)
    writeEvents(group.bytes, at, list)
    this.#added(group, revision, count, bytes, mark, pieces.length)
  }

  /** The same of one change, which is what most commands make. */
  appendOne(key: string, row: Uint8Array | null, before: Uint8Array | null): void {
    const { revision } = this.#meta
    const bytes = eventBytes(key, row, before)
    if (bytes > INLINE_BYTES || bytes > this.#caps.eventBytes || this.#caps.events < 1) {
      const changes = new Changes(revision, this.#caps)
      changes.add({ key, row, before })
      return this.append(changes)
    }
    const mark = marked(firstMark(revision), row, before)
    const group = this.#groupFor(revision)
    const at = group.add(revision, 1, bytes, mark, 0)
    writeEvent(group.bytes, at, key, row, before)
    this.#added(group, revision, 1, bytes, mark, 0)
  }

  #added(
    group: EventGroup,
    revision: number,
    count: number,
    bytes: number,
    mark: number,
    pieces: number,
  ): void {
    const { events } = this.#meta
    this.#mark(group)
    if (revision % GROUP === GROUP - 1) {
      this.#usualBytes = group.end + SCRATCH
      // Now, and not all at once when the batch is made.
      group.close()
    }
    this.#revisionCounts.note(revision, count, bytes, mark, pieces)
    this.#pendingBytes += pieces === 0 ? bytes : 0
    this.#sum.add(mark)
    events.count += count
    events.bytes += bytes
    while (events.count > this.#caps.events || events.bytes > this.#caps.eventBytes) this.#dropOldest()
  }

  #mark(group: EventGroup): void {
    if (group.dirty) return
    group.dirty = true
    this.#dirty.add(group)
  }

  #dropAll(): void {
    const { revision, events } = this.#meta
    while (events.floor < revision) this.#dropOldest()
    this.#raiseFloor()
  }

  #dropOldest(): void {
    const { events, revision } = this.#meta
    const { floor } = events
    assert(floor <= revision, 'no event is left to drop')
    const count = this.#revisionCounts.count(floor)
    if (count === 0) this.#dropByRow(floor)
    else this.#subtract(count, this.#revisionCounts.size(floor), this.#revisionCounts.mark(floor))
    this.#raiseFloor()
  }

  #dropByRow(floor: number): void {
    const group = this.#groupWith(floor)
    for (let piece = 1; piece <= group.pieces(floor); piece++) {
      const key = pieceKey(floor, piece)
      this.#pieces.set(key, null, this.#pieces.get(key))
    }
    this.#subtract(group.count(floor), group.size(floor), group.mark(floor))
  }

  #subtract(count: number, bytes: number, mark: number): void {
    const { events } = this.#meta
    this.#sum.remove(mark)
    events.count -= count
    events.bytes -= bytes
  }

  /** A group's row goes when the floor has passed all of it; until then it has slots that nobody asks for. */
  #raiseFloor(): void {
    const { events } = this.#meta
    events.floor++
    this.#revisionCounts.forget(events.floor)
    if (events.floor % GROUP === 0) this.#removeGroup(events.floor - GROUP)
  }

  /** One that is not known here is of before the start: its row is in the store, or there never was one. */
  #removeGroup(first: number): void {
    const group = this.#groups.get(first)
    this.#groups.delete(first)
    if (group !== undefined) this.#dirty.delete(group)
    if (group?.stored !== false) this.#removed.push(first)
  }

  #groupWith(revision: number): EventGroup {
    const group = this.#group(firstOf(revision))
    if (!group.has(revision)) throw damagedRow(eventKey(revision, 0), 'it is missing')
    return group
  }

  /** Of a revision that was just taken. */
  #groupFor(revision: number): EventGroup {
    const first = firstOf(revision)
    // There is no row of it yet: it is not asked for.
    return first === revision ? this.#resident(this.#begin(first)) : this.#group(first)
  }

  #group(first: number): EventGroup {
    const known = this.#groups.get(first)
    if (known !== undefined) return known
    const key = eventKey(first, 0)
    const row = this.#store.get(key)
    if (row !== undefined && !isSealed(key, row)) throw damagedRow(key)
    return this.#resident(row === undefined ? this.#begin(first) : EventGroup.from(first, row))
  }

  #begin(first: number): EventGroup {
    return EventGroup.begin(first, this.#spare.take(this.#usualBytes))
  }

  #resident(group: EventGroup): EventGroup {
    this.#groups.set(group.first, group)
    if (this.#groups.size > RESIDENT + this.#busy) this.#forgetSome(group.first)
    return group
  }

  /** At most so many cannot be forgotten. */
  get #busy(): number {
    return this.#dirty.size + this.#inFlight.size
  }

  /** What is written already can be read again. */
  #forgetSome(keep: number): void {
    for (const group of this.#groups.values()) {
      if (this.#groups.size <= RESIDENT / 2 + this.#busy) return
      if (group.dirty || group.first === keep || this.#inFlight.has(group)) continue
      this.#groups.delete(group.first)
      const spare = group.spare()
      if (spare !== undefined) this.#spare.give(spare)
    }
  }

  /** All events of a revision that is kept. Shared: not to be changed. */
  of(revision: number): readonly EventResult[] {
    const { events, revision: newest } = this.#meta
    assert(revision >= events.floor && revision <= newest, `revision ${revision} is not kept`)
    const recent = this.#recent[revision % RECENT]
    if (recent?.revision === revision) return recent.events
    const group = this.#groupWith(revision)
    const found: EventResult[] = []
    const pieces = group.pieces(revision)
    // Of a copy: the group's bytes are used again.
    if (pieces === 0) decodeEvents(revision, Buffer.from(group.events(revision)), found)
    for (let piece = 1; piece <= pieces; piece++) decodeEvents(revision, this.#piece(revision, piece), found)
    if (group.size(revision) <= RECENT_BYTES) this.#recent[revision % RECENT] = { revision, events: found }
    return found
  }

  #piece(revision: number, piece: number): Uint8Array {
    const row = this.#pieces.get(pieceKey(revision, piece))
    if (row === undefined) throw damagedRow(eventKey(revision, piece), 'it is missing')
    return row.subarray(SEAL)
  }

  collect(batch: RowChange[]): void {
    this.#pieces.seal(batch)
    for (const first of this.#removed) batch.push({ key: eventKey(first, 0), value: undefined })
    this.#removed = []
    for (const group of this.#dirty) {
      batch.push({ key: eventKey(group.first, 0), value: group.value() })
      group.dirty = false
      group.stored = true
    }
    this.#inFlight = this.#dirty
    this.#dirty = new Set()
    this.#spare.trim()
    this.#pendingBytes = 0
  }

  settle(): void {
    this.#pieces.settle()
    this.#inFlight = new Set()
    if (this.#groups.size > RESIDENT + this.#busy) this.#forgetSome(firstOf(this.#meta.revision))
  }
}
