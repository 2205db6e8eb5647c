// Rule: adds a numbered row, called batch row, to every batch, so that the store notices a batch that LevelDB
// has lost.
//
// When LevelDB opens, it skips a damaged part of its log without an error. The batches in that part are gone,
// and later batches are still there. So each batch writes a batch row with the next number. The batch also
// removes old batch rows, whose batches LevelDB has moved from its log to its tables. When the store opens,
// the numbers of the batch rows must have no gap.
//
//   key    0x00 'b' u48be number
//   value  the row's checksum | f64le bytes written so far | f64le number of the oldest batch row still kept
//
// If LevelDB loses only the last batches, the rest is a complete but older state. Raft's log shows whether
// that state is too old (D17).

import { valueBytes } from './join-parts-of-row-value.js'
import { elementAt } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Row, RowChange } from './row-store-interface.js'
import { CHECKSUM_BYTES, setChecksum, intactBody } from './stored-row-checksum.js'

export const BATCH_ROWS = { start: Uint8Array.of(0, 0x62), end: Uint8Array.of(0, 0x63) }

/**
 * In bytes. LOG_BYTES: LevelDB begins a new log after this many bytes, and keeps at most two logs.
 * KEEP_BYTES: the store keeps the batch rows of the last KEEP_BYTES bytes, which is more than both logs have.
 */
export const LOG_BYTES = 4 * 1024 * 1024
const KEEP_BYTES = 4 * LOG_BYTES
/**
 * BATCH_ROW_BYTES: the bytes of a batch row. ROW_BYTES: the bytes that LevelDB's log uses for a row besides
 * its key and its value.
 */
const BATCH_ROW_BYTES = 64
const ROW_BYTES = 16

interface BatchRow {
  readonly number: number
  readonly written: number
}

export const bytesOf = (change: RowChange): number => change.key.length + valueBytes(change) + ROW_BYTES

export class BatchRows {
  #rows: BatchRow[] = []
  #number = 0
  #written = 0

  /**
   * Each batch has added one numbered row, its batch row. `rows` has the batch rows of an opened store, in
   * the order of their keys. Throws ERR_CORRUPT if a number is missing.
   */
  static from(rows: readonly Row[]): BatchRows {
    const found = new BatchRows()
    const all = rows.map(decodeBatchRow)
    const last = all[all.length - 1]
    if (last === undefined) return found
    const kept = all.filter((row) => row.number >= last.oldest)
    kept.forEach((row, i) => {
      if (row.number !== last.oldest + i) throw missing(last.oldest + i, last.number)
    })
    if (kept.length !== last.number - last.oldest + 1) throw missing(last.number, last.number)
    found.#rows = kept
    found.#number = last.number
    found.#written = last.written
    return found
  }

  /**
   * Returns the changes that the next batch must contain: its batch row, and the removals of old batch rows.
   * `batchBytes` is the size of the batch in bytes.
   */
  next(batchBytes: number): RowChange[] {
    const bytes = BATCH_ROW_BYTES + batchBytes
    // LevelDB writes a whole batch into one log, even a batch that is larger than LOG_BYTES. So such a batch
    // counts as one full log.
    this.#written += Math.min(bytes, LOG_BYTES)
    this.#number++
    this.#rows.push({ number: this.#number, written: this.#written })
    const old = this.#rows.splice(0, this.#firstKept())
    const oldest = elementAt(this.#rows, 0).number
    return [
      ...old.map((row) => ({ key: batchRowKey(row.number), value: undefined })),
      encodeBatchRow(this.#number, this.#written, oldest),
    ]
  }

  #firstKept(): number {
    return this.#rows.findIndex(({ written }) => written >= this.#written - KEEP_BYTES)
  }
}

function batchRowKey(number: number): Uint8Array {
  const key = Buffer.allocUnsafe(8)
  key[0] = 0
  key[1] = 0x62
  key.writeUIntBE(number, 2, 6)
  return key
}

function encodeBatchRow(number: number, written: number, oldest: number): Row {
  const key = batchRowKey(number)
  const value = Buffer.allocUnsafe(CHECKSUM_BYTES + 16)
  value.writeDoubleLE(written, CHECKSUM_BYTES)
  value.writeDoubleLE(oldest, CHECKSUM_BYTES + 8)
  setChecksum(key, value)
  return { key, value }
}

function decodeBatchRow({ key, value }: Row): BatchRow & { readonly oldest: number } {
  const body = Buffer.from(intactBody(key, value))
  const number = Buffer.from(key).readUIntBE(2, 6)
  return { number, written: body.readDoubleLE(0), oldest: body.readDoubleLE(8) }
}

const missing = (number: number, last: number): LatchkeyError =>
  new LatchkeyError(
    'ERR_CORRUPT',
    `LevelDB lost batch ${number} of ${last}: a part of its log is damaged. Rebuild this member from its peers (latchkey members rebuild), or restore a backup.`,
  )
