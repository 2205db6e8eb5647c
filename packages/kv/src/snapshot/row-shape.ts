// Rule: is this a row as this version writes it? Asked of every row of a state that came from elsewhere: a snapshot, a backup.
//
// Law: what is let in here is read later without a look at its shape, in the midst of applying the log. The story without it: somebody
// hands over a backup in which each checksum is right and a session's row is one byte long; it is restored, and every member that
// is started from it ends at its first command, for good.

import { asBuffer } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { type SpaceName, numberIn } from '../keyspaces.js'
import type { Row } from '../storage/row-store.js'
import { SEAL } from '../storage/row-checksum.js'
import { ROW_TAIL } from '../state/data-row.js'
import { isGroup } from '../state/event-group.js'
import { GROUP, areEvents } from '../state/event-row.js'
import { decodeCounter, decodeHold, decodeWaiter } from '../state/lock-rows.js'

type Shape = (row: Row, body: Buffer) => boolean

/** Before the name of who opened it. */
const SESSION_BYTES = 24
const MOST_NAME_BYTES = 4 * CAPS.identityLength
const REPLY_HEAD = 5

/** A row's key is its space's byte and a key of the user's. */
const hasKey = ({ key }: Row): boolean => key.length > 1 && key.length <= 1 + CAPS.keyBytes
const hasNumbers =
  (bytes: number): Shape =>
  ({ key }) =>
    key.length === 1 + bytes
const isCount = (value: number, least = 0): boolean => Number.isSafeInteger(value) && value >= least

/** Throws where it is none. */
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
  data: all(hasKey, (_, body) => body.length >= ROW_TAIL && body.length <= ROW_TAIL + CAPS.valueBytes),
  sequences: all(hasKey, (_, body) => body.length === 8 && isCount(body.readDoubleLE(0))),
  events: all(hasNumbers(8), isEventRow),
  sessions: all(hasNumbers(6), isSession),
  replies: all(hasNumbers(12), (_, body) => body.length >= REPLY_HEAD && (body[0] as number) <= 1),
  holds: all(hasKey, decodes(decodeHold)),
  waiters: all(hasNumbers(6), decodes(decodeWaiter)),
  counters: all(isCounterKey, decodes(decodeCounter)),
}

/** Of a sealed row of that space. False, or ERR_CORRUPT, where it is none. */
export function isRowOf(space: Exclude<SpaceName, 'meta'>, row: Row): boolean {
  return SHAPES[space](row, asBuffer(row.value).subarray(SEAL))
}
