// Rule: the key-value commands of the table in docs/api.md. Each is atomic; its result is described in
// protocol's results.ts.

import { binary, equalBytes } from '@latchkey/base'
import { CAPS, type Command, EVENT, type LifeArg, type OP } from '@latchkey/protocol'
import { MERGED_TOO_LARGE, type Refused } from '../commands/answers.js'
import { type Life, hasLife, nextRow, valueOf, withLife } from '../state/data-row.js'
import { lowerBound } from '../storage/sorted-keys.js'
import { type Draft, ownValue } from './draft.js'
import type { State } from '../state/state.js'
import type { Found } from './needed-ranges.js'
import type { InTurns } from './apply-turn.js'

type Of<Name extends keyof typeof OP> = Extract<Command, readonly [(typeof OP)[Name], ...unknown[]]>

/** Does the same as a draft with one put, without the draft, because nearly all writes are puts. */
export function put(
  { meta, data, events, lives }: State,
  key: string,
  value: Uint8Array,
  valueSum?: number,
): number {
  const before = data.get(key)
  const revision = meta.revision + 1
  const row = nextRow(key, revision, value, before, valueSum)
  data.set(key, row, before)
  if (before !== undefined && hasLife(before)) lives.changed(key, before, row)
  meta.revision = revision
  events.appendOne({ key, type: EVENT.put, row, before: before ?? null })
  return revision
}

/** Turns the life that a put asks for into one that begins at this entry. */
export type Begin = (life: LifeArg) => Life | undefined

export function putWithLife(draft: Draft, [, , key, value, life]: Of<'put'>, begin: Begin): number {
  draft.put(key, value, begin(life))
  return draft.commit()
}

/** Gives the key a new life. The value does not change, so this takes no revision and makes no event. */
export function touch({ data, lives }: State, [, , key, ttl]: Of<'touch'>, begin: Begin): boolean {
  const name = binary(key)
  const before = data.get(name)
  const life = begin(ttl)
  if (before === undefined || life === undefined) return false
  const row = withLife(name, before, life)
  data.set(name, row, before)
  lives.changed(name, before, row)
  return true
}

/** If a key occurs several times, only its last value is written: one change for each key. */
export function* putAll(draft: Draft, [, , pairs]: Of<'putAll'>, begin: Begin): InTurns<number> {
  for (const [key, value, life] of lastOfEach(pairs)) {
    draft.put(key, value, begin(life))
    if (draft.turnIsOver) yield
  }
  return draft.commit()
}

function lastOfEach<P extends readonly [Uint8Array, ...unknown[]]>(list: readonly P[]): Iterable<P> {
  return list.length === 1 ? list : new Map(list.map((item) => [binary(item[0]), item])).values()
}

export function putIfAbsent(draft: Draft, [, , key, value]: Of<'putIfAbsent'>): Uint8Array | null {
  const row = draft.row(binary(key))
  if (row === undefined) {
    draft.put(key, value)
    draft.commit()
  }
  return ownValue(row)
}

export function getAndPut(draft: Draft, [, , key, value]: Of<'getAndPut'>): Uint8Array | null {
  const row = draft.row(binary(key))
  draft.put(key, value)
  draft.commit()
  return ownValue(row)
}

/**
 * All or nothing: every value is compared with the state before the command; then, if a key occurs several
 * times, its last update is written.
 */
export function* compareAndPutAll(draft: Draft, [, , list]: Of<'compareAndPutAll'>): InTurns<boolean> {
  for (const [key, expect] of list) {
    if (!hasValue(draft.row(binary(key)), expect)) return false
    if (draft.turnIsOver) yield
  }
  for (const [key, , update] of lastOfEach(list)) {
    if (update === null) draft.delete(binary(key))
    else draft.put(key, update)
    if (draft.turnIsOver) yield
  }
  draft.commit()
  return true
}

/** Whether the row has that value; an expected value of null means that there must be no row. */
export function hasValue(row: Uint8Array | undefined, expect: Uint8Array | null): boolean {
  if (row === undefined || expect === null) return row === undefined && expect === null
  return equalBytes(valueOf(row), expect)
}

export function merge(draft: Draft, [, , key, value]: Of<'merge'>): number | Refused {
  return mergeInto(draft, key, value) ?? draft.commit()
}

/** Appends the value after a comma; an absent key gets the value alone. */
export function mergeInto(draft: Draft, key: Uint8Array, value: Uint8Array): Refused | undefined {
  const row = draft.row(binary(key))
  const joined = row === undefined ? value : Buffer.concat([valueOf(row), COMMA, value])
  if (joined.length > CAPS.valueBytes) return MERGED_TOO_LARGE
  draft.change(key, joined)
  return undefined
}
const COMMA = Buffer.from(',')

export function* deleteAll(draft: Draft, [, , keys]: Of<'deleteAll'>): InTurns<number> {
  let removed = 0
  for (const key of keys) {
    if (draft.delete(binary(key))) removed++
    if (draft.turnIsOver) yield
  }
  draft.commit()
  return removed
}

/**
 * Removes any number of keys at once without reading them, because they were found while the entry waited.
 */
export function deleteRange(state: State, [, , start, end]: Of<'deleteRange'>, { whole }: Found): number {
  if (whole === undefined || whole.count === 0) return 0
  state.data.clear(binary(start), binary(end), whole)
  state.meta.revision++
  state.events.append(whole.changes)
  return whole.count
}

/**
 * A deleteRange that is a step of a batch. Keys are removed in their order, which is also the order of the
 * events. `live` has, in order, the keys that the command's ranges had when it began.
 */
export function* deleteKeysIn(
  draft: Draft,
  startKey: Uint8Array,
  endKey: Uint8Array,
  live: readonly string[],
): InTurns<number> {
  const start = binary(startKey)
  const end = binary(endKey)
  if (start >= end) return 0
  const from = lowerBound(live, start)
  const to = lowerBound(live, end)
  draft.budget.rows(to - from)
  const keys = new Set([...live.slice(from, to), ...draft.knownKeys(start, end)])
  let removed = 0
  for (const key of [...keys].sort()) {
    if (draft.delete(key)) removed++
    if (draft.turnIsOver) yield
  }
  return removed
}
