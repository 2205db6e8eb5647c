// Types: the interfaces of a store of ordered rows, on a disk or in memory. testing/row-conformance.ts is the
// suite of tests that every implementation passes.

import type { LevelFigures } from './level-figures.js'
import type { RowKeys } from './compact-list-of-keys.js'

/**
 * A value of undefined removes the row. Any other value has its checksum (row-checksum.ts), and no code
 * changes the value until the batch is written.
 */
export interface RowChange {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
  /** Further bytes of the value, which follow. Only a row of events has `rest`, if it has large values. */
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

/** `start` is in the range, `end` is not. Undefined means no limit. */
export interface RowRange {
  readonly start: Uint8Array | undefined
  readonly end: Uint8Array | undefined
  readonly reverse?: boolean
  /** True if the values of the rows are not needed. They are then empty. */
  readonly keysOnly?: boolean
}

/** Shows the rows as they are at the moment when the view is taken. Later writes do not change the view. */
export interface RowView {
  /**
   * Returns the first rows of the range: at most `rows` of them, and not many more than `bytes`. A page with
   * fewer rows is not necessarily the last page.
   */
  page(range: RowRange, rows: number, bytes: number): Promise<RowPage>
  close(): void
}
export interface RowPage {
  readonly rows: readonly Row[]
  /** True if the range has no row after these. */
  readonly end: boolean
}

/**
 * Laws
 * - RW1: a batch is there whole or not at all, also after a crash at any moment.
 * - RW2: when `write` resolves, the batch is on the disk. Batches become durable in the order of the calls.
 * - RW3: `write` is never called while another write is under way. The caller waits for each.
 * - RW4: a view shows every batch whose `write` had resolved when the view was taken. A view may also show a
 *   batch that was being written at that moment, but only whole.
 * - RW5: a read refuses with ERR_CORRUPT what it cannot prove to be right. Keys that begin with a zero byte
 *   are reserved for the implementation.
 * - RW6: a failed write is never repeated, because its outcome is unknown. The store then refuses all writes.
 * - RW7: when `write` resolves, the store uses no bytes of the batch any more. So the caller may reuse them.
 */
export interface RowStore {
  /** Returns the value of the row, which the caller may keep, or undefined if there is no such row. */
  get(key: Uint8Array): Uint8Array | undefined
  write(batch: readonly RowChange[]): Promise<void>
  view(): RowView
  /**
   * Frees the disk space of all rows that were removed or replaced. No row changes, and writes
   * are served meanwhile.
   */
  compact(): Promise<void>
  /** What LevelDB tells of its tables; undefined: the rows are not on a disk, or the store is closed. */
  levelFigures?(): LevelFigures | undefined
  /** Closes the store and its views. It may be called more than once. */
  close(): Promise<void>
}

/**
 * Builds a store beside the live one. Before `commit` nothing of the new store can be read. After `commit` it
 * has replaced the live store.
 */
export interface RowBuilder {
  /**
   * May be called any number of times, but a call must wait for the one before. Keys may come in any order,
   * but no key twice.
   */
  write(batch: readonly RowChange[]): Promise<void>
  /**
   * When this resolves, the new store is complete and synced: a start finds the new store and no other, and
   * `RowHome.open` opens it. The old store is still open, and its owner closes it.
   * If this rejects, a start finds either the old store or the new one, but never a mixture (S4).
   */
  commit(): Promise<void>
  /** Removes everything that was built. */
  abort(): Promise<void>
}

/** The place where a member keeps its rows. It has at most one live store. */
export interface RowHome {
  /**
   * Removes what a crash has left behind, then opens the live store. Resolves to undefined if there is none
   * yet. Rejects with ERR_CORRUPT if the store is damaged.
   * If the former store is still open, as after a `commit`, it is not touched.
   */
  open(): Promise<RowStore | undefined>
  build(): Promise<RowBuilder>
  /** Removes the stores that were live before. They must be closed. */
  sweep(): Promise<void>
  /**
   * Removes every store. All must be closed. Used for a member that gets its whole state again
   * from other members.
   */
  discard(): Promise<void>
}
