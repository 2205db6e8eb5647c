// Types: what lists and watches tell, with the revisions at which it was read.

/** What `scan` finds: an array, with the revision that was read, which JSON and loops do not see. */
export type AtRevision<Row> = Row[] & { readonly revision: number }

/** Rows of one frozen view. */
export interface RangeIterator<T> extends AsyncIterableIterator<T> {
  /**
   * The revision that is read. Asking for it opens the view, if the first `next()` has not done so yet: iterate then, or call
   * `return()`. It rejects as the iteration does, and with ERR_ABORTED where this ends before a view was opened; never unhandled.
   */
  readonly revision: Promise<number>
}
