// Rule: executes the commands on keys and values. docs/api.md describes the commands, and
// result-wire-types.ts of @latchkey/protocol describes their results.

import { binary, equalBytes } from '@latchkey/base'
import { CAPS, EVENT, type LifeArg, type CommandOf } from '@latchkey/protocol'
import { MERGED_TOO_LARGE, type Refused } from '../commands/answer-encoding.js'
import { type Expiry, hasExpiry, nextRow, valueOf, withExpiry } from '../state/key-value-row-format.js'
import { lowerBound } from '../storage/lazily-sorted-keys.js'
import { type WriteSet, ownValue } from './command-write-set.js'
import type { State } from '../state/store-state.js'
import type { Found } from './ranges-needed-by-command.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'

/**
 * Executes a plain put, which has no guard and no ttl. A plain put needs no write set, which would cost time.
 * Nearly all writes are plain puts.
 */
export function put(
  { meta, data, events, expiryIndex }: State,
  key: string,
  value: Uint8Array,
  valueSum?: number,
): number {
  const before = data.get(key)
  const revision = meta.revision + 1
  const row = nextRow(key, revision, value, before, valueSum)
  data.set(key, row, before)
  if (before !== undefined && hasExpiry(before)) expiryIndex.changed(key, before, row)
  meta.revision = revision
  events.appendOne({ key, type: EVENT.put, row, before: before ?? null })
  return revision
}

/** Converts a put's ttl, or LIFE_OF_SESSION, into the key's expiry. The ttl begins at the put's log entry. */
export type Begin = (life: LifeArg) => Expiry | undefined

export function putWithExpiry(
  writeSet: WriteSet,
  [, , key, value, life]: CommandOf<'put'>,
  begin: Begin,
): number {
  writeSet.put(key, value, begin(life))
  return writeSet.commit()
}

/** Gives the key a new ttl. The value does not change, so a touch takes no revision and makes no event. */
export function touch(
  { data, expiryIndex }: State,
  [, , key, ttl]: CommandOf<'touch'>,
  begin: Begin,
): boolean {
  const name = binary(key)
  const before = data.get(name)
  const expiry = begin(ttl)
  if (before === undefined || expiry === undefined) return false
  const row = withExpiry(name, before, expiry)
  data.set(name, row, before)
  expiryIndex.changed(name, before, row)
  return true
}

/** Puts all pairs. If a key occurs several times, only its last value is written. */
export function* putAll(
  writeSet: WriteSet,
  [, , pairs]: CommandOf<'putAll'>,
  begin: Begin,
): WorkInTurns<number> {
  for (const [key, value, life] of yield* lastOfEach(writeSet, pairs)) {
    writeSet.put(key, value, begin(life))
    if (writeSet.turnIsOver) yield
  }
  return writeSet.commit()
}

function* lastOfEach<P extends readonly [Uint8Array, ...unknown[]]>(
  writeSet: WriteSet,
  list: readonly P[],
): WorkInTurns<Iterable<P>> {
  if (list.length === 1) return list
  const last = new Map<string, P>()
  for (const item of list) {
    last.set(binary(item[0]), item)
    writeSet.budget.turn.named(1)
    if (writeSet.turnIsOver) yield
  }
  return last.values()
}

export function putIfAbsent(
  writeSet: WriteSet,
  [, , key, value]: CommandOf<'putIfAbsent'>,
): Uint8Array | null {
  const row = writeSet.row(binary(key))
  if (row === undefined) {
    writeSet.put(key, value)
    writeSet.commit()
  }
  return ownValue(row)
}

export function getAndPut(writeSet: WriteSet, [, , key, value]: CommandOf<'getAndPut'>): Uint8Array | null {
  const row = writeSet.row(binary(key))
  writeSet.put(key, value)
  writeSet.commit()
  return ownValue(row)
}

/**
 * Compares the value of each key before the command with the expected value. If all values are as expected,
 * writes all updates. If a key occurs several times, only its last update is written.
 */
export function* compareAndPutAll(
  writeSet: WriteSet,
  [, , list]: CommandOf<'compareAndPutAll'>,
): WorkInTurns<boolean> {
  for (const [key, expect] of list) {
    if (!hasValue(writeSet.row(binary(key)), expect)) return false
    if (writeSet.turnIsOver) yield
  }
  for (const [key, , update] of yield* lastOfEach(writeSet, list)) {
    if (update === null) writeSet.delete(binary(key))
    else writeSet.put(key, update)
    if (writeSet.turnIsOver) yield
  }
  writeSet.commit()
  return true
}

/** Returns true if the value in `row` is equal to `expect`, or if both are absent. */
export function hasValue(row: Uint8Array | undefined, expect: Uint8Array | null): boolean {
  if (row === undefined || expect === null) return row === undefined && expect === null
  return equalBytes(valueOf(row), expect)
}

export function merge(writeSet: WriteSet, [, , key, value]: CommandOf<'merge'>): number | Refused {
  return mergeInto(writeSet, key, value) ?? writeSet.commit()
}

/**
 * Appends a comma and the value to the value of the key. An absent key gets the value alone. Returns a
 * refusal if the joined value would be too large, else undefined.
 */
export function mergeInto(writeSet: WriteSet, key: Uint8Array, value: Uint8Array): Refused | undefined {
  const row = writeSet.row(binary(key))
  const joined = row === undefined ? value : Buffer.concat([valueOf(row), COMMA, value])
  if (joined.length > CAPS.valueBytes) return MERGED_TOO_LARGE
  writeSet.change(key, joined)
  return undefined
}
const COMMA = Buffer.from(',')

export function* deleteAll(writeSet: WriteSet, [, , keys]: CommandOf<'deleteAll'>): WorkInTurns<number> {
  let removed = 0
  for (const key of keys) {
    if (writeSet.delete(binary(key))) removed++
    if (writeSet.turnIsOver) yield
  }
  writeSet.commit()
  return removed
}

/**
 * Removes all keys of the range without reading a row. `whole` has the number and the changes of the keys,
 * which were looked up before the command ran.
 */
export function deleteRange(
  state: State,
  [, , start, end]: CommandOf<'deleteRange'>,
  { whole }: Found,
): number {
  if (whole === undefined || whole.count === 0) return 0
  state.data.clear(binary(start), binary(end), whole)
  state.meta.revision++
  state.events.append(whole.changes)
  return whole.count
}

/**
 * Executes a deleteRange step of a batch or txn. `live` is the sorted list of all keys that were in the
 * command's ranges before the command.
 */
export function* deleteKeysIn(
  writeSet: WriteSet,
  startKey: Uint8Array,
  endKey: Uint8Array,
  live: readonly string[],
): WorkInTurns<number> {
  const start = binary(startKey)
  const end = binary(endKey)
  if (start >= end) return 0
  const from = lowerBound(live, start)
  const to = lowerBound(live, end)
  writeSet.budget.rows(to - from)
  const keys = new Set([...live.slice(from, to), ...writeSet.knownKeys(start, end)])
  let removed = 0
  for (const key of [...keys].sort()) {
    if (writeSet.delete(key)) removed++
    if (writeSet.turnIsOver) yield
  }
  return removed
}
