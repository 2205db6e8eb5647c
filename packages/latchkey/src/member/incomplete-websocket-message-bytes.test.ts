// Test: the number of bytes of incomplete WebSocket messages is right, however the bytes are split into
// chunks.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { FrameScan } from './incomplete-websocket-message-bytes.js'

interface Frame {
  readonly payload: number
  readonly isLast?: boolean
  readonly isControl?: boolean
}

const lengthBytes = (payload: number) => (payload < 126 ? 0 : payload < 65_536 ? 2 : 8)

/** As a client sends it, masked. */
function encode({ payload, isLast = true, isControl = false }: Frame): Buffer {
  const length = lengthBytes(payload)
  const head = Buffer.alloc(2 + length + 4, 0x55)
  head[0] = (isLast ? 0x80 : 0) | (isControl ? 9 : 2)
  head[1] = 0x80 | (length === 0 ? payload : length === 2 ? 126 : 127)
  if (length === 2) head.writeUInt16BE(payload, 2)
  if (length === 8) head.writeBigUInt64BE(BigInt(payload), 2)
  return Buffer.concat([head, Buffer.alloc(payload, 0xff)])
}

/** By its definition: what the messages up to there have, that is not whole. */
function expected(frames: readonly Frame[], upTo: number): number {
  let message = 0
  let at = 0
  for (const frame of frames) {
    const head = 2 + lengthBytes(frame.payload) + 4
    const length = head + frame.payload
    if (at + length > upTo) {
      const read = upTo - at
      // Of a control frame only a head that is not whole may be seen.
      return message + (frame.isControl && read >= head ? 0 : read)
    }
    at += length
    if (frame.isControl) continue
    message = frame.isLast === false ? message + length : 0
  }
  return message
}

const FRAMES: Frame[] = [
  { payload: 0 },
  { payload: 5 },
  { payload: 300, isLast: false },
  { payload: 125, isControl: true },
  { payload: 0, isLast: false },
  { payload: 70_000, isLast: false },
  { payload: 0, isControl: true },
  { payload: 1 },
  { payload: 65_536 },
  { payload: 125 },
  { payload: 126, isLast: false },
]

test('C45: at each place of a stream the bytes of the message that is not whole are known', () => {
  const stream = Buffer.concat(FRAMES.map(encode))
  const random = seededRandom(7)
  for (let round = 0; round < 12; round++) {
    const scan = new FrameScan()
    for (let at = 0; at < stream.length; ) {
      const most = round % 2 === 0 ? 9 : 40_000
      const end = Math.min(stream.length, at + random.between(1, most + 1))
      const [read, whole] = [scan.read(stream.subarray(at, end)), expected(FRAMES, end)]
      // A hundred thousand calls of expect() take seconds.
      if (read !== whole) expect(read, `up to byte ${end}`).toBe(whole)
      at = end
    }
  }
})
