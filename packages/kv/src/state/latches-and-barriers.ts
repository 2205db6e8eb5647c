// Driver: keeps all latches and barriers, and the parties (waiting calls) at them, in memory. The rows in the
// store have the same contents.

import { EMPTY, addByKey, assert, binary, copyBytes, deleteByKey, fromBinary } from '@latchkey/base'
import {
  type BarrierInfoResult,
  CAPS,
  type LatchInfoResult,
  type ListPageArg,
  type PartyOf,
} from '@latchkey/protocol'
import { SPACE, keyOfNumber } from '../keyspaces.js'
import { BARRIER, LATCH } from '../rules/end-latch-and-barrier-waits.js'
import type { BarrierRow, PartyRow, PartyTransaction } from '../rules/latch-and-barrier-tables.js'
import { rowsOf } from '../storage/scan-rows.js'
import type { Row, RowChange, RowStore } from '../storage/row-store-interface.js'
import { type Due, DueHeap } from './deadline-heap.js'
import type { Meta } from './meta-row.js'
import { NamedRows } from './in-memory-rows-by-name.js'
import { smallest } from './smallest-texts.js'
import {
  decodeBarrier,
  decodeLatch,
  decodeParty,
  encodeBarrier,
  encodeLatch,
  encodeParty,
  type LatchRow,
  waitPointOf,
} from './latch-and-barrier-rows.js'

class Party implements Due {
  row: PartyRow
  due = 0
  heapIndex = -1
  sortedBy = 0
  stored = false

  constructor(row: PartyRow) {
    this.row = row
  }
}

/**
 * The parties (calls) at one latch or barrier. `byId` also has the parties whose wait has ended. `byId` and
 * `waiting` are in the order of arrival.
 */
class WaitPoint {
  readonly name: Uint8Array
  readonly byId = new Map<string, Party>()
  readonly waiting = new Set<Party>()

  constructor(name: Uint8Array) {
    this.name = copyBytes(name)
  }
}

/** The keys of all barriers in `#waitPoints` begin with this text. */
const BARRIERS = waitPointOf(BARRIER, EMPTY)

export interface PartyCounts {
  readonly latches: number
  readonly barriers: number
  readonly atLatches: number
  readonly atBarriers: number
}

