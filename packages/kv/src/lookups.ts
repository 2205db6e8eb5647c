// Driver: the stored keys that a range command needs, read before it runs, together with what the overlay has of them: what was
// applied and is not stored yet, and what a batch in flight holds. A page at a time, so that the loop is free in between.
//
// Laws
//   - while the entry of the command waits nothing is applied, so what is found is what the command meets
//   - of the ranges of steps no more is gathered than the command's budget allows; the rest is not looked at

import { binary } from '@latchkey/base'
import type { BudgetLimits, Step } from '@latchkey/protocol'
import { SPACE, keyOfBinary } from './keyspaces.js'
import type { RowView } from './rows/port.js'
import { pagesOf } from './rows/scan.js'
import { damagedRow, isSealed, sealOf } from './rows/seal.js'
import { overFound } from './rules/budget.js'
import type { Found, KeySpan, LiveKeys, Needed, WholeRange } from './rules/ranges.js'
import { Changes, type EventCaps } from './state/changes.js'
import type { Overlay } from './state/row-table.js'
import type { State } from './state/state.js'
import { Sum } from './state/sum.js'

export type LookUpCaps = EventCaps & { readonly budget: BudgetLimits }

export async function lookUp(state: State, needed: Needed, caps: LookUpCaps): Promise<Found> {
  const view = state.store.view()
  // Taken in the same turn as the view: nothing can move from one to the other unseen.
  const look = lookIn(state, view)
  try {
    if ('whole' in needed) return { whole: await wholeRange(look(needed.whole), caps) }
    const branches = needed.branches.map(({ steps, spans }) => ({ steps, looks: spans.map(look) }))
    const live = new Map<readonly Step[], LiveKeys>()
    for (const { steps, looks } of branches) live.set(steps, await liveKeys(looks, caps.budget))
    return { live }
  } finally {
    view.close()
  }
}

/** One range, in the store and in the overlay. */
interface Look {
  readonly view: RowView
  readonly span: KeySpan
  readonly overlay: Overlay
}

const lookIn =
  (state: State, view: RowView) =>
  (span: KeySpan): Look => ({ view, span, overlay: state.data.overlay(span.start, span.end) })

/** False: that is enough. `row` is empty where only keys are asked for and it is the store's. */
type Each = (key: string, row: Uint8Array) => boolean

/** Every live row of the range, in key order, until it is enough. */
async function eachLive({ view, span, overlay }: Look, keysOnly: boolean, each: Each): Promise<void> {
  let at = 0
  /** Keys that only the overlay knows, up to that one. */
  const passOverlay = (key: string | undefined): boolean => {
    for (; at < overlay.keys.length; at++) {
      const known = overlay.keys[at] as string
      if (key !== undefined && known >= key) break
      const row = overlay.row(known)
      if (row !== null && row !== undefined && !each(known, row)) return false
    }
    return true
  }
  const range = { start: keyOfBinary(SPACE.data, span.start), end: keyOfBinary(SPACE.data, span.end) }
  for await (const page of pagesOf(view, range, keysOnly)) {
    for (const { key: rowKey, value } of page) {
      const key = binary(rowKey.subarray(1))
      if (!passOverlay(key)) return
      if (overlay.keys[at] === key) at++
      const pending = overlay.row(key)
      if (pending === null) continue
      if (pending === undefined && !keysOnly && !isSealed(rowKey, value)) throw damagedRow(rowKey)
      if (!each(key, pending ?? value)) return
    }
  }
  passOverlay(undefined)
}

/** Of the ranges of one branch, all together. */
async function liveKeys(looks: readonly Look[], budget: BudgetLimits): Promise<LiveKeys> {
  const keys: string[] = []
  let bytes = 0
  for (const look of looks) {
    await eachLive(look, true, (key) => {
      keys.push(key)
      bytes += key.length
      return keys.length <= budget.rows && bytes <= budget.readBytes
    })
    const over = overFound(budget, keys.length, bytes)
    if (over !== undefined) return over
  }
  return keys
}

async function wholeRange(look: Look, caps: EventCaps): Promise<WholeRange> {
  const keys: string[] = []
  const sum = new Sum()
  const changes = new Changes(caps)
  await eachLive(look, false, (key, row) => {
    keys.push(key)
    sum.add(sealOf(row))
    // Once there are too many for the history, none is kept.
    if (changes.kept) changes.add({ key, row: null, before: row })
    return true
  })
  return { keys, sum, changes }
}
