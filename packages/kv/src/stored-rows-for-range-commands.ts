// Driver: reads the stored rows that a command over a range needs before it runs. Joins the stored rows with
// the overlay: the changes that are not on the disk yet (state/row-table-with-overlay.ts). Rows are read page
// by page, and the event loop runs between two pages.
//
// Laws
// - While the command waits, no other entry is applied. So the command sees exactly the rows that were found.
// - The ranges of the steps of a batch or txn are read only until the limits of the command are reached.

import { elementAt, binary } from '@latchkey/base'
import { type BudgetLimits, EVENT, type Step } from '@latchkey/protocol'
import { SPACE, keyOfBinary } from './keyspaces.js'
import type { Row, RowView } from './storage/row-store-interface.js'
import { RowKeys } from './storage/compact-list-of-keys.js'
import { pagesOf } from './storage/scan-rows.js'
import { damagedRow, isIntact, storedChecksum } from './storage/stored-row-checksum.js'
import { overFound } from './rules/work-limit-per-command.js'
import type {
  Found,
  FoundExpiry,
  KeySpan,
  LiveKeys,
  Needed,
  NeededExpiry,
  WholeRange,
} from './rules/ranges-needed-by-command.js'
import { Changes, type EventCaps } from './state/command-event-rows.js'
import { eventBytesOf } from './state/event-row-format.js'
import { indexedAt } from './state/key-expiry-index-rows.js'
import type { Overlay } from './state/row-table-with-overlay.js'
import type { State } from './state/store-state.js'
import { RowSetHash } from './state/row-set-hash.js'

/** The rows of a range, counted before a deleteRange of the range is applied (delete-range-row-counts.ts). */
export interface Surveyed {
  readonly keys: RowKeys
  readonly sum: RowSetHash
  count: number
  /** In bytes, the size of the events that the removal of the range makes. */
  bytes: number
}

type LookUpCaps = EventCaps & { readonly budget: BudgetLimits }

export interface Turns {
  next(): Promise<void>
}

export async function lookUp(state: State, needed: Needed, caps: LookUpCaps, turns: Turns): Promise<Found> {
  if ('expiry' in needed) return { expiry: await lookUpExpiry(state, needed.expiry, turns) }
  const view = state.store.view()
  // The overlay has the changes that are not on the disk yet. The overlay and the view must be taken in the
  // same turn of the event loop. Otherwise a row could move from the overlay to the store between the two
  // turns, and neither would have the row.
  const look = lookIn(state, view)
  try {
    if ('whole' in needed) {
      const changes = new Changes(state.meta.revision + 1, caps)
      return { whole: await wholeRange(look(needed.whole), changes, turns) }
    }
    const branches = needed.branches.map(({ steps, spans }) => ({ steps, looks: spans.map(look) }))
    const live = new Map<readonly Step[], LiveKeys>()
    for (const { steps, looks } of branches) live.set(steps, await liveKeys(looks, caps.budget, turns))
    return { live }
  } finally {
    view.close()
  }
}

interface Look {
  readonly view: RowView
  readonly space: number
  readonly span: KeySpan
  readonly overlay: Overlay
}

const lookIn =
  (state: State, view: RowView) =>
  (span: KeySpan): Look => ({
    view,
    space: SPACE.data,
    span,
    overlay: state.data.overlay(span.start, span.end),
  })

/**
 * Receives one row. Returns false to end the reading. If only keys are read, `row` is empty for a row on the
 * disk.
 */
type Each = (rowKey: Uint8Array, row: Uint8Array) => boolean

/** Calls `each` for every existing row of the range, in key order, until `each` returns false. */
async function eachLive({ view, space, span, overlay }: Look, keysOnly: boolean, turns: Turns, each: Each) {
  let next = 0
  /**
   * Calls `each` for the keys before `key` that are only in the overlay, and not on the disk yet. Returns
   * false if `each` has returned false.
   */
  const passOverlay = (key: string | undefined): boolean => {
    for (; next < overlay.keys.length; next++) {
      const known = elementAt(overlay.keys, next)
      if (key !== undefined && known >= key) break
      const row = overlay.row(known)
      if (row !== null && row !== undefined && !each(keyOfBinary(space, known), row)) return false
    }
    return true
  }
  const one = ({ key: rowKey, value }: Row): boolean => {
    const pending = overlay.isEmpty ? undefined : pendingRow(binary(rowKey.subarray(1)))
    if (pending === null) return true
    if (pending === undefined && !keysOnly && !isIntact(rowKey, value)) throw damagedRow(rowKey)
    return each(rowKey, pending ?? value)
  }
  const pendingRow = (key: string): Uint8Array | null | undefined => {
    if (overlay.keys[next] === key) next++
    return overlay.row(key)
  }
  const range = { start: keyOfBinary(space, span.start), end: keyOfBinary(space, span.end) }
  for await (const page of pagesOf(view, range, keysOnly)) {
    for (const row of page) {
      if (!overlay.isEmpty && !passOverlay(binary(row.key.subarray(1)))) return
      if (!one(row)) return
    }
    await turns.next()
  }
  passOverlay(undefined)
}

