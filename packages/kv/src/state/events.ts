// Driver: the recent events, in rows, the same on every member: a watcher goes on at any member, also after a restart.
// Laws: every revision from meta.events.floor to meta.revision is there, whole; the oldest revisions go first, by count and by
// bytes, at apply; a revision too large to be kept takes all before it with it, and its watchers are told ERR_COMPACTED.

import { assert, binary } from '@latchkey/base'
import type { EventResult } from '@latchkey/protocol'
import { SPACE, eventKey } from '../keyspaces.js'
import type { RowChange, RowStore } from '../rows/port.js'
import { SEAL, damagedRow, sealBody, unseal } from '../rows/seal.js'
import type { Changes, EventCaps } from './changes.js'
import {
  GROUP,
  type Slot,
  type Slots,
  decodeEvents,
  decodeGroup,
  encodeGroup,
  encodeRevision,
} from './event-row.js'
import type { Meta } from './meta.js'
import { RowTable } from './row-table.js'
import { Sum } from './sum.js'

interface Group {
  readonly first: number
  readonly slots: Slots
  /** Its row is in the store or on its way there. */
  stored: boolean
  dirty: boolean
}

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
  readonly #groups = new Map<number, Group>()
  readonly #pieces: RowTable
  readonly #recent = new Map<number, readonly EventResult[]>()
  #dirty = new Set<Group>()
  /** Groups whose row is being written: in the store only when that is done. */
  #inFlight = new Set<Group>()
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
  append(changes: Changes): void {
    const { revision, events } = this.#meta
    if (!changes.kept) return this.#dropAll()
    const { slot, pieces } = encodeRevision(revision, changes.list)
    pieces.forEach((piece, i) => this.#setPiece(revision, i + 1, piece))
    const group = this.#group(firstOf(revision))
    group.slots[revision - group.first] = slot
    this.#mark(group)
    this.#pendingBytes += slot.inline.length + SEAL
    this.#sum.add(slot.crc)
    events.count += slot.count
    events.bytes += slot.bytes
    while (events.count > this.#caps.events || events.bytes > this.#caps.eventBytes) this.#dropOldest()
  }

  #setPiece(revision: number, piece: number, body: Uint8Array): void {
    this.#pieces.set(pieceKey(revision, piece), sealBody(eventKey(revision, piece), body), undefined)
  }

  #mark(group: Group): void {
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
    assert(events.floor <= revision, 'no event is left to drop')
    const slot = this.#slot(events.floor)
    for (let piece = 1; piece <= slot.pieces; piece++) {
      const key = pieceKey(events.floor, piece)
      this.#pieces.set(key, null, this.#pieces.get(key))
    }
    this.#sum.remove(slot.crc)
    events.count -= slot.count
    events.bytes -= slot.bytes
    this.#raiseFloor()
  }

  /** A group's row goes when the floor has passed all of it; until then it has slots that nobody asks for. */
  #raiseFloor(): void {
    const { events } = this.#meta
    this.#recent.delete(events.floor)
    events.floor++
    if (events.floor % GROUP === 0) this.#removeGroup(events.floor - GROUP)
  }

  #removeGroup(first: number): void {
    const group = this.#group(first)
    this.#groups.delete(first)
    this.#dirty.delete(group)
    if (group.stored) this.#removed.push(first)
  }

  #slot(revision: number): Slot {
    const slot = this.#group(firstOf(revision)).slots[revision % GROUP]
    if (slot === undefined) throw damagedRow(eventKey(revision, 0), 'it is missing')
    return slot
  }

  #group(first: number): Group {
    const known = this.#groups.get(first)
    if (known !== undefined) return known
    const key = eventKey(first, 0)
    const row = this.#store.get(key)
    const slots =
      row === undefined ? new Array<Slot | undefined>(GROUP).fill(undefined) : decodeGroup(unseal(key, row))
    const group = { first, slots, stored: row !== undefined, dirty: false }
    this.#groups.set(first, group)
    if (this.#groups.size > RESIDENT + this.#dirty.size) this.#forgetSome(first)
    return group
  }

  /** What is written already can be read again. */
  #forgetSome(keep: number): void {
    for (const group of this.#groups.values()) {
      if (this.#groups.size <= RESIDENT / 2 + this.#dirty.size) return
      if (!group.dirty && group.first !== keep && !this.#inFlight.has(group)) this.#groups.delete(group.first)
    }
  }

  /** All events of a revision that is kept. Shared: not to be changed. */
  of(revision: number): readonly EventResult[] {
    const { events, revision: newest } = this.#meta
    assert(revision >= events.floor && revision <= newest, `revision ${revision} is not kept`)
    const recent = this.#recent.get(revision)
    if (recent !== undefined) return recent
    const slot = this.#slot(revision)
    const found: EventResult[] = []
    if (slot.pieces === 0) decodeEvents(revision, slot.inline, found)
    for (let piece = 1; piece <= slot.pieces; piece++)
      decodeEvents(revision, this.#piece(revision, piece), found)
    if (slot.bytes <= RECENT_BYTES) this.#remember(revision, found)
    return found
  }

  #remember(revision: number, events: readonly EventResult[]): void {
    this.#recent.set(revision, events)
    if (this.#recent.size > RECENT) this.#recent.delete(this.#recent.keys().next().value as number)
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
      const key = eventKey(group.first, 0)
      batch.push({ key, value: sealBody(key, encodeGroup(group.slots)) })
      group.dirty = false
      group.stored = true
    }
    this.#inFlight = this.#dirty
    this.#dirty = new Set()
    this.#pendingBytes = 0
  }

  settle(): void {
    this.#pieces.settle()
    this.#inFlight = new Set()
    if (this.#groups.size > RESIDENT) this.#forgetSome(firstOf(this.#meta.revision))
  }
}
