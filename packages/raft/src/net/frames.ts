// Door: encodes and decodes the frames between members. A frame carries all messages to one peer from one
// turn of the event loop. A frame longer than CAPS.frameBytes is cut into pieces, so that a heartbeat waits
// for at most one piece. docs/wire.md shows the format byte by byte. A blob is a byte string, such as the
// data of an entry or a piece of a snapshot.
//
//   version (1 byte) · length of the head (4 bytes, big endian) · head (positional MessagePack) · blobs
//   head of a whole frame   [0, ...items]        then the blobs of the items, in their order
//   head of a piece         [1, lane, last]      then the next bytes of a whole frame that was cut
//
// Laws
//   - a frame is used whole or not at all. A frame takes only as much memory as has arrived, even if its
//     header announces more.
//   - data of entries and pieces of snapshots are copied out of a frame. Only data that fills more than half
//     of a frame that was joined from pieces is not copied. So stored data keeps little other memory alive.

import { elementAt, copyBytes, EMPTY } from '@latchkey/base'
import { CAPS, Malformed, pack, unpack } from '@latchkey/protocol'
import type { Parcel } from './message-decoder.js'
import { APP } from './message-encoder.js'

export const WIRE = { least: 1, most: 1 } as const

export const MEMBERS_PATH = '/members'

const TURN = 0
const PIECE = 1
const PREFIX_BYTES = 5
/**
 * In bytes, the space for a frame's head. With this space a frame can carry a piece of a snapshot of exactly
 * CAPS.frameBytes.
 */
const SLACK_BYTES = 16 * 1024

export const FRAME_LIMIT = CAPS.frameBytes + SLACK_BYTES
/** In bytes, the largest frame after its pieces are joined. */
export const WHOLE_LIMIT = CAPS.maxPayload
/**
 * In bytes, the smallest size of a piece, except the last piece of a frame. Without this limit a sender could
 * fill the memory with tiny pieces, because each piece costs more memory than its bytes.
 */
const LEAST_PIECE = 16 * 1024
/** In bytes, the largest head of a frame. A larger head would take too much memory while it is decoded. */
const HEAD_LIMIT = 2 * 1024 * 1024
const BLOBS_LIMIT = 65_536
/** The largest number of values in a head. An entry has four values. */
const VALUES_LIMIT = 8 * BLOBS_LIMIT
export const MOST_ENTRIES = BLOBS_LIMIT / 2

/**
 * Each lane sends the pieces of one cut frame at a time. With two lanes, the pieces of two frames can
 * alternate.
 */
const LANES = 2
export type Lane = 0 | 1

// ---- Sending

/** The `blobs` are not copied. */
export function turnParts(items: readonly unknown[], blobs: readonly Uint8Array[]): Uint8Array[] {
  return [...prefixed(pack([TURN, ...items])), ...blobs]
}

function prefixed(head: Uint8Array): [Uint8Array, Uint8Array] {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES)
  prefix[0] = WIRE.most
  prefix.writeUInt32BE(head.length, 1)
  return [prefix, head]
}

export const join = (parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts)

const length = (parts: readonly Uint8Array[]): number => {
  let sum = 0
  for (const part of parts) sum += part.length
  return sum
}

/**
 * Cuts a long frame into pieces. All pieces use the same buffer, so a piece is valid until the next call of
 * `next`.
 */
export class Cutting {
  readonly #lane: Lane
  readonly #parts: readonly Uint8Array[]
  #part = 0
  #at = 0
  #left: number
  #buffer = Buffer.alloc(0)

  constructor(lane: Lane, parts: readonly Uint8Array[]) {
    this.#lane = lane
    this.#parts = parts
    this.#left = length(parts)
  }

  get done(): boolean {
    return this.#left === 0
  }

