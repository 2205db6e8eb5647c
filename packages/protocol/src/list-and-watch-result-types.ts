// Types: the results of lists and watches, with their revisions.

/**
 * The result of `scan`: an array with the revision of the read. JSON.stringify and `for ... of` ignore the
 * property `revision`.
 */
export type AtRevision<Row> = Row[] & { readonly revision: number }

/** An iterator over the rows of one view, which later writes do not change. */
export interface RangeIterator<T> extends AsyncIterableIterator<T> {
  /**
   * The revision of the view. Reading this property opens the view if `next()` has not opened it yet. Then
   * iterate, or call `return()`, to close the view. The promise rejects if the iteration fails, and rejects
   * with ERR_ABORTED if the iteration ends before its view was opened. If you do not handle the rejection,
   * the process continues.
   */
  readonly revision: Promise<number>
}

/** A key that existed when the watch began, or when the watch began again after a reset. */
export interface InitialPut<Key, Value> {
  /** The revision of the write that gave the key this value. */
  revision: number
  type: 'put'
  initial: true
  key: Key
  value: Value
  previous: undefined
}
/**
 * The watch has now reported all existing keys, in the state of the store at this revision. The changes after
 * this revision follow.
 */
export interface Synced {
  type: 'synced'
  revision: number
}
/** All earlier items of the watch are no longer valid. All existing keys follow again. */
export interface Reset {
  type: 'reset'
}
/** The items of a watch with `initial: true`. */
export type InitialWatchEvent<Event extends { key: unknown; value: unknown }> =
  | (Event & { initial?: undefined })
  | InitialPut<Event['key'], Exclude<Event['value'], undefined>>
  | Synced
  | Reset
