// Driver: keeps all holds of locks in memory, ordered by their deadlines. The rows in the store have the same
// contents.
//
// `takeDue` returns an expired hold only once. If no waiter gets the lock, the row of the expired hold stays
// without effect. The row is removed when a caller acquires the lock, when the owner releases the lock, or
// after some time (`takeReclaimable`). After a restart `takeDue` may return an expired hold once more.

import { RecyclingMap, addByKey, deleteByKey } from '@latchkey/base'
import { type HoldRow, type SharedHolds, overAt, reclaimAt } from '@latchkey/lock'
import type { ListPageArg } from '@latchkey/protocol'
import { SPACE, keyOfBinary, keyOfNumber } from '../keyspaces.js'
import type { Row, RowChange, RowStore } from '../storage/row-store-interface.js'
import { rowsOf } from '../storage/scan-rows.js'
import { storedChecksum } from '../storage/stored-row-checksum.js'
import { type Due, DueHeap } from './deadline-heap.js'
import { keyText } from './lock-key-text.js'
import { decodeHold, decodeSharedHold, encodeHold, keptHold } from './lock-rows.js'
import type { LockCounts } from './lock-counts.js'
import { SharedHoldsOf } from './shared-holds.js'
import { smallest } from './smallest-texts.js'

class Hold implements Due {
  readonly key: string
  row: HoldRow
  due: number
  heapIndex = -1
  sortedBy = 0
  stored = false
  /** The index in the list of changed holds, or -1 if the hold has not changed since the last batch. */
  changedIndex = -1
  /** True if the hold has expired and `takeDue` has returned the hold. */
  over = false
  /** The checksum of the hold's row. Undefined if the row has changed since the last computation. */
  checksum: number | undefined

  constructor(key: string, row: HoldRow) {
    this.key = key
    this.row = row
    this.due = overAt(row)
  }
}

function rowOf(hold: Hold): Row {
  const row = encodeHold(hold.row)
  hold.checksum = storedChecksum(row.value)
  return row
}

const byKey = (a: Hold, b: Hold) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.row.arrival - b.row.arrival)
const byDue = (a: Hold, b: Hold) => a.due - b.due || byKey(a, b)

export class Holds {
  readonly #byKey = new RecyclingMap<string, Hold>()
  readonly #shared = new Map<string, SharedHoldsOf<Hold>>()
  #sharedCount = 0
  readonly #live = new DueHeap<Hold>()
  readonly #over = new DueHeap<Hold>()
  readonly #untouched = new Map<number, Set<Hold>>()
  /** The number of holds in force, for each session that has any. */
  readonly #inForce = new Map<number, number>()
  /** The holds whose rows the next batch writes, in no particular order. */
  #changed: Hold[] = []
  #removed = new Set<string>()
  /** The arrival numbers of the shared holds that the next batch removes from the store. */
  #removedShared: number[] = []
  /**
   * The hold that `get` has returned last. The rules often read a row and then replace it, so this field
   * saves a second look-up.
   */
  #last: Hold | undefined
  readonly #counts: LockCounts

  constructor(counts: LockCounts) {
    this.#counts = counts
  }

  get size(): number {
    return this.#byKey.size + this.#sharedCount
  }

  get(key: Uint8Array): HoldRow | undefined {
    this.#last = this.#byKey.get(keyText(key))
    return this.#last?.row
  }

  shared(key: Uint8Array): SharedHolds | undefined {
    return this.#sharedOf(key)
  }

  /** Yields the shared holds of the lock in the order of their grants. */
  *sharedOf(key: Uint8Array): Iterable<HoldRow> {
    for (const { row } of this.#sharedOf(key)?.values() ?? []) yield row
  }

  sharedHold(key: Uint8Array, id: string): HoldRow | undefined {
    return this.#sharedOf(key)?.get(id)?.row
  }

  sharedHoldWith(key: Uint8Array, token: number): HoldRow | undefined {
    return this.#sharedOf(key)?.withToken(token)?.row
  }

  #sharedOf(key: Uint8Array): SharedHoldsOf<Hold> | undefined {
    return this.#sharedCount === 0 ? undefined : this.#shared.get(keyText(key))
  }

  /** Adds or replaces the hold. Returns the copy of `row` that this table keeps. */
  put(row: HoldRow): HoldRow {
    const hold = row.permits === 0 ? this.#exclusive(row.key) : this.#replaceable(row)
    if (hold === undefined) return this.#add(new Hold(keyText(row.key), keptHold(row)))
    this.#unlist(hold)
    const wasOver = hold.over
    const { token, session } = hold.row
    hold.row = keptHold(row, hold.row)
    if (row.permits > 0 && row.token !== token) this.#sharedOf(row.key)?.rotated(hold, token)
    this.#schedule(hold)
    if (wasOver) this.#begins(hold)
    else if (session !== row.session) {
      this.#count(row.session, 1)
      this.#count(session, -1)
    }
    this.#touch(hold)
    return hold.row
  }

