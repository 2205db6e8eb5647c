// Driver: the stored keys that a range command needs, read before it runs. What was applied but is not stored yet, the command
// finds in the overlay itself; what a batch in flight holds is added here, since it may reach the store at any moment.

import { binary } from '@latchkey/base'
import { SPACE, keyOfBinary } from './keyspaces.js'
import { pagesOf } from './rows/scan.js'
import type { FoundKeys, NeededRange } from './rules/ranges.js'
import type { State } from './state/state.js'

/** Law: every key that is live when the command runs is in the answer or in the overlay then; more keys do no harm. */
export async function lookUp(state: State, ranges: readonly NeededRange[]): Promise<FoundKeys> {
  const found = new Map<object, readonly string[]>()
  const view = state.store.view()
  // Taken in the same turn as the view: nothing can move from one to the other unseen.
  const overlay = ranges.map(({ start, end }) => state.data.overlayKeys(start, end))
  try {
    for (const [i, { of, start, end }] of ranges.entries()) {
      const keys = overlay[i] as string[]
      const range = { start: keyOfBinary(SPACE.data, start), end: keyOfBinary(SPACE.data, end) }
      for await (const page of pagesOf(view, range, true)) {
        for (const row of page) keys.push(binary(row.key.subarray(1)))
      }
      found.set(of, keys)
    }
  } finally {
    view.close()
  }
  return found
}
