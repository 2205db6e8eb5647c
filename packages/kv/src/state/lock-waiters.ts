// Driver: keeps the queues of waiters for locks in memory. A queue is in the order of arrival, and a heap
// sorts all waiters by deadline. The rows in the store have the same contents.

import { RecyclingMap, addByKey, assert, deleteByKey } from '@latchkey/base'
import type { WaiterRow } from '@latchkey/lock'
import { SPACE, keyOfNumber } from '../keyspaces.js'
import type { Row, RowChange, RowStore } from '../storage/row-store-interface.js'
import { rowsOf } from '../storage/scan-rows.js'
import { type Due, DueHeap } from './deadline-heap.js'
import { byKind, COUNTED_KINDS, type CountsByKind, type LockCounts, kindIndexOf } from './lock-counts.js'
import { keyText } from './lock-key-text.js'
import { decodeWaiter, encodeWaiter, keptWaiter } from './lock-rows.js'

class Waiter implements Due {
  row: WaiterRow
  due: number
  heapIndex = -1
  sortedBy = 0
  stored = false
  dirty = false
  before: Waiter | undefined
  after: Waiter | undefined

  constructor(row: WaiterRow) {
    this.row = row
    this.due = row.deadline
  }
}

/** A linked list in the order of arrival. Removing a waiter takes constant time. */
class Queue {
  readonly byId = new RecyclingMap<string, Waiter>()
  first: Waiter | undefined
  last: Waiter | undefined

  append(waiter: Waiter): void {
    assert(
      this.last === undefined || this.last.row.arrival < waiter.row.arrival,
      'a waiter arrived before the last one',
    )
    this.byId.set(waiter.row.id, waiter)
    waiter.before = this.last
    if (this.last === undefined) this.first = waiter
    else this.last.after = waiter
    this.last = waiter
  }

  remove(waiter: Waiter): void {
    this.byId.delete(waiter.row.id)
    if (waiter.before === undefined) this.first = waiter.after
    else waiter.before.after = waiter.after
    if (waiter.after === undefined) this.last = waiter.before
    else waiter.after.before = waiter.before
    // Without this: a removed waiter in V8's old heap keeps the next waiter in memory, also after that waiter
    // was removed, and so on for all later waiters.
    waiter.before = waiter.after = undefined
  }
}

const flowsOf = ({ flow, within }: WaiterRow): readonly string[] =>
  flow === null ? within : within.length === 0 ? [flow] : [flow, ...within]

function byArrival(waiters: Iterable<Waiter> | undefined): WaiterRow[] {
  if (waiters === undefined) return []
  return Array.from(waiters, ({ row }) => row).sort((a, b) => a.arrival - b.arrival)
}

export class Waiters {
  readonly #queues = new Map<string, Queue>()
  /** The waiters for several locks at once (acquireAll), by their arrival numbers. */
  readonly #ofSets = new Map<number, Waiter>()
  readonly #ofSession = new Map<number, Set<Waiter>>()
  /**
   * The waiters by two kinds of keys, for the search for deadlocks. One kind is the name of the waiter's flow
   * (work that takes its locks one at a time). The other kind is the id of each hold that the waiter's caller
   * already has.
   */
  readonly #ofFlow = new Map<string, Set<Waiter>>()
  /** The waiters of each kind (locks, semaphores, elections), in the order of arrival. */
  readonly #ofKind = COUNTED_KINDS.map(() => new RecyclingMap<Waiter, Waiter>())
  readonly #heap = new DueHeap<Waiter>()
  readonly #dirty = new Set<Waiter>()
  #removed: number[] = []
  readonly #counts: LockCounts

  constructor(counts: LockCounts) {
    this.#counts = counts
  }

