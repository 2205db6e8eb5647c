// Rule: adds a numbered row, called batch row, to every batch. So the store notices a batch that LevelDB has
// lost.
//
// When LevelDB opens, it skips a damaged part of its log without an error. The batches in that part are gone,
// and later batches are still there. So each batch writes a batch row with the next number, and removes old
// batch rows. By then LevelDB has moved the batches of these old rows from its log to its tables. When the
// store opens, the numbers of the batch rows must have no gap.
//
//   key    0x00 'b' u48be number
//   value  the row's checksum | f64le bytes written so far | f64le number of the oldest batch row still kept
//
// If LevelDB loses only the last batches, the rest is a complete but older state. Raft's log shows whether
// that state is too old (D17).

import { valueBytes } from './row-value.js'
import { elementAt } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Row, RowChange } from './row-store.js'
import { SEAL, seal, unseal } from './stored-row-checksum.js'

export const MARKS = { start: Uint8Array.of(0, 0x62), end: Uint8Array.of(0, 0x63) }

/**
 * In bytes. LOG_BYTES: LevelDB begins a new log after this many bytes, and keeps at most two logs.
 * KEEP_BYTES: the store keeps the batch rows of the last KEEP_BYTES bytes, which is more than the two logs
 * have together.
 */
export const LOG_BYTES = 4 * 1024 * 1024
const KEEP_BYTES = 4 * LOG_BYTES
/**
 * MARK_BYTES: the bytes of a batch row. ROW_BYTES: the bytes that LevelDB's log uses for a row besides its
 * key and its value.
 */
const MARK_BYTES = 64
const ROW_BYTES = 16

interface Mark {
  readonly number: number
  readonly written: number
}

/** Returns how many bytes a row adds to LevelDB's log. */
export const bytesOf = (change: RowChange): number => change.key.length + valueBytes(change) + ROW_BYTES

export class BatchMarks {
  #marks: Mark[] = []
  #number = 0
  #written = 0

  /**
   * Reads the batch rows of a store, in the order of their keys. Throws ERR_CORRUPT if a batch row is
   * missing.
   */
  static from(rows: readonly Row[]): BatchMarks {
    const chain = new BatchMarks()
    const marks = rows.map(decodeMark)
    const last = marks[marks.length - 1]
    if (last === undefined) return chain
    const kept = marks.filter((mark) => mark.number >= last.oldest)
    kept.forEach((mark, i) => {
      if (mark.number !== last.oldest + i) throw missing(last.oldest + i, last.number)
    })
    if (kept.length !== last.number - last.oldest + 1) throw missing(last.number, last.number)
    chain.#marks = kept
    chain.#number = last.number
    chain.#written = last.written
    return chain
  }

  /**
   * Returns the new batch row and the removals of old ones, which the next batch must write. `batchBytes` is
   * the size of the batch.
   */
  next(batchBytes: number): RowChange[] {
    const bytes = MARK_BYTES + batchBytes
    // LevelDB writes a batch of any size into one log, so a larger batch also fills only one log.
    this.#written += Math.min(bytes, LOG_BYTES)
    this.#number++
    this.#marks.push({ number: this.#number, written: this.#written })
    const old = this.#marks.splice(0, this.#firstKept())
    const oldest = elementAt(this.#marks, 0).number
    return [
      ...old.map((mark) => ({ key: markKey(mark.number), value: undefined })),
      encodeMark(this.#number, this.#written, oldest),
    ]
  }

  #firstKept(): number {
    return this.#marks.findIndex(({ written }) => written >= this.#written - KEEP_BYTES)
  }
}

function markKey(number: number): Uint8Array {
  const key = Buffer.allocUnsafe(8)
  key[0] = 0
  key[1] = 0x62
  key.writeUIntBE(number, 2, 6)
  return key
}

function encodeMark(number: number, written: number, oldest: number): Row {
  const key = markKey(number)
  const value = Buffer.allocUnsafe(SEAL + 16)
  value.writeDoubleLE(written, SEAL)
  value.writeDoubleLE(oldest, SEAL + 8)
  seal(key, value)
  return { key, value }
}

function decodeMark({ key, value }: Row): Mark & { readonly oldest: number } {
  const body = Buffer.from(unseal(key, value))
  const number = Buffer.from(key).readUIntBE(2, 6)
  return { number, written: body.readDoubleLE(0), oldest: body.readDoubleLE(8) }
}

const missing = (number: number, last: number): LatchkeyError =>
  new LatchkeyError(
    'ERR_CORRUPT',
    `LevelDB lost batch ${number} of ${last}: a part of its log is damaged. Rebuild this member from its peers (latchkey members rebuild), or restore a backup.`,
  )
