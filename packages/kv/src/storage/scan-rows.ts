// Driver: reads all rows of a key space, or the rows of a range, page by page.

import { keyAfter, lastOf } from '@latchkey/base'
import { spaceRange } from '../keyspaces.js'
import type { Row, RowPage, RowStore, RowView } from './row-store-interface.js'

const PAGE_ROWS = 1_000
const PAGE_BYTES = 1024 * 1024

export async function* rowsOf(store: RowStore, space: number): AsyncIterable<Row> {
  const view = store.view()
  try {
    for await (const page of pagesOf(view, spaceRange(space))) yield* page
  } finally {
    view.close()
  }
}

/**
 * Yields the rows of [start, end) of a view, in order. While the caller works on one page, the next page is
 * already being read.
 */
export async function* pagesOf(
  view: RowView,
  range: { readonly start: Uint8Array | undefined; readonly end: Uint8Array | undefined },
  keysOnly = false,
): AsyncIterable<readonly Row[]> {
  const from = (start: Uint8Array | undefined) =>
    view.page({ start, end: range.end, keysOnly }, PAGE_ROWS, PAGE_BYTES)
  let next: Promise<RowPage> | undefined = from(range.start)
  try {
    while (next !== undefined) {
      const { rows, end }: RowPage = await next
      next = end ? undefined : from(keyAfter(lastOf(rows).key))
      if (rows.length > 0) yield rows
    }
  } finally {
    // If the caller stops early, the read of the next page may still be under way. This read must end before
    // the view is closed.
    await next?.catch(() => {})
  }
}
