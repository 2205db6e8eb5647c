// Door: the byte format of a whole state, for a snapshot to a lagging member and for a backup file. Format 1:
//
//   "LKSTATE" | u8 format          then frames
//   frame     u32le length of body | u32le crc32 of body, continuing the crc32 of the frame before | body
//   body      u8 kind | contents
//   contents  of kind 0, first: the meta row; of kind 1: rows; of kind 2, last: u48le count of rows
//   row       u16le key length | u32le value length | key | value with its checksum
//
// The checksum of the last frame covers the whole stream in its order. Rows are in key order, each once,
// without the meta row.

import { elementAt, checksum } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Row } from '../storage/row-store-interface.js'

export const FRAME = { meta: 0, rows: 1, end: 2 } as const
export const PREAMBLE: Uint8Array = Buffer.concat([Buffer.from('LKSTATE'), Uint8Array.of(1)])

const FRAME_HEAD = 8
const ROW_HEAD = 6
/**
 * In bytes, the longest frame. FrameReader refuses a longer frame. FrameWriter puts the rows of one read from
 * the row store into one frame. A read ends after 1 MiB, but its last row may be large.
 */
const MOST_FRAME_BYTES = 80 * 1024 * 1024

export class FrameWriter {
  #crc = checksum(PREAMBLE)

  meta(row: Uint8Array): Buffer {
    return this.#frame(FRAME.meta, [row])
  }

  rows(rows: readonly Row[]): Buffer {
    return this.#frame(
      FRAME.rows,
      rows.flatMap(({ key, value }) => {
        const head = Buffer.allocUnsafe(ROW_HEAD)
        head.writeUInt16LE(key.length)
        head.writeUInt32LE(value.length, 2)
        return [head, key, value]
      }),
    )
  }

  end(count: number): Buffer {
    const body = Buffer.allocUnsafe(6)
    body.writeUIntLE(count, 0, 6)
    return this.#frame(FRAME.end, [body])
  }

  #frame(kind: number, parts: readonly Uint8Array[]): Buffer {
    const frame = Buffer.concat([Buffer.alloc(FRAME_HEAD), Uint8Array.of(kind), ...parts])
    const body = frame.subarray(FRAME_HEAD)
    this.#crc = checksum(body, this.#crc)
    frame.writeUInt32LE(body.length, 0)
    frame.writeUInt32LE(this.#crc, 4)
    return frame
  }
}

export interface Frame {
  readonly kind: number
  readonly body: Buffer
}

/**
 * Converts pieces of any size into whole frames, and checks their checksums. Throws ERR_CORRUPT if a frame is
 * not valid.
 */
export class FrameReader {
  #crc = checksum(PREAMBLE)
  #begun = false
  #ended = false
  #offset = 0
  #pieces: Uint8Array[] = []
  #held = 0

  get ended(): boolean {
    return this.#ended
  }

  /** The number of bytes that are not part of a complete frame yet. */
  get left(): number {
    return this.#held
  }

  push(piece: Uint8Array): Frame[] {
    this.#pieces.push(piece)
    this.#held += piece.length
    const frames: Frame[] = []
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame)
    return frames
  }

  #next(): Frame | undefined {
    if (!this.#begun) this.#begin()
    if (!this.#begun || this.#held < FRAME_HEAD) return undefined
    const head = this.#peek(FRAME_HEAD)
    const length = head.readUInt32LE(0)
    if (this.#ended || length === 0 || length > MOST_FRAME_BYTES)
      throw this.#damaged('a frame that cannot be')
    if (this.#held < FRAME_HEAD + length) return undefined
    this.#take(FRAME_HEAD)
    const body = this.#take(length)
    this.#crc = checksum(body, this.#crc)
    if (this.#crc !== head.readUInt32LE(4)) throw this.#damaged('a checksum that does not match')
    const kind = body.readUInt8(0)
    this.#ended = kind === FRAME.end
    return { kind, body: body.subarray(1) }
  }

  #begin(): void {
    if (this.#held < PREAMBLE.length) return
    const preamble = this.#take(PREAMBLE.length)
    if (!preamble.equals(PREAMBLE)) throw this.#damaged('the beginning of no state of this format')
    this.#begun = true
  }

  #peek(length: number): Buffer {
    const first = elementAt(this.#pieces, 0)
    const all = first.length >= length ? first : this.#join()
    return Buffer.from(all.buffer, all.byteOffset, length)
  }

  #take(length: number): Buffer {
    const first = elementAt(this.#pieces, 0)
    const all = first.length >= length ? first : this.#join()
    this.#pieces[0] = all.subarray(length)
    this.#held -= length
    this.#offset += length
    return Buffer.from(all.buffer, all.byteOffset, length)
  }

  #join(): Uint8Array {
    const all = Buffer.concat(this.#pieces)
    this.#pieces = [all]
    return all
  }

  #damaged(what: string): LatchkeyError {
    return damagedStream(`${what} at byte ${this.#offset}`)
  }
}

/** Returns the rows of a frame of kind 1 (rows), as views of its body. */
export function rowsIn(body: Buffer): Row[] {
  const rows: Row[] = []
  for (let at = 0; at < body.length; ) {
    if (at + ROW_HEAD > body.length) throw damagedStream('half a row')
    const keyAt = at + ROW_HEAD
    const valueAt = keyAt + body.readUInt16LE(at)
    const end = valueAt + body.readUInt32LE(at + 2)
    if (end > body.length) throw damagedStream('half a row')
    rows.push({ key: body.subarray(keyAt, valueAt), value: body.subarray(valueAt, end) })
    at = end
  }
  return rows
}

export function damagedStream(what: string): LatchkeyError {
  return new LatchkeyError(
    'ERR_CORRUPT',
    `A state that was received or restored is damaged: ${what}. Nothing was changed; take it again from its source.`,
  )
}
