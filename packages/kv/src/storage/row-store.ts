// Types: ordered rows on a disk or in memory. testing/row-conformance.ts is the suite of tests that each
// implementation passes.

import type { RowKeys } from './row-keys.js'

/**
 * A value of undefined removes the row. Any other value is sealed (row-checksum.ts), and nobody changes it
 * until the batch is written.
 */
export interface RowChange {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
  /**
   * More rows that this change removes, any number of them. Only a change with a value of undefined has it,
   * and none of these rows is in the event log.
   */
  readonly others?: RowKeys
}
export interface Row {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** `start` is included, `end` is not; undefined: no limit. */
export interface RowRange {
  readonly start: Uint8Array | undefined
  readonly end: Uint8Array | undefined
  readonly reverse?: boolean
  /** The values of the rows are empty. */
  readonly keysOnly?: boolean
}

/** The rows at the moment when the view was taken; later writes do not change it. */
export interface RowView {
  /**
   * The first rows of the range: at most `rows` of them, and not many more than `bytes`. A page with fewer
   * rows need not be the last.
   */
  page(range: RowRange, rows: number, bytes: number): Promise<RowPage>
  close(): void
}
export interface RowPage {
  readonly rows: readonly Row[]
  /** No row of the range comes after these. */
  readonly end: boolean
}

/**
 * Laws
 * - RW1: a batch is there whole or not at all, also after a crash at any moment.
 * - RW2: when `write` resolves the batch is on the disk; batches become durable in the order of the calls.
 * - RW3: `write` is never called while another is under way; the caller waits for each.
 * - RW4: a view shows every batch whose `write` had resolved when it was taken. It may also show a batch that
 *   was under way, but only whole.
 * - RW5: a read refuses with ERR_CORRUPT what it cannot prove to be right. Keys that begin with a zero byte
 *   are reserved for the driver.
 * - RW6: a failed write is never repeated: its outcome is unknown, and the store takes no more writes.
 * - RW7: when `write` resolves nothing of the batch is kept, so the caller may reuse its bytes.
 */
export interface RowStore {
  /** The value of the row, which the caller may keep; undefined: there is no such row. */
  get(key: Uint8Array): Uint8Array | undefined
  write(batch: readonly RowChange[]): Promise<void>
  view(): RowView
  /**
   * Frees the disk space of all rows that were removed or replaced. It changes no row, and writes may go on
   * meanwhile.
   */
  compact(): Promise<void>
  /** Also closes the views; may be called again. */
  close(): Promise<void>
}

/**
 * A store that is built beside the live one. Before `commit` nothing of it can be read; after `commit` it
 * replaces the live one.
 */
export interface RowBuilder {
  /** May be called any number of times, but one at a time. Keys may come in any order, but none twice. */
  write(batch: readonly RowChange[]): Promise<void>
  /**
   * When this resolves the store is complete and synced: a start finds it and no other, and `RowHome.open`
   * opens it. The store before is still open; its owner closes it.
   * If this rejects, a start finds either the old store or the new one, but never a mixture (S4).
   */
  commit(): Promise<void>
  /** Removes everything that was built. */
  abort(): Promise<void>
}

/** Where a member keeps its rows; there is one live store at most. */
export interface RowHome {
  /**
   * Opens the live store after removing what a crash left behind; undefined: there is none yet. Rejects with
   * ERR_CORRUPT if it is damaged.
   * A store that is still open, such as the one before a `commit`, is not touched.
   */
  open(): Promise<RowStore | undefined>
  build(): Promise<RowBuilder>
  /** Removes the stores before the live one; they must be closed. */
  sweep(): Promise<void>
  /** Removes every store; all must be closed. Used for a member that is rebuilt from its peers. */
  discard(): Promise<void>
}
