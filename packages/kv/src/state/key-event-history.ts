// Driver: keeps the recent events of keys, in rows that are the same on every member. So a watch can continue
// at any member, and after a restart.
//
// Laws: every revision from meta.events.floor to meta.revision has all its events. If the events exceed a
// limit, the oldest revisions are dropped while entries are applied. If one revision is too large for the
// history, this revision and all earlier revisions are dropped. Watches that need a dropped revision end with
// ERR_COMPACTED.

import { assert } from '@latchkey/base'
import type { EventResult } from '@latchkey/protocol'
import { eventKey } from '../keyspaces.js'
import type { RowChange, RowStore } from '../storage/row-store-interface.js'
import { CHECKSUM_BYTES, damagedRow, isIntact } from '../storage/stored-row-checksum.js'
import { Changes, type EventCaps } from './command-event-rows.js'
import { EventGroup, LEAST } from './events-of-sixteen-revisions.js'
import {
  type Change,
  GROUP,
  INLINE_BYTES,
  SCRATCH,
  decodeEvents,
  eventBytes,
  firstHash,
  hashWith,
  writeEvent,
  writeEvents,
} from './event-row-format.js'
import type { Meta } from './meta-row.js'
import { LargeEvents } from './unwritten-large-event-rows.js'
import { BufferPool } from './buffer-pool.js'
import type { RowSetHash } from './row-set-hash.js'
import { RevisionCounts } from './revision-event-counts.js'

/**
 * How many groups (rows of sixteen revisions) may stay in memory although their rows are in the store. These
 * are the newest groups, and the groups that watches read.
 */
const RESIDENT = 32
/**
 * RECENT: for how many revisions the decoded events stay in memory, for the watches that are up to date.
 * RECENT_BYTES: the decoded events of a revision with more bytes do not stay in memory.
 */
const RECENT = 64
const RECENT_BYTES = 16 * 1024

const firstOf = (revision: number): number => revision - (revision % GROUP)

export class Events {
  readonly #meta: Meta
  readonly #store: RowStore
  readonly #caps: EventCaps
  readonly #sum: RowSetHash
  readonly #groups = new Map<number, EventGroup>()
  readonly #revisionCounts = new RevisionCounts()
  /**
   * In bytes, the size of the row of the last complete group. A new group begins with a buffer of this size.
   */
  #usualBytes = LEAST
  readonly #spare = new BufferPool()
  readonly #large: LargeEvents
  /** The events of the last revisions. The index is the revision modulo RECENT. */
  readonly #recent: { readonly revision: number; readonly events: readonly EventResult[] }[] = []
  #dirty = new Set<EventGroup>()
  /** The groups whose rows are being written. */
  #inFlight = new Set<EventGroup>()
  #removed: number[] = []
  #pendingBytes = 0

  constructor(meta: Meta, store: RowStore, caps: EventCaps) {
    this.#meta = meta
    this.#store = store
    this.#caps = caps
    this.#sum = meta.sums.events
    this.#large = new LargeEvents(store)
  }

  get pendingBytes(): number {
    return this.#pendingBytes + this.#large.bytes
  }

  /**
   * Adds the events of the command that has just got the revision `meta.revision`. If `changes` is undefined,
   * the command has too many events for the history.
   */
  append(changes: Changes | undefined): void {
    const { revision } = this.#meta
    if (changes === undefined || !changes.kept) return this.#dropAll()
    const { bytes, count, hash } = changes
    if (bytes > INLINE_BYTES) changes.closePiece()
    const { list, pieces } = changes
    pieces.forEach((piece, i) => this.#large.add(eventKey(revision, i + 1), piece))
    const group = this.#groupFor(revision)
    const at = group.add(revision, count, bytes, hash, pieces.length)
    writeEvents(group.bytes, at, list)
    this.#added(group, revision, count, bytes, hash, pieces.length)
  }

  /**
   * Adds the event of a command with a single change, without building a list. Most commands are of this
   * kind.
   */
  appendOne(change: Change): void {
    const { revision } = this.#meta
    const { key, row, before } = change
    const bytes = eventBytes(key, row, before)
    if (bytes > INLINE_BYTES || bytes > this.#caps.eventBytes || this.#caps.events < 1) {
      const changes = new Changes(revision, this.#caps)
      changes.add(change)
      return this.append(changes)
    }
    const hash = hashWith(firstHash(revision), change)
    const group = this.#groupFor(revision)
    const at = group.add(revision, 1, bytes, hash, 0)
    writeEvent(group.bytes, at, change)
    this.#added(group, revision, 1, bytes, hash, 0)
  }

  #added(
    group: EventGroup,
    revision: number,
    count: number,
    bytes: number,
    hash: number,
    pieces: number,
  ): void {
    const { events } = this.#meta
    this.#markDirty(group)
    if (revision % GROUP === GROUP - 1) {
      this.#usualBytes = group.end + SCRATCH
      // The checksum of a complete group is computed here. If `collect` computed the checksums of all
      // complete groups, it would block the event loop for too long.
      group.close()
    }
    this.#revisionCounts.note(revision, count, bytes, hash, pieces)
    this.#pendingBytes += pieces === 0 ? bytes : 0
    this.#sum.add(hash)
    events.count += count
    events.bytes += bytes
    while (events.count > this.#caps.events || events.bytes > this.#caps.eventBytes) this.#dropOldest()
  }

  #markDirty(group: EventGroup): void {
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
    else this.#subtract(count, this.#revisionCounts.size(floor), this.#revisionCounts.hash(floor))
    this.#raiseFloor()
  }

  #dropByRow(floor: number): void {
    const group = this.#groupWith(floor)
    for (let piece = 1; piece <= group.pieces(floor); piece++) this.#large.remove(eventKey(floor, piece))
    this.#subtract(group.count(floor), group.size(floor), group.hash(floor))
  }

