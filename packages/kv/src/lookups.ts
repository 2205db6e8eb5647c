// Driver: the stored keys that a range command needs, read before it runs. What was applied but is not stored yet, the command
// finds in the overlay itself; what a batch in flight holds is added here, since it may reach the store at any moment.

import { binary } from '@latchkey/base'
import { SPACE, keyOfBinary } from './keyspaces.js'
import type { RowView } from './rows/port.js'
import { pagesOf } from './rows/scan.js'
import { damagedRow, isSealed, sealOf } from './rows/seal.js'
import type { Found, NeededRange, WholeRange } from './rules/ranges.js'
import { Changes, type EventCaps } from './state/changes.js'
import type { Overlay } from './state/row-table.js'
import type { State } from './state/state.js'
import { Sum } from './state/sum.js'

/** Law: every key that is live when the command runs is in the answer or in the overlay then; more keys do no harm. */
export async function lookUp(state: State, ranges: readonly NeededRange[], caps: EventCaps): Promise<Found> {
  const view = state.store.view()
  // Taken in the same turn as the view: nothing can move from one to the other unseen.
  const overlays = ranges.map(({ start, end }) => state.data.overlay(start, end))
  try {
    const [first] = ranges
    if (first?.alone === true) {
      return { keys: new Map(), whole: await wholeRange(view, first, overlays[0] as Overlay, caps) }
    }
    const keys = new Map<object, readonly string[]>()
    for (const [i, range] of ranges.entries()) {
      keys.set(range.of, [...(overlays[i] as Overlay).keys, ...(await storedKeys(view, range))])
    }
    return { keys }
  } finally {
    view.close()
  }
}

const rowRange = ({ start, end }: NeededRange) => ({
  start: keyOfBinary(SPACE.data, start),
  end: keyOfBinary(SPACE.data, end),
})

async function storedKeys(view: RowView, range: NeededRange): Promise<string[]> {
  const keys: string[] = []
  for await (const page of pagesOf(view, rowRange(range), true)) {
    for (const row of page) keys.push(binary(row.key.subarray(1)))
  }
  return keys
}

/**
 * A page at a time, so that the loop is free in between, and no more kept than the keys. It is what the command will meet: while
 * its entry waits, nothing is applied.
 */
async function wholeRange(
  view: RowView,
  range: NeededRange,
  overlay: Overlay,
  caps: EventCaps,
): Promise<WholeRange> {
  const whole = new Gathering(caps)
  let at = 0
  /** Keys that only the overlay knows, up to that one. */
  const passOverlay = (key: string | undefined) => {
    for (; at < overlay.keys.length; at++) {
      const known = overlay.keys[at] as string
      if (key !== undefined && known >= key) break
      whole.add(known, overlay.row(known))
    }
  }
  for await (const page of pagesOf(view, rowRange(range))) {
    for (const { key: rowKey, value } of page) {
      const key = binary(rowKey.subarray(1))
      passOverlay(key)
      if (overlay.keys[at] === key) at++
      const pending = overlay.row(key)
      if (pending === undefined && !isSealed(rowKey, value)) throw damagedRow(rowKey)
      whole.add(key, pending === undefined ? value : pending)
    }
  }
  passOverlay(undefined)
  return whole
}

class Gathering implements WholeRange {
  readonly keys: string[] = []
  readonly sum = new Sum()
  readonly changes: Changes

  constructor(caps: EventCaps) {
    this.changes = new Changes(caps)
  }

  /** In key order. null, undefined: it is not live. */
  add(key: string, row: Uint8Array | null | undefined): void {
    if (row === null || row === undefined) return
    this.keys.push(key)
    this.sum.add(sealOf(row))
    // Once there are too many for the history, none is kept.
    if (this.changes.kept) this.changes.add({ key, row: null, before: row })
  }
}
