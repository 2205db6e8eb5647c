// Types: the results of lists and watches, with their revisions.

/** The result of `scan`: an array with the revision of the read, as a property that JSON and loops ignore. */
export type AtRevision<Row> = Row[] & { readonly revision: number }

/** An iterator over the rows of one frozen view. */
export interface RangeIterator<T> extends AsyncIterableIterator<T> {
  /**
   * The revision of the read. Reading this property opens the view if `next()` has not opened it yet. Then
   * iterate, or call `return()`. The promise rejects if the iteration fails, and with ERR_ABORTED if the
   * iteration ends before it has a view. A rejection of this promise is never an unhandled rejection.
   */
  readonly revision: Promise<number>
}

/** A key that existed when the watch began, or began again after a reset. */
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
 * The watch has now reported all existing keys, which are the state of the store at this revision. Changes
 * follow from the next revision on.
 */
export interface Synced {
  type: 'synced'
  revision: number
}
/** Everything that the watch reported before is no longer valid. All existing keys follow again. */
export interface Reset {
  type: 'reset'
}
/** The items of a watch with `initial: true`. */
export type InitialWatchEvent<Event extends { key: unknown; value: unknown }> =
  | (Event & { initial?: undefined })
  | InitialPut<Event['key'], Exclude<Event['value'], undefined>>
  | Synced
  | Reset
