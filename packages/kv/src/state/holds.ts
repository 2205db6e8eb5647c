// Driver: the holds in memory, ordered by their deadlines; their rows always have the same contents.
//
// `takeDue` returns an expired hold only once. What is left of it is a row without waiters, which changes
// nothing until another acquirer takes the lock, its owner releases it, or it is reclaimed. After a restart
// an expired hold may be returned once more.

import { RecyclingMap, binary } from '@latchkey/base'
import { type HoldRow, overAt, reclaimAt } from '@latchkey/lock'
import { SPACE, keyOfBinary } from '../keyspaces.js'
import type { Row, RowChange, RowStore } from '../storage/row-store.js'
import { rowsOf } from '../storage/page-scan.js'
import { sealOf } from '../storage/row-checksum.js'
import { type Due, DueHeap } from './deadline-heap.js'
import { decodeHold, encodeHold, keptHold } from './lock-rows.js'

class Hold implements Due {
  readonly key: string
  row: HoldRow
  due: number
  place = -1
  placed = 0
  stored = false
  dirty = false
  /** The hold is over, and `takeDue` has returned it. */
  over = false
  /** The seal of its current row; undefined: not computed yet. */
  seal: number | undefined

  constructor(key: string, row: HoldRow) {
    this.key = key
    this.row = row
    this.due = overAt(row)
  }
}

function rowOf(hold: Hold): Row {
  const row = encodeHold(hold.row)
  hold.seal = sealOf(row.value)
  return row
}

const byKey = (a: Hold, b: Hold) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
const byDue = (a: Hold, b: Hold) => a.due - b.due || byKey(a, b)

export class Holds {
  readonly #byKey = new RecyclingMap<string, Hold>()
  readonly #live = new DueHeap<Hold>()
  readonly #over = new DueHeap<Hold>()
  readonly #untouched = new Map<number, Set<Hold>>()
  /** The number of holds in force of each session. */
  readonly #inForce = new Map<number, number>()
  readonly #dirty = new RecyclingMap<Hold, true>()
  #removed = new Set<string>()
  /** The hold of the last lookup: a caller that reads a row and then replaces it needs only one lookup. */
  #last: Hold | undefined

  get size(): number {
    return this.#byKey.size
  }

  get(key: Uint8Array): HoldRow | undefined {
    this.#last = this.#byKey.get(binary(key))
    return this.#last?.row
  }

  /** Returns the row as the table keeps it. */
  put(row: HoldRow): HoldRow {
    const last = this.#last?.row.key === row.key ? this.#last : undefined
    const hold = last ?? this.#byKey.get(binary(row.key))
    if (hold === undefined) return this.#add(new Hold(binary(row.key), keptHold(row)))
    this.#unlist(hold)
    const before = hold.over ? undefined : hold.row.session
    hold.row = keptHold(row, hold.row)
    this.#placed(hold)
    if (before !== row.session) {
      this.#count(row.session, 1)
      if (before !== undefined) this.#count(before, -1)
    }
    this.#touch(hold)
    return hold.row
  }

  #add(hold: Hold): HoldRow {
    this.#byKey.set(hold.key, hold)
    this.#placed(hold)
    this.#count(hold.row.session, 1)
    this.#touch(hold)
    return hold.row
  }

  #count(session: number, by: 1 | -1): void {
    const count = (this.#inForce.get(session) ?? 0) + by
    if (count === 0) this.#inForce.delete(session)
    else this.#inForce.set(session, count)
  }

  /** The number of holds in force that this session acquired. */
  countOf(session: number): number {
    return this.#inForce.get(session) ?? 0
  }

  #placed(hold: Hold): void {
    if (hold.over) this.#over.remove(hold)
    hold.over = false
    hold.due = overAt(hold.row)
    this.#live.update(hold)
    if (hold.row.touchBy === 0) return
    const list = this.#untouched.get(hold.row.session) ?? new Set()
    this.#untouched.set(hold.row.session, list.add(hold))
  }

  #heapOf(hold: Hold): DueHeap<Hold> {
    return hold.over ? this.#over : this.#live
  }

  #unlist(hold: Hold): void {
    if (hold.row.touchBy === 0) return
    const list = this.#untouched.get(hold.row.session)
    list?.delete(hold)
    if (list?.size === 0) this.#untouched.delete(hold.row.session)
  }

  #touch(hold: Hold): void {
    hold.seal = undefined
    if (hold.dirty) return
    hold.dirty = true
    this.#dirty.set(hold, true)
  }

  delete(key: Uint8Array): void {
    const hold = this.#byKey.get(binary(key))
    if (hold === undefined) return
    this.#byKey.delete(hold.key)
    this.#last = undefined
    this.#unlist(hold)
    this.#heapOf(hold).remove(hold)
    if (!hold.over) this.#count(hold.row.session, -1)
    this.#dirty.delete(hold)
    if (hold.stored) this.#removed.add(hold.key)
  }

  earliest(): number | undefined {
    return this.#live.earliest()
  }

  takeDue(now: number): HoldRow[] {
    const due = this.#live.takeDue(now).sort(byDue)
    const rows = due.map((hold) => hold.row)
    for (const hold of due) {
      hold.over = true
      this.#count(hold.row.session, -1)
      hold.due = reclaimAt(hold.row)
      this.#over.update(hold)
    }
    return rows
  }

  /** Holds that ended so long ago that their rows are removed; the caller deletes each. */
  takeReclaimable(now: number): HoldRow[] {
    return this.#over
      .takeDue(now)
      .sort(byDue)
      .map((hold) => hold.row)
  }

  /** Whether the session has a grant that it has not touched yet. Called for every command. */
  hasUntouched(session: number): boolean {
    return this.#untouched.size > 0 && this.#untouched.has(session)
  }

  untouchedOf(session: number): HoldRow[] {
    const holds = [...(this.#untouched.get(session) ?? [])]
    return holds.sort(byKey).map((hold) => hold.row)
  }

  /** The holds whose keys begin with `prefix`, in the order of their keys. */
  withPrefix(prefix: string): HoldRow[] {
    const holds = [...this.#byKey.values()].filter(({ key }) => key.startsWith(prefix))
    return holds.sort(byKey).map((hold) => hold.row)
  }

  /**
   * Removals come first, because a hold that was removed and acquired again must be in the batch after its
   * removal.
   */
  collect(batch: RowChange[]): void {
    for (const key of this.#removed) batch.push({ key: keyOfBinary(SPACE.holds, key), value: undefined })
    this.#removed = new Set()
    for (const hold of this.#dirty.keys()) {
      hold.dirty = false
      hold.stored = true
      batch.push(rowOf(hold))
    }
    this.#dirty.clear()
  }

  /** The seals of `rows`, without building again the rows that were built for a batch. */
  *seals(): Iterable<number> {
    for (const hold of this.#byKey.values()) yield hold.seal ?? sealOf(rowOf(hold).value)
  }

  *rows(): Iterable<Row> {
    for (const hold of this.#byKey.values()) yield encodeHold(hold.row)
  }

  async load(store: RowStore): Promise<void> {
    for await (const row of rowsOf(store, SPACE.holds)) {
      const held = decodeHold(row)
      const hold = new Hold(binary(held.key), held)
      hold.stored = true
      this.#byKey.set(hold.key, hold)
      this.#placed(hold)
      this.#count(held.session, 1)
    }
  }
}