  #subtract(count: number, bytes: number, hash: number): void {
    const { events } = this.#meta
    this.#sum.remove(hash)
    events.count -= count
    events.bytes -= bytes
  }

  /**
   * Drops the oldest kept revision. The row of a group is removed after all its sixteen revisions were
   * dropped. Until then the row keeps events that no watch reads.
   */
  #raiseFloor(): void {
    const { events } = this.#meta
    events.floor++
    this.#revisionCounts.forget(events.floor)
    if (events.floor % GROUP === 0) this.#removeGroup(events.floor - GROUP)
  }

  /**
   * Removes the group from memory. If the store may have the row of the group, the next batch removes the
   * row. The store may also have the row of a group that is not in memory.
   */
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

  #groupFor(revision: number): EventGroup {
    const first = firstOf(revision)
    // A new group has no row in the store, so the store is not read.
    return first === revision ? this.#resident(this.#begin(first)) : this.#group(first)
  }

  #group(first: number): EventGroup {
    const known = this.#groups.get(first)
    if (known !== undefined) return known
    const key = eventKey(first, 0)
    const row = this.#store.get(key)
    if (row !== undefined && !isIntact(key, row)) throw damagedRow(key)
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

  /** The number of groups that must stay in memory because their rows are not in the store yet. */
  get #busy(): number {
    return this.#dirty.size + this.#inFlight.size
  }

  /**
   * Drops from memory some groups whose rows are in the store. `keep` is the first revision of a group that
   * stays in memory.
   */
  #forgetSome(keep: number): void {
    for (const group of this.#groups.values()) {
      if (this.#groups.size <= RESIDENT / 2 + this.#busy) return
      if (group.dirty || group.first === keep || this.#inFlight.has(group)) continue
      this.#groups.delete(group.first)
      const spare = group.spare()
      if (spare !== undefined) this.#spare.give(spare)
    }
  }

  /** Returns all events of a kept revision. Many watches share the list, so no caller may change the list. */
  of(revision: number): readonly EventResult[] {
    const { events, revision: newest } = this.#meta
    assert(revision >= events.floor && revision <= newest, `revision ${revision} is not kept`)
    const recent = this.#recent[revision % RECENT]
    if (recent?.revision === revision) return recent.events
    const group = this.#groupWith(revision)
    const found: EventResult[] = []
    const pieces = group.pieces(revision)
    // The buffer of the group is later reused for other revisions, so the events are decoded from a copy.
    if (pieces === 0) decodeEvents(revision, Buffer.from(group.events(revision)), found)
    for (let piece = 1; piece <= pieces; piece++) decodeEvents(revision, this.#piece(revision, piece), found)
    if (group.size(revision) <= RECENT_BYTES) this.#recent[revision % RECENT] = { revision, events: found }
    return found
  }

  #piece(revision: number, piece: number): Uint8Array {
    const key = eventKey(revision, piece)
    const row = this.#large.get(key)
    if (row === undefined) throw damagedRow(key, 'it is missing')
    return row.subarray(CHECKSUM_BYTES)
  }

  collect(batch: RowChange[]): void {
    this.#large.collect(batch)
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

  written(): void {
    this.#large.written()
    this.#inFlight = new Set()
    if (this.#groups.size > RESIDENT + this.#busy) this.#forgetSome(firstOf(this.#meta.revision))
  }
}
