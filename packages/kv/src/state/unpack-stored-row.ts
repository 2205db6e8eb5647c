// Door: decodes the msgpack body of a stored row, which comes from a disk, a snapshot or a backup, and checks
// its format. The checksum is not enough, because an attacker can make a backup file with right checksums.

import type { HoldRow, WaiterRow } from '@latchkey/lock'
import { CAPS, check, Malformed, unpack, wrongLockKey } from '@latchkey/protocol'
import { damagedRow, intactBody } from '../storage/stored-row-checksum.js'

/**
 * Returns the decoded body. Throws ERR_CORRUPT if the checksum or the format is wrong. Byte strings in the
 * body are views of `value`.
 */
export function unpackRow(key: Uint8Array, value: Uint8Array, shape: check.Check): unknown {
  const body = unpackBody(key, intactBody(key, value))
  const reason = shape(body)
  if (reason !== null) throw damagedRow(key, new Malformed(reason))
  return body
}

function unpackBody(key: Uint8Array, body: Uint8Array): unknown {
  try {
    return unpack(body)
  } catch (error) {
    throw error instanceof Malformed ? damagedRow(key, error) : error
  }
}

type Fields<Row> = Readonly<Record<keyof Row, check.Check>>

const { anyBytes, count, context, finite, flag, listOf, orNull, places, text } = check
const name = text(0, 4096, 'a name')
const names = listOf(name, 'names')
const lockKey = wrongLockKey
const atLeastOne = check.whole(1, CAPS.permits, 'permits')

/**
 * The fields of a hold in its row, in this order. These fields are the body of an exclusive hold, whose row
 * key has the lock's key. The body of a shared hold is a list of three parts: the lock's key, the number of
 * permits, and the list of these fields.
 */
export const HOLD_FIELDS = {
  id: name,
  token: count('a token'),
  firstToken: count('its first token'),
  acquires: count('acquires'),
  deadline: finite('a deadline'),
  context,
  fencingKey: orNull(anyBytes),
  session: count('a session'),
  since: finite('a time of grant'),
  touchBy: finite('a time'),
  code: count('a code'),
  arrival: count('an arrival'),
  flow: orNull(name),
} satisfies Fields<Omit<HoldRow, 'key' | 'permits'>>

export const HOLD_SHAPE = places('a hold', ...Object.values(HOLD_FIELDS))
export const SHARED_HOLD_SHAPE = places('a shared hold', lockKey, atLeastOne, HOLD_SHAPE)
export const SIZE_SHAPE = places("a semaphore's size", atLeastOne, finite('a time'))

/** The fields in the body of a waiter, in this order. The key of the row has the waiter's arrival number. */
export const WAITER_FIELDS = {
  key: lockKey,
  id: name,
  session: count('a session'),
  since: finite('a time of arrival'),
  deadline: finite('a deadline'),
  lease: count('a lease'),
  context,
  fencingKey: orNull(anyBytes),
  permits: count('permits'),
  setFirst: count('the first arrival of a set'),
  setCount: count('the keys of a set'),
  flow: orNull(name),
  within: names,
} satisfies Fields<Omit<WaiterRow, 'arrival'>>

export const WAITER_SHAPE = places('a waiter', ...Object.values(WAITER_FIELDS))

export const COUNTER_SHAPE = count('a token')

const sum = places('a sum', count('rows'), count('a half'), count('a half'))

/** decodeMeta checks the format number before. */
export const META_SHAPE = places(
  'the state',
  count('a format'),
  places('a position', count('an index'), count('a term'), finite('a time')),
  places(
    'members',
    names,
    names,
    names,
    names,
    listOf(places('a peer', name, name, name), 'peers'),
    orNull(name),
  ),
  count('a revision'),
  count('an arrival'),
  count('a base of tokens'),
  places('events', count('a floor'), finite('events'), finite('bytes')),
  places('sums', sum, sum, sum, sum),
  flag('whether keys expire'),
)
