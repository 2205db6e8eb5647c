// Rule: a mark in every batch, so that a batch that LevelDB lost is noticed. LevelDB opens without a word over a damaged part of
// its log: the batches in it are gone and later ones are there. Each batch therefore writes a numbered mark, and takes out marks
// so old that their batches have long left LevelDB's log; at open the marks must follow each other without a gap.
//
//   key 0x00 'b' u48be number | value: f64le bytes written so far | f64le the oldest mark still kept, then the row's seal
//
// What is lost at the end only is an older state, whole: the log of consensus tells whether it is too old (D17).

import { LatchkeyError } from '@latchkey/protocol'
import type { Row, RowChange } from './row-store.js'
import { SEAL, seal, unseal } from './row-checksum.js'

export const MARKS = { start: Uint8Array.of(0, 0x62), end: Uint8Array.of(0, 0x63) }

/** LevelDB begins a new log when so much is in the one before, and has two at the most: four times that is safely behind both. */
export const LOG_BYTES = 4 * 1024 * 1024
const KEEP_BYTES = 4 * LOG_BYTES
/** What a mark itself adds, and a row besides its bytes. */
const MARK_BYTES = 64
const ROW_BYTES = 16

interface Mark {
  readonly number: number
  readonly written: number
}

/** What a row adds to a batch. */
export const bytesOf = ({ key, value }: RowChange): number => key.length + (value?.length ?? 0) + ROW_BYTES

export class BatchMarks {
  #marks: Mark[] = []
  #number = 0
  #written = 0

  /** From the marks of a store, in key order. Throws ERR_CORRUPT where one is missing. */
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

  /** What the next batch, of so many bytes, has to write besides itself. */
  next(batchBytes: number): RowChange[] {
    const bytes = MARK_BYTES + batchBytes
    // However large, a batch is one record of one log.
    this.#written += Math.min(bytes, LOG_BYTES)
    this.#number++
    this.#marks.push({ number: this.#number, written: this.#written })
    const old = this.#marks.splice(0, this.#firstKept())
    const oldest = (this.#marks[0] as Mark).number
    return [
      ...old.map((mark) => ({ key: markKey(mark.number), value: undefined })),
      encodeMark(this.#number, this.#written, oldest),
    ]
  }

  #firstKept(): number {
    let at = 0
    while ((this.#marks[at] as Mark).written < this.#written - KEEP_BYTES) at++
    return at
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