export class Parties implements PartyTransaction {
  readonly #meta: Meta
  readonly #latches = new NamedRows<LatchRow>({
    space: SPACE.latches,
    encode: encodeLatch,
    decode: decodeLatch,
  })
  /** The barriers, in the order of their last use, the oldest first. */
  readonly #barriers = new NamedRows<BarrierRow>({
    space: SPACE.barriers,
    encode: encodeBarrier,
    decode: decodeBarrier,
  })
  readonly #waitPoints = new Map<string, WaitPoint>()
  readonly #ofSession = new Map<number, Set<Party>>()
  readonly #heap = new DueHeap<Party>()
  readonly #dirty = new Set<Party>()
  #size = 0
  readonly #waiting = { [LATCH]: 0, [BARRIER]: 0 }
  #removed: number[] = []
  #ended: PartyRow[] = []

  constructor(meta: Meta) {
    this.#meta = meta
  }

  get counts(): PartyCounts {
    return {
      latches: this.#latches.size,
      barriers: this.#barriers.size,
      atLatches: this.#waiting[LATCH],
      atBarriers: this.#waiting[BARRIER],
    }
  }

  get rowCount(): number {
    return this.#latches.size + this.#barriers.size + this.#size
  }

  // ---- Latches and barriers

  latch(name: Uint8Array): number | undefined {
    return this.#latches.get(name)?.count
  }

  putLatch(name: Uint8Array, count: number): boolean {
    if (this.#latches.size >= CAPS.latches && this.#latches.get(name) === undefined) return false
    this.#latches.put({ name, count })
    return true
  }

  deleteLatch(name: Uint8Array): void {
    this.#latches.delete(name)
  }

  barrier(name: Uint8Array): BarrierRow | undefined {
    return this.#barriers.get(name)
  }

  putBarrier(row: BarrierRow): boolean {
    const before = this.#barriers.get(row.name)
    if (before === undefined && this.#barriers.size >= CAPS.barriers && !this.#forgetBarrier()) return false
    this.#barriers.put(row, before?.used !== row.used)
    return true
  }

  /**
   * Removes the barrier that was unused for the longest time and has no waiting party. Returns false if
   * parties wait at every barrier.
   */
  #forgetBarrier(): boolean {
    for (const { name } of this.#barriers.inOrder()) {
      if (this.waitingCount(BARRIER, name) > 0) continue
      this.#barriers.delete(name)
      return true
    }
    return false
  }

  /**
   * Lists the latches, or the barriers at which a call waits, whose names begin with `prefix`, ordered by
   * name. A barrier without a waiting call is not listed, because its row is kept only for the number of its
   * next generation. With `page`, the method looks at each name, but returns only the rows of the page.
   */
  listed(of: PartyOf, prefix: Uint8Array, page?: ListPageArg): (LatchInfoResult | BarrierInfoResult)[] {
    const [after, limit] = page ?? [null, Number.POSITIVE_INFINITY]
    const [start, before] = [binary(prefix), after === null ? undefined : binary(after)]
    const isWanted = (name: string) => name.startsWith(start) && (before === undefined || name > before)
    const names = of === LATCH ? this.#latches.names() : this.#waitedBarriers()
    return smallest(names, limit + 1, isWanted).map((text) => this.#info(of, fromBinary(text)))
  }

  *#waitedBarriers(): Iterable<string> {
    for (const [key, { waiting }] of this.#waitPoints)
      if (waiting.size > 0 && key.startsWith(BARRIERS)) yield key.slice(BARRIERS.length)
  }

  #info(of: PartyOf, name: Uint8Array): LatchInfoResult | BarrierInfoResult {
    const waiters = this.waitingCount(of, name)
    if (of === LATCH) return [name, this.latch(name) as number, waiters]
    const { over, parties } = this.barrier(name) as BarrierRow
    return [name, over + 1, parties, waiters]
  }

  // ---- Parties

  party(of: PartyOf, name: Uint8Array, id: string): PartyRow | undefined {
    return this.#waitPoint(of, name)?.byId.get(id)?.row
  }

  #waitPoint(of: PartyOf, name: Uint8Array): WaitPoint | undefined {
    return this.#waitPoints.size === 0 ? undefined : this.#waitPoints.get(waitPointOf(of, name))
  }

  waitingCount(of: PartyOf, name: Uint8Array): number {
    return this.#waitPoint(of, name)?.waiting.size ?? 0
  }

  waiting(of: PartyOf, name: Uint8Array): PartyRow[] {
    return [...(this.#waitPoint(of, name)?.waiting ?? [])].map(({ row }) => row)
  }

  hasRoom(of: PartyOf, name: Uint8Array): boolean {
    const here = this.#waitPoint(of, name)?.byId.size ?? 0
    return this.#size < CAPS.parties && here < CAPS.partiesOfOne
  }

  putParty(row: PartyRow): void {
    const party = this.#waitPoint(row.of, row.name)?.byId.get(row.id)
    if (party === undefined) return void this.#dirty.add(this.#add(row))
    assert(party.row.arrival === row.arrival, 'a party keeps its arrival')
    this.#unlist(party)
    party.row = { ...row, name: party.row.name }
    this.#list(party)
    this.#dirty.add(party)
  }

  #add(row: PartyRow): Party {
    const key = waitPointOf(row.of, row.name)
    const waitPoint = this.#waitPoints.get(key) ?? new WaitPoint(row.name)
    this.#waitPoints.set(key, waitPoint)
    const party = new Party({ ...row, name: waitPoint.name })
    waitPoint.byId.set(row.id, party)
    this.#size++
    this.#list(party)
    return party
  }

  /**
   * Adds the party to the lists of its session and of its latch or barrier. A waiting party keeps its place
   * in the order when its row changes.
   */
  #list(party: Party): void {
    const { of, name, session, deadline, state } = party.row
    addByKey(this.#ofSession, session, party)
    const waiting = (this.#waitPoint(of, name) as WaitPoint).waiting
    const before = waiting.size
    if (state === 'waiting') waiting.add(party)
    else waiting.delete(party)
    this.#waiting[of] += waiting.size - before
    party.due = deadline
    if (state === 'waiting' && deadline !== 0) this.#heap.update(party)
  }

  #unlist(party: Party): void {
    deleteByKey(this.#ofSession, party.row.session, party)
    this.#heap.remove(party)
  }

  deleteParty(row: PartyRow): void {
    const waitPoint = this.#waitPoint(row.of, row.name)
    const party = waitPoint?.byId.get(row.id)
    if (waitPoint === undefined || party === undefined) return
    this.#unlist(party)
    waitPoint.byId.delete(row.id)
    if (waitPoint.waiting.delete(party)) this.#waiting[row.of]--
    if (waitPoint.byId.size === 0) this.#waitPoints.delete(waitPointOf(row.of, row.name))
    this.#size--
    this.#dirty.delete(party)
    if (party.stored) this.#removed.push(party.row.arrival)
  }

  nextArrival(): number {
    return this.#meta.arrival++
  }

  ended(row: PartyRow): void {
    this.#ended.push(row)
  }

  /** Returns the parties whose wait has ended since the last call. */
  takeEnded(): readonly PartyRow[] {
    const ended = this.#ended
    if (ended.length > 0) this.#ended = []
    return ended
  }

  /** Returns how many parties of the session wait at latches and barriers. */
  countOf(session: number): number {
    let count = 0
    for (const { row } of this.#ofSession.get(session) ?? []) if (row.state === 'waiting') count++
    return count
  }

  partiesOf(session: number): PartyRow[] {
    const parties = [...(this.#ofSession.get(session) ?? [])]
    return parties.map(({ row }) => row).sort((a, b) => a.arrival - b.arrival)
  }

  dueParties(now: number): PartyRow[] {
    const due = this.#heap.takeDue(now).sort((a, b) => a.due - b.due || a.row.arrival - b.row.arrival)
    return due.map(({ row }) => row)
  }

  earliest(): number | undefined {
    return this.#heap.earliest()
  }

  // ---- Stored rows

  collect(batch: RowChange[]): void {
    this.#latches.collect(batch)
    this.#barriers.collect(batch)
    for (const arrival of this.#removed)
      batch.push({ key: keyOfNumber(SPACE.parties, arrival), value: undefined })
    this.#removed = []
    for (const party of this.#dirty) {
      party.stored = true
      batch.push(encodeParty(party.row))
    }
    this.#dirty.clear()
  }

  get rows(): Readonly<Record<'latches' | 'barriers' | 'parties', Iterable<Row>>> {
    return { latches: this.#latches.rows(), barriers: this.#barriers.rows(), parties: this.#partyRows() }
  }

  *#partyRows(): Iterable<Row> {
    for (const { byId } of this.#waitPoints.values())
      for (const { row } of byId.values()) yield encodeParty(row)
  }

  /** The keys of parties begin with the arrival number, so the parties come in the order of arrival. */
  async load(store: RowStore): Promise<void> {
    await this.#latches.load(store)
    await this.#barriers.load(store, (a, b) => a.used - b.used)
    for await (const row of rowsOf(store, SPACE.parties)) this.#add(decodeParty(row)).stored = true
  }
}
