// Driver's port: ordered rows on a disk or in memory. Everything above works on this; the conformance suite is conformance.ts.

import type { RowKeys } from './row-keys.js'

/** value undefined: the row is removed. Else it is sealed (row-checksum.ts), and nobody changes it until the batch is written: not longer. */
export interface RowChange {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
  /** With no value: these rows are removed as well, however many they are. None of them is the event log's. */
  readonly others?: RowKeys
}
export interface Row {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** start inclusive, end exclusive; undefined: unbounded. */
export interface RowRange {
  readonly start: Uint8Array | undefined
  readonly end: Uint8Array | undefined
  readonly reverse?: boolean
  /** Values come back empty. */
  readonly keysOnly?: boolean
}

/** Rows as they were when it was taken, whatever is written later. */
export interface RowView {
  /** The next rows of the range: at most `rows` of them, and not many more than `bytes`. Fewer than `rows` does not mean the end. */
  page(range: RowRange, rows: number, bytes: number): Promise<RowPage>
  close(): void
}
export interface RowPage {
  readonly rows: readonly Row[]
  /** Nothing of the range is left behind these. */
  readonly end: boolean
}

/**
 * Laws
 *   RW1  A batch is there whole or not at all, also after a crash at any moment.
 *   RW2  When `write` resolves the batch is on the disk; batches become durable in the order they were issued.
 *   RW3  `write` is never called while another is under way (the caller keeps one in flight).
 *   RW4  A view shows exactly the batches whose `write` had resolved when it was taken, or more of those under way, whole.
 *   RW5  What a read cannot vouch for it refuses with ERR_CORRUPT. Keys that start with a zero byte are the driver's own.
 *   RW6  A failed write is never retried: its outcome is unknown, and the store takes no more.
 *   RW7  When `write` resolves nothing of the batch is kept: its bytes may be used for something else.
 */
export interface RowStore {
  /** The row's bytes, the caller's to keep; undefined: there is none. */
  get(key: Uint8Array): Uint8Array | undefined
  write(batch: readonly RowChange[]): Promise<void>
  view(): RowView
  /** Gives back the disk space of all rows that were removed or replaced; changes no row, and writes go on beside it. */
  compact(): Promise<void>
  /** Ends views too; idempotent. */
  close(): Promise<void>
}

/** A store being built beside the live one. Until `commit` nothing of it can be seen; after it nothing else can. */
export interface RowBuilder {
  /** In any number of pieces; keys in any order, none twice. One call at a time. */
  write(batch: readonly RowChange[]): Promise<void>
  /**
   * Complete and synced: from here on a start finds this store and no other; `RowHome.open` opens it now. The one before is still
   * open, and its owner closes it. A rejection leaves open which of the two a start finds: old or new, never a mix (S4).
   */
  commit(): Promise<void>
  /** As if it had never been begun. */
  abort(): Promise<void>
}

/** The place where a member keeps its rows: one live store at the most. */
export interface RowHome {
  /**
   * The live store, after what a crash left behind was removed; undefined: there is none yet. ERR_CORRUPT: it is damaged.
   * A store that is still open (the one before a `commit`) stays as it is.
   */
  open(): Promise<RowStore | undefined>
  build(): Promise<RowBuilder>
  /** Removes the stores before the live one; they are closed. */
  sweep(): Promise<void>
  /** Removes every store, all closed (a member that is to be rebuilt from its peers). */
  discard(): Promise<void>
}