  #exclusive(key: Uint8Array): Hold | undefined {
    return this.#last?.row.key === key ? this.#last : this.#byKey.get(keyText(key))
  }

  /**
   * Returns the shared hold whose stored row `row` replaces. The key of a stored row is the arrival number, so
   * a hold of the same id with another arrival number is removed.
   *
   * Law: the stored rows are those of the holds in memory. Without this law: a caller waits for a set of
   * locks, and acquires one of these locks under the same id. The grant of the set replaces the hold in
   * memory, and both rows stay in the store. The caller releases the set, and one row still stays. After a
   * restart, the lock is held on this member, and free on the other members.
   */
  #replaceable(row: HoldRow): Hold | undefined {
    const hold = this.#sharedOf(row.key)?.get(row.id)
    if (hold === undefined || hold.row.arrival === row.arrival) return hold
    this.delete(hold.row)
    return undefined
  }

  #add(hold: Hold): HoldRow {
    this.#register(hold)
    this.#schedule(hold)
    this.#begins(hold)
    this.#touch(hold)
    return hold.row
  }

  #register(hold: Hold): void {
    if (hold.row.permits === 0) {
      this.#byKey.set(hold.key, hold)
      return
    }
    const shared = this.#shared.get(hold.key) ?? new SharedHoldsOf<Hold>()
    this.#shared.set(hold.key, shared)
    shared.add(hold)
    this.#sharedCount++
  }

  /** Counts a hold that is now in force. `#ends` is called when the hold ends. */
  #begins({ row }: Hold): void {
    this.#count(row.session, 1)
    this.#counts.held(row, 1)
  }

  #ends({ row }: Hold): void {
    this.#count(row.session, -1)
    this.#counts.held(row, -1)
  }

  #count(session: number, by: 1 | -1): void {
    const count = (this.#inForce.get(session) ?? 0) + by
    if (count === 0) this.#inForce.delete(session)
    else this.#inForce.set(session, count)
  }

  countOf(session: number): number {
    return this.#inForce.get(session) ?? 0
  }

  #schedule(hold: Hold): void {
    if (hold.over) this.#over.remove(hold)
    hold.over = false
    hold.due = overAt(hold.row)
    this.#live.update(hold)
    if (hold.row.touchBy === 0) return
    addByKey(this.#untouched, hold.row.session, hold)
  }

  #heapOf(hold: Hold): DueHeap<Hold> {
    return hold.over ? this.#over : this.#live
  }

  #unlist(hold: Hold): void {
    if (hold.row.touchBy !== 0) deleteByKey(this.#untouched, hold.row.session, hold)
  }

  #touch(hold: Hold): void {
    hold.checksum = undefined
    if (hold.changedIndex < 0) hold.changedIndex = this.#changed.push(hold) - 1
  }

  /** The last hold of the list takes the place of the removed hold. */
  #unchanged({ changedIndex }: Hold): void {
    const last = changedIndex < 0 ? undefined : this.#changed.pop()
    if (last === undefined || last.changedIndex === changedIndex) return
    this.#changed[changedIndex] = last
    last.changedIndex = changedIndex
  }

  delete(row: HoldRow): void {
    const hold = row.permits === 0 ? this.#exclusive(row.key) : this.#sharedOf(row.key)?.get(row.id)
    if (hold === undefined) return
    this.#unregister(hold)
    this.#last = undefined
    this.#unlist(hold)
    this.#heapOf(hold).remove(hold)
    if (!hold.over) this.#ends(hold)
    this.#unchanged(hold)
    if (!hold.stored) return
    if (hold.row.permits === 0) this.#removed.add(hold.key)
    else this.#removedShared.push(hold.row.arrival)
  }

  #unregister(hold: Hold): void {
    if (hold.row.permits === 0) {
      this.#byKey.delete(hold.key)
      return
    }
    const shared = this.#shared.get(hold.key)
    shared?.remove(hold)
    if (shared?.isEmpty) this.#shared.delete(hold.key)
    this.#sharedCount--
  }

  earliest(): number | undefined {
    return this.#live.earliest()
  }

  takeDue(now: number): HoldRow[] {
    const due = this.#live.takeDue(now).sort(byDue)
    const rows = due.map((hold) => hold.row)
    for (const hold of due) {
      hold.over = true
      this.#ends(hold)
      hold.due = reclaimAt(hold.row)
      this.#over.update(hold)
    }
    return rows
  }

  /** Returns the holds that ended so long ago that the caller may delete their rows. */
  takeReclaimable(now: number): HoldRow[] {
    return this.#over
      .takeDue(now)
      .sort(byDue)
      .map((hold) => hold.row)
  }

  /**
   * Returns true if the session has a grant that its client has not confirmed yet. This method runs for every
   * command, so it must be fast.
   */
  hasUntouched(session: number): boolean {
    return this.#untouched.size > 0 && this.#untouched.has(session)
  }

  untouchedOf(session: number): HoldRow[] {
    const holds = [...(this.#untouched.get(session) ?? [])]
    return holds.sort(byKey).map((hold) => hold.row)
  }

  /** Returns the holds ordered by key, and shared holds of one key by arrival. */
  withPrefix(prefix: string): HoldRow[] {
    const holds = [...this.#all()].filter(({ key }) => key.startsWith(prefix))
    return holds.sort(byKey).map((hold) => hold.row)
  }

  /**
   * Returns a part of the listed holds with that prefix, in the order of `withPrefix`. The method looks at
   * each key, but sorts and returns only the part.
   *
   * A look at a hold takes longer than a look at a key, because most holds are not in the caches of the
   * processor. So the first search looks at keys only. If some of its keys have no listed hold, a second
   * search finds further keys, and looks at holds too.
   */
  page(prefix: string, [after, limit]: ListPageArg, isListed: (row: HoldRow) => boolean): HoldRow[] {
    let start = after === null ? undefined : keyText(after)
    const isBehind = (key: string) => (start === undefined || key > start) && key.startsWith(prefix)
    const hasListed = (key: string) => this.#rowsAt(key).some(isListed)
    const keys = this.#smallestKeys(limit + 1, isBehind)
    const found = keys.filter(hasListed)
    if (keys.length > limit && found.length < keys.length) {
      start = keys.at(-1)
      const isWanted = (key: string) => isBehind(key) && hasListed(key)
      found.push(...this.#smallestKeys(keys.length - found.length, isWanted))
    }
    const rows: HoldRow[] = []
    for (const key of found) {
      const listed = this.#rowsAt(key).filter(isListed)
      if (rows.length >= limit) return [...rows, ...listed.slice(0, 1)]
      for (const row of listed) rows.push(row)
    }
    return rows
  }

  /** Returns each key once. An exclusive hold that is over may have the key of shared holds. */
  #smallestKeys(count: number, isWanted: (key: string) => boolean): string[] {
    const isOnlyShared = (key: string) => isWanted(key) && !this.#byKey.has(key)
    const exclusive = smallest(this.#byKey.keys(), count, isWanted)
    const shared = smallest(this.#shared.keys(), count, isOnlyShared)
    return [...exclusive, ...shared].sort().slice(0, count)
  }

  #rowsAt(key: string): HoldRow[] {
    const exclusive = this.#byKey.get(key)
    const holds = [
      ...(exclusive === undefined ? [] : [exclusive]),
      ...(this.#shared.get(key)?.values() ?? []),
    ]
    return holds.map(({ row }) => row)
  }

  /** Returns the holds of one lock, in the order of arrival. */
  of(key: Uint8Array): HoldRow[] {
    const exclusive = this.get(key)
    if (exclusive !== undefined) return [exclusive]
    return [...this.sharedOf(key)]
  }

  *#all(): Iterable<Hold> {
    yield* this.#byKey.values()
    for (const shared of this.#shared.values()) yield* shared.values()
  }

  /**
   * Adds the changes to the batch. Removals come first, because a lock may be released and acquired again
   * within one batch.
   */
  collect(batch: RowChange[]): void {
    for (const key of this.#removed) batch.push({ key: keyOfBinary(SPACE.holds, key), value: undefined })
    this.#removed = new Set()
    for (const arrival of this.#removedShared)
      batch.push({ key: keyOfNumber(SPACE.shared, arrival), value: undefined })
    this.#removedShared = []
    for (const hold of this.#changed) {
      hold.changedIndex = -1
      hold.stored = true
      batch.push(rowOf(hold))
    }
    this.#changed = []
  }

  /** Returns the checksums of the rows of all exclusive holds, or of all shared holds. */
  *checksums(space: 'holds' | 'shared'): Iterable<number> {
    for (const hold of this.#all()) {
      const isExclusive = hold.row.permits === 0
      if (isExclusive === (space === 'holds')) yield hold.checksum ?? storedChecksum(rowOf(hold).value)
    }
  }

  *rows(): Iterable<Row> {
    for (const hold of this.#all()) yield encodeHold(hold.row)
  }

  /** The key of a shared hold begins with its arrival number, so these rows come in the order of arrival. */
  async load(store: RowStore): Promise<void> {
    for await (const row of rowsOf(store, SPACE.holds)) this.#load(decodeHold(row))
    for await (const row of rowsOf(store, SPACE.shared)) this.#load(decodeSharedHold(row))
  }

  #load(row: HoldRow): void {
    const hold = new Hold(keyText(row.key), row)
    hold.stored = true
    this.#register(hold)
    this.#schedule(hold)
    this.#begins(hold)
  }
}
