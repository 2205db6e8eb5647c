// Types: what lists and watches tell, with the revisions at which it was read.

/** The result of `scan`: an array with the revision that was read, as a property that JSON and loops skip. */
export type AtRevision<Row> = Row[] & { readonly revision: number }

/** Rows of one frozen view. */
export interface RangeIterator<T> extends AsyncIterableIterator<T> {
  /**
   * The revision that is read. Asking for it opens the view, if the first `next()` has not done so yet: iterate then, or call
   * `return()`. It rejects as the iteration does, and with ERR_ABORTED where this ends before a view was opened; never unhandled.
   */
  readonly revision: Promise<number>
}

/** A key that was there when the watch began, or began again after a reset. */
export interface InitialPut<Key, Value> {
  /** Of the write that gave the key this value. */
  revision: number
  type: 'put'
  initial: true
  key: Key
  value: Value
  previous: undefined
}
/** All that was there has been told: it is the state of the store at this revision. Changes follow from the next revision on. */
export interface Synced {
  type: 'synced'
  revision: number
}
/** What was told before counts no more: all that is there is told again. */
export interface Reset {
  type: 'reset'
}
/** What a watch with `initial: true` yields. */
export type InitialWatchEvent<Event extends { key: unknown; value: unknown }> =
  | (Event & { initial?: undefined })
  | InitialPut<Event['key'], Exclude<Event['value'], undefined>>
  | Synced
  | Reset