  get size(): number {
    let size = 0
    for (const list of this.#ofSession.values()) size += list.size
    return size
  }

  /** In ms, how long the first waiter of each kind has waited. 0 means that no caller waits. */
  longest(now: number): CountsByKind {
    const sinceFirst = (waiters: RecyclingMap<Waiter, Waiter>) => {
      const [first] = waiters.values()
      return first === undefined ? 0 : now - first.row.since
    }
    return byKind(this.#ofKind.map(sinceFirst))
  }

  first(key: Uint8Array): WaiterRow | undefined {
    return this.#queues.size === 0 ? undefined : this.#queues.get(keyText(key))?.first?.row
  }

  get(key: Uint8Array, id: string): WaiterRow | undefined {
    return this.#queues.get(keyText(key))?.byId.get(id)?.row
  }

  ofSet(arrival: number): WaiterRow | undefined {
    return this.#ofSets.get(arrival)?.row
  }

  count(key: Uint8Array): number {
    return this.#queues.get(keyText(key))?.byId.size ?? 0
  }

  *of(key: Uint8Array): Iterable<WaiterRow> {
    const queue = this.#queues.get(keyText(key))
    for (let waiter = queue?.first; waiter !== undefined; waiter = waiter.after) yield waiter.row
  }

  /** Adds or replaces the waiter. Returns the copy of `row` that this table keeps. */
  put(row: WaiterRow): WaiterRow {
    const waiter = this.#queues.get(keyText(row.key))?.byId.get(row.id)
    if (waiter === undefined) return this.#markDirty(this.#add(keptWaiter(row)))
    assert(waiter.row.arrival === row.arrival, 'a waiter keeps its arrival')
    this.#unlist(waiter)
    waiter.row = keptWaiter(row)
    this.#list(waiter)
    return this.#markDirty(waiter)
  }

  #add(row: WaiterRow): Waiter {
    const key = keyText(row.key)
    const queue = this.#queues.get(key) ?? new Queue()
    this.#queues.set(key, queue)
    const waiter = new Waiter(row)
    queue.append(waiter)
    this.#counts.waiting(row, 1)
    this.#ofKind[kindIndexOf(row)]?.set(waiter, waiter)
    if (row.setCount > 0) this.#ofSets.set(row.arrival, waiter)
    for (const name of flowsOf(row)) addByKey(this.#ofFlow, name, waiter)
    this.#list(waiter)
    return waiter
  }

  /**
   * Adds the waiter to the list of its session, and to the heap of deadlines. A waiter with deadline 0 waits
   * without limit.
   */
  #list(waiter: Waiter): void {
    const { session, deadline } = waiter.row
    addByKey(this.#ofSession, session, waiter)
    waiter.due = deadline
    if (deadline !== 0) this.#heap.update(waiter)
  }

  #unlist(waiter: Waiter): void {
    deleteByKey(this.#ofSession, waiter.row.session, waiter)
    this.#heap.remove(waiter)
  }

  #markDirty(waiter: Waiter): WaiterRow {
    if (!waiter.dirty) this.#dirty.add(waiter)
    waiter.dirty = true
    return waiter.row
  }

  delete(row: WaiterRow): void {
    const key = keyText(row.key)
    const queue = this.#queues.get(key)
    const waiter = queue?.byId.get(row.id)
    if (queue === undefined || waiter === undefined) return
    queue.remove(waiter)
    this.#counts.waiting(waiter.row, -1)
    this.#ofKind[kindIndexOf(waiter.row)]?.delete(waiter)
    this.#ofSets.delete(waiter.row.arrival)
    for (const name of flowsOf(waiter.row)) deleteByKey(this.#ofFlow, name, waiter)
    if (queue.first === undefined) this.#queues.delete(key)
    this.#unlist(waiter)
    this.#dirty.delete(waiter)
    if (waiter.stored) this.#removed.push(waiter.row.arrival)
  }

  earliest(): number | undefined {
    return this.#heap.earliest()
  }

  /**
   * Removes from the heap the waiters whose deadline has passed. Returns them in the order of their
   * deadlines, then of their arrival (CT3). The caller deletes these waiters.
   */
  takeDue(now: number): WaiterRow[] {
    return this.#heap
      .takeDue(now)
      .sort((a, b) => a.due - b.due || a.row.arrival - b.row.arrival)
      .map((waiter) => waiter.row)
  }

  countOf(session: number): number {
    return this.#ofSession.get(session)?.size ?? 0
  }

  ofSession(session: number): WaiterRow[] {
    return byArrival(this.#ofSession.get(session))
  }

  /**
   * Returns the waiters of the flow with that name, or the waiters whose caller has the hold with that id, in
   * the order of arrival.
   */
  ofFlow(name: string): WaiterRow[] {
    return byArrival(this.#ofFlow.get(name))
  }

  collect(batch: RowChange[]): void {
    for (const arrival of this.#removed)
      batch.push({ key: keyOfNumber(SPACE.waiters, arrival), value: undefined })
    this.#removed = []
    for (const waiter of this.#dirty) {
      waiter.dirty = false
      waiter.stored = true
      batch.push(encodeWaiter(waiter.row))
    }
    this.#dirty.clear()
  }

  *rows(): Iterable<Row> {
    for (const queue of this.#queues.values()) {
      for (let waiter = queue.first; waiter !== undefined; waiter = waiter.after)
        yield encodeWaiter(waiter.row)
    }
  }

  /** The keys begin with the arrival number, so the rows come in the order of arrival. */
  async load(store: RowStore): Promise<void> {
    for await (const row of rowsOf(store, SPACE.waiters)) this.#add(decodeWaiter(row)).stored = true
  }
}
