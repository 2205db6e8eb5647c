// Types: the interfaces of a store of ordered rows, on a disk or in memory. Every implementation passes the
// tests of testing/row-store-conformance-tests.ts.

import type { LevelFigures } from './leveldb-stats-parser.js'
import type { RowKeys } from './compact-list-of-keys.js'

/**
 * One change of a row. A value of undefined removes the row. Any other value begins with its checksum
 * (stored-row-checksum.ts). The bytes of the value must not change before the batch is written.
 */
export interface RowChange {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
  /**
   * More bytes of the value, which follow the bytes in `value`, so that large values need not be copied. Only
   * a row of events has `rest`.
   */
  readonly rest?: readonly Uint8Array[]
  /**
   * The keys of more rows to remove. Only a change without a value has `others`. The keys of events are never
   * in `others`.
   */
  readonly others?: RowKeys
}
export interface Row {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/**
 * A range of row keys. `start` is in the range, and `end` is not. Undefined means that the range has no limit
 * on that side.
 */
export interface RowRange {
  readonly start: Uint8Array | undefined
  readonly end: Uint8Array | undefined
  readonly reverse?: boolean
  /** If true, the page has empty values. */
  readonly keysOnly?: boolean
}

/** A snapshot of the rows at the moment of its creation. */
export interface RowView {
  /**
   * Returns the first rows of the range: at most `rows` rows, and not many more than `bytes` bytes. A page
   * with fewer rows is not necessarily the last page (see `RowPage.end`).
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
 * - RW1: the store has a whole batch or nothing of it, also after a crash at any moment.
 * - RW2: when `write` resolves, the batch is on the disk. Batches become durable in the order of the calls.
 * - RW3: the caller waits for each `write` before it calls `write` again.
 * - RW4: a view shows every batch whose `write` had resolved when the view was taken. A view may also show a
 *   batch that was being written at that moment, but only the whole batch.
 * - RW5: a read throws ERR_CORRUPT if the checksum of a row does not match. Keys that begin with a zero byte
 *   are reserved for the implementation.
 * - RW6: after a failed write the store refuses all writes, because nobody knows whether the disk has the
 *   batch.
 * - RW7: when `write` resolves, the caller may reuse the bytes of the batch.
 */
export interface RowStore {
  /** The caller may keep the value. */
  get(key: Uint8Array): Uint8Array | undefined
  write(batch: readonly RowChange[]): Promise<void>
  view(): RowView
  /**
   * Frees the disk space of all removed or replaced rows. The content of the store does not change, and other
   * writes go on during the call.
   */
  compact(): Promise<void>
  /**
   * Returns LevelDB's statistics about its tables. Undefined if the rows are not on a disk, or if the store
   * is closed.
   */
  levelFigures?(): LevelFigures | undefined
  /** Closes the store and its views. A second call does nothing. */
  close(): Promise<void>
}

/**
 * Builds a new store beside the live store, for example from a snapshot. Nobody can read the new store before
 * `commit`, which replaces the live store.
 */
export interface RowBuilder {
  /**
   * Adds rows. The caller waits for each call before the next call. Keys may come in any order, but no key
   * may come twice.
   */
  write(batch: readonly RowChange[]): Promise<void>
  /**
   * Completes the new store. After the promise has resolved, `RowStorage.open` opens the new store, which is
   * synced. The old store is still open, and its owner closes it.
   *
   * If the promise rejects, the next start finds either the old store or the new store, but never a mixture
   * (S4).
   */
  commit(): Promise<void>
  /** Removes the new store, before a `commit`. */
  abort(): Promise<void>
}

/**
 * The place where a member keeps its rows, for example a folder. A storage has at most one live store, which
 * `open` opens.
 */
export interface RowStorage {
  /**
   * Removes what a crash has left behind, then opens the live store. Resolves to undefined if the storage is
   * empty. Rejects with ERR_CORRUPT if the live store is damaged.
   *
   * If another store is still open, as after a `commit`, its files stay unchanged.
   */
  open(): Promise<RowStore | undefined>
  build(): Promise<RowBuilder>
  /** Removes the stores that a newer live store has replaced. These old stores must be closed. */
  sweep(): Promise<void>
  /**
   * Removes every store. All stores must be closed. A damaged member calls `discard` before it gets its whole
   * state from another member.
   */
  discard(): Promise<void>
}
