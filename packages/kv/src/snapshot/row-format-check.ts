// Rule: checks that a row has the format that this version writes. Every row of a received snapshot or backup
// is checked.
//
// Law: a row that passes this check needs no check of its format when the log is applied. Without this law: a
// backup with right checksums has a session row of one byte. Every member that starts from this backup stops
// at its first command, again after each restart.

import { asBuffer } from '@latchkey/base'
import { CAPS, wrongLockKey } from '@latchkey/protocol'
import { type SpaceName, numberIn } from '../keyspaces.js'
import type { Row } from '../storage/row-store-interface.js'
import { CHECKSUM_BYTES } from '../storage/stored-row-checksum.js'
import { isDataBody } from '../state/key-value-row-format.js'
import { isIndexKey } from '../state/key-expiry-index-rows.js'
import { isGroup } from '../state/events-of-sixteen-revisions.js'
import { GROUP, areEvents } from '../state/event-row-format.js'
import { decodeCounter, decodeHold, decodeSharedHold, decodeSize, decodeWaiter } from '../state/lock-rows.js'
import { decodeBarrier, decodeLatch, decodeParty } from '../state/latch-and-barrier-rows.js'

type Shape = (row: Row, body: Buffer) => boolean

/** In bytes, the part of a session's row before the identity of the client. */
const SESSION_BYTES = 24
const MOST_NAME_BYTES = 4 * CAPS.identityLength
const REPLY_HEAD = 5

const hasLockKey = ({ key }: Row): boolean => wrongLockKey(key.subarray(1)) === null
const hasKey = ({ key }: Row): boolean => key.length > 1 && key.length <= 1 + CAPS.keyBytes
const hasNumbers =
  (bytes: number): Shape =>
  ({ key }) =>
    key.length === 1 + bytes
const isCount = (value: number, least = 0): boolean => Number.isSafeInteger(value) && value >= least

const decodes =
  (decode: (row: Row) => unknown): Shape =>
  (row) => {
    decode(row)
    return true
  }
const all =
  (...shapes: readonly Shape[]): Shape =>
  (row, body) =>
    shapes.every((shape) => shape(row, body))

const isSession: Shape = (_, body) =>
  body.length >= SESSION_BYTES &&
  body.length <= SESSION_BYTES + MOST_NAME_BYTES &&
  Number.isFinite(body.readDoubleLE(0)) &&
  Number.isFinite(body.readDoubleLE(8)) &&
  isCount(body.readDoubleLE(16), 1)

const isEventRow: Shape = (row, body) => {
  const first = numberIn(row.key, 1)
  if (asBuffer(row.key).readUInt16BE(7) !== 0) return areEvents(body)
  return first % GROUP === 0 && isGroup(first, row.value)
}

const isCounterKey: Shape = ({ key }) =>
  key[1] === 0 ? key.length === 2 : key[1] === 1 && key.length > 2 && key.length <= 2 + CAPS.keyBytes

const SHAPES: Readonly<Record<Exclude<SpaceName, 'meta'>, Shape>> = {
  data: all(hasKey, (_, body) => isDataBody(body, CAPS.valueBytes)),
  sequences: all(hasKey, (_, body) => body.length === 8 && isCount(body.readDoubleLE(0))),
  events: all(hasNumbers(8), isEventRow),
  expiry: ({ key }, body) => body.length === 0 && isIndexKey(key.subarray(1), CAPS.keyBytes),
  sessions: all(hasNumbers(6), isSession),
  replies: all(hasNumbers(12), (_, body) => body.length >= REPLY_HEAD && (body[0] as number) <= 1),
  holds: all(hasLockKey, decodes(decodeHold)),
  shared: all(hasNumbers(6), (row) => decodeSharedHold(row).arrival === numberIn(row.key, 1)),
  semaphores: all(hasLockKey, decodes(decodeSize)),
  waiters: all(hasNumbers(6), decodes(decodeWaiter)),
  counters: all(isCounterKey, decodes(decodeCounter)),
  latches: all(hasKey, decodes(decodeLatch)),
  barriers: all(hasKey, decodes(decodeBarrier)),
  parties: all(hasNumbers(6), decodes(decodeParty)),
}

/**
 * Returns true if a row with a right checksum has the format of its key space. For some wrong formats this
 * function throws ERR_CORRUPT instead of returning false.
 */
export function isRowOf(space: Exclude<SpaceName, 'meta'>, row: Row): boolean {
  return SHAPES[space](row, asBuffer(row.value).subarray(CHECKSUM_BYTES))
}