/** Returns the existing keys of all ranges of one branch of a txn, or an error if there are too many. */
async function liveKeys(looks: readonly Look[], budget: BudgetLimits, turns: Turns): Promise<LiveKeys> {
  const keys: string[] = []
  let bytes = 0
  for (const look of looks) {
    await eachLive(look, true, turns, (rowKey) => {
      keys.push(binary(rowKey.subarray(1)))
      bytes += rowKey.length - 1
      return keys.length <= budget.rows && bytes <= budget.readBytes
    })
    const over = overFound(budget, keys.length, bytes)
    if (over !== undefined) return over
  }
  return keys
}

/** Reads ranges of the index of expiring keys, in order, until `most` keys are found. */
async function lookUpExpiry(
  { store, expiryIndex }: State,
  { sessions, spans, now, most }: NeededExpiry,
  turns: Turns,
): Promise<FoundExpiry> {
  const view = store.view()
  const looks = spans.map((span) => ({
    view,
    space: SPACE.expiry,
    span,
    overlay: expiryIndex.rows.overlay(span.start, span.end),
  }))
  const indexKeys: string[] = []
  const wholeSessions: number[] = []
  let isCut = false
  let next: number | null | undefined
  try {
    for (const [i, look] of looks.entries()) {
      if (isCut) break
      const session = sessions[i]
      if (session === undefined) next = null
      await eachLive(look, true, turns, (rowKey) => {
        const indexKey = binary(rowKey.subarray(1))
        const { kind, number } = indexedAt(indexKey).expiry
        const isWanted = kind === 'session' || number < now
        isCut = isWanted && indexKeys.length >= most
        if (kind === 'due' && (isCut || !isWanted)) next = number
        if (isCut || !isWanted) return false
        indexKeys.push(indexKey)
        return true
      })
      if (session !== undefined && !isCut) wholeSessions.push(session)
    }
  } finally {
    view.close()
  }
  return { indexKeys, wholeSessions, isCut, next }
}

/**
 * Finds all keys of the range. Collects also the delete events of these keys, as long as the history of
 * events has room for all of them.
 */
async function wholeRange(look: Look, changes: Changes, turns: Turns): Promise<WholeRange> {
  const keys = new RowKeys()
  const sum = new RowSetHash()
  await eachLive(look, false, turns, (rowKey, row) => {
    keys.add(rowKey)
    sum.add(storedChecksum(row))
    if (changes.kept)
      changes.add({ key: binary(rowKey.subarray(1)), type: EVENT.delete, row: null, before: row })
    return true
  })
  return { keys, sum, changes, count: keys.size }
}

/**
 * Finds the rows that a range has at the time of the call. Other entries are applied during the look-up, and
 * may change rows that are not on the disk yet (the overlay). The caller puts the former row of each changed
 * key into `changed`. The look-up uses this former row instead of the newer row.
 */
export async function surveyRange(
  state: State,
  span: KeySpan,
  changed: ReadonlyMap<string, Uint8Array | undefined>,
  turns: Turns,
): Promise<Surveyed> {
  const view = state.store.view()
  const now = state.data.overlay(span.start, span.end)
  const row = (key: string) => (changed.has(key) ? (changed.get(key) ?? null) : now.row(key))
  const look = { view, space: SPACE.data, span, overlay: { keys: now.keys, isEmpty: now.isEmpty, row } }
  const found = { keys: new RowKeys(), sum: new RowSetHash(), count: 0, bytes: 0 }
  try {
    await eachLive(look, false, turns, (rowKey, row) => {
      found.keys.add(rowKey)
      found.sum.add(storedChecksum(row))
      found.count++
      found.bytes += eventBytesOf(rowKey.length - 1, row)
      return true
    })
  } finally {
    view.close()
  }
  return found
}
