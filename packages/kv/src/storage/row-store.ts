// Types: the interfaces of a store of ordered rows, on a disk or in memory. testing/row-conformance.ts is the
// suite of tests that every implementation passes.

import type { LevelFigures } from './level-figures.js'
import type { RowKeys } from './compact-list-of-keys.js'

/**
 * One change of a row. A value of undefined removes the row. Any other value has its checksum
 * (stored-row-checksum.ts), and no code changes the value until the batch is written.
 */
export interface RowChange {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
  /** Further bytes of the value, after `value`. Only a row of events with large values has `rest`. */
  readonly rest?: readonly Uint8Array[]
  /**
   * The keys of further rows to remove, any number of them. Only a change with a value of undefined has
   * `others`, and none of these rows is in the event log.
   */
  readonly others?: RowKeys
}
export interface Row {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** A range of row keys. `start` is in the range, and `end` is not. Undefined means no limit. */
export interface RowRange {
  readonly start: Uint8Array | undefined
  readonly end: Uint8Array | undefined
  readonly reverse?: boolean
  /** True if the caller does not need the values of the rows. The values are then empty. */
  readonly keysOnly?: boolean
}

/** Shows the rows as they were when the view was taken. Later writes do not change the view. */
export interface RowView {
  /**
   * Returns the first rows of the range: at most `rows` rows, and not many more than `bytes` bytes. A page
   * with fewer rows is not necessarily the last page.
   */
  page(range: RowRange, rows: number, bytes: number): Promise<RowPage>
  close(): void
}
export interface RowPage {
  readonly rows: readonly Row[]
  /** True if the range has no row after the rows of this page. */
  readonly end: boolean
}

/**
 * Laws
 * - RW1: a batch is in the store whole or not at all, also after a crash at any moment.
 * - RW2: when `write` resolves, the batch is on the disk. Batches become durable in the order of the calls.
 * - RW3: `write` is never called while another write is under way. The caller waits for each write.
 * - RW4: a view shows every batch whose `write` had resolved when the view was taken. A view may also show a
 *   batch that was being written at that moment, but only whole.
 * - RW5: a read refuses a row with ERR_CORRUPT if it cannot prove that the row is right. Keys that begin with
 *   a zero byte are reserved for the implementation.
 * - RW6: a failed write is never repeated, because its outcome is unknown. The store then refuses all writes.
 * - RW7: when `write` resolves, the store uses no bytes of the batch any more. So the caller may reuse these
 *   bytes.
 */
export interface RowStore {
  /** Returns the value of the row, or undefined if there is no such row. The caller may keep the value. */
  get(key: Uint8Array): Uint8Array | undefined
  write(batch: readonly RowChange[]): Promise<void>
  view(): RowView
  /** Frees the disk space of all removed or replaced rows. No row changes, and writes go on meanwhile. */
  compact(): Promise<void>
  /**
   * Returns LevelDB's figures about its tables. Undefined if the rows are not on a disk, or if the store is
   * closed.
   */
  levelFigures?(): LevelFigures | undefined
  /** Closes the store and its views. This method may be called more than once. */
  close(): Promise<void>
}

/**
 * Builds a store beside the live store. Before `commit` no caller can read the new store. `commit` replaces
 * the live store.
 */
export interface RowBuilder {
  /**
   * Adds rows. May be called any number of times, but a call must wait for the call before. Keys may come in
   * any order, but no key twice.
   */
  write(batch: readonly RowChange[]): Promise<void>
  /**
   * Completes the store. When the promise resolves, the new store is complete and synced. A start then finds
   * only the new store, and `RowHome.open` opens it. The old store is still open, and its owner closes it.
   *
   * If the promise rejects, a start finds either the old store or the new store, but never a mixture (S4).
   */
  commit(): Promise<void>
  /** Removes everything that was built. */
  abort(): Promise<void>
}

/** The place where a member keeps its rows, for example a folder. It has at most one live store. */
export interface RowHome {
  /**
   * Removes the files that a crash has left behind, then opens the live store. Resolves to undefined if there
   * is no store yet. Rejects with ERR_CORRUPT if the store is damaged.
   *
   * If the former store is still open, as after a `commit`, its files are not changed.
   */
  open(): Promise<RowStore | undefined>
  build(): Promise<RowBuilder>
  /** Removes the stores that were live before. These stores must be closed. */
  sweep(): Promise<void>
  /**
   * Removes every store. All stores must be closed. Used for a member that gets its whole state again from
   * other members.
   */
  discard(): Promise<void>
}