  next(): Uint8Array {
    const bytes = Math.min(this.#left, CAPS.frameBytes)
    this.#left -= bytes
    const [prefix, head] = prefixed(pack([PIECE, this.#lane, this.done]))
    const length = PREFIX_BYTES + head.length + bytes
    if (this.#buffer.length < length) this.#buffer = Buffer.allocUnsafeSlow(length)
    const frame = this.#buffer.subarray(0, length)
    frame.set(prefix, 0)
    frame.set(head, PREFIX_BYTES)
    this.#fill(frame, PREFIX_BYTES + head.length)
    return frame
  }

  #fill(frame: Buffer, from: number): void {
    for (let at = from; at < frame.length; ) {
      const part = elementAt(this.#parts, this.#part)
      const end = Math.min(part.length, this.#at + frame.length - at)
      frame.set(part.subarray(this.#at, end), at)
      at += end - this.#at
      this.#at = end
      if (end === part.length) {
        this.#part++
        this.#at = 0
      }
    }
  }
}

// ---- Receiving

interface Opened {
  readonly head: unknown[]
  readonly rest: Uint8Array
}

function open(frame: Uint8Array): Opened | string {
  if (frame.length < PREFIX_BYTES) return 'a frame is too short'
  if (frame[0] !== WIRE.most) return `version ${frame[0]} is not spoken here`
  const headLength = new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(1)
  const end = PREFIX_BYTES + headLength
  if (end > frame.length || headLength > HEAD_LIMIT) return "a frame's head is too long"
  try {
    const head = unpack(frame.subarray(PREFIX_BYTES, end), { most: VALUES_LIMIT })
    return Array.isArray(head) ? { head, rest: frame.subarray(end) } : "a frame's head must be a list"
  } catch (error) {
    if (error instanceof Malformed) return error.message
    throw error
  }
}

/**
 * Decodes the received frames of one connection, and joins the pieces of cut frames. A method returns a text
 * if the frame is invalid. The caller then closes the connection.
 */
export class Assembly {
  readonly #lanes: Array<{ pieces: Uint8Array[]; bytes: number }> = []

  constructor() {
    for (let lane = 0; lane < LANES; lane++) this.#lanes.push({ pieces: [], bytes: 0 })
  }

  /** In bytes, the received pieces of incomplete frames. */
  get bytes(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.bytes, 0)
  }

  take(frame: Uint8Array): Parcel[] | string {
    if (frame.length > FRAME_LIMIT) return 'a frame is too long'
    const opened = open(frame)
    if (typeof opened === 'string') return opened
    if (opened.head[0] === TURN) return parcels(opened, false)
    if (opened.head[0] === PIECE) return this.#piece(opened)
    return 'a frame of an unknown kind'
  }

  #piece({ head, rest }: Opened): Parcel[] | string {
    const [, number, last] = head
    const lane = isLength(number) ? this.#lanes[number] : undefined
    if (lane === undefined || typeof last !== 'boolean' || head.length !== 3) return 'a piece is wrong'
    if (!last && rest.length < LEAST_PIECE) return 'a piece is too short'
    if (lane.bytes + rest.length > WHOLE_LIMIT) return 'a message is too long'
    lane.pieces.push(rest)
    lane.bytes += rest.length
    if (!last) return []
    const whole = Buffer.concat(lane.pieces)
    this.#lanes[number as number] = { pieces: [], bytes: 0 }
    const opened = open(whole)
    if (typeof opened === 'string') return opened
    return opened.head[0] === TURN ? parcels(opened, true) : 'a cut frame is no frame of a turn'
  }
}

/**
 * Copies the blobs out of the frame, but never a message of the layer above Raft. If `own` is true, no other
 * code uses the frame's memory. Then a blob that fills more than half of the frame is not copied either.
 */
function parcels({ head, rest }: Opened, own: boolean): Parcel[] | string {
  const list: Parcel[] = []
  let at = 0
  let count = 0
  for (let i = 1; i < head.length; i++) {
    const item: unknown = head[i]
    const lengths: unknown = Array.isArray(item) ? item[1] : undefined
    if (!Array.isArray(item) || !Array.isArray(lengths)) return 'an item is wrong'
    count += lengths.length
    if (count > BLOBS_LIMIT) return 'a frame of too many byte values'
    const blobs: Uint8Array[] = []
    for (const bytes of lengths as unknown[]) {
      if (!isLength(bytes) || bytes > rest.length - at) return 'an item is longer than its frame'
      blobs.push(blobOf(rest, at, bytes, item[0] === APP || (own && bytes * 2 > rest.length)))
      at += bytes
    }
    list.push({ item, blobs })
  }
  return at === rest.length ? list : 'a frame is longer than its items'
}

const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function blobOf(rest: Uint8Array, at: number, bytes: number, asView: boolean): Uint8Array {
  if (bytes === 0) return EMPTY
  const view = rest.subarray(at, at + bytes)
  return asView ? view : copyBytes(view)
}
