// Door: decodes the packed body of a row from a disk, a snapshot or a backup, and checks its form.
// The checksum proves only that the bytes are unchanged. Anybody can make a backup file with right checksums,
// so the form is checked too.

import { check, Malformed, unpack } from '@latchkey/protocol'
import { damagedRow, unseal } from '../storage/row-checksum.js'

/** Decodes the body and checks it against that form; throws ERR_CORRUPT otherwise. Byte values are views. */
export function unpackRow(key: Uint8Array, value: Uint8Array, shape: check.Check): unknown {
  const body = unpackBody(key, unseal(key, value))
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

const { anyBytes, count, context, finite, flag, listOf, orNull, places, text } = check
const name = text(0, 4096, 'a name')
const names = listOf(name, 'names')

export const HOLD_SHAPE = places(
  'a hold',
  name,
  count('a token'),
  count('acquires'),
  finite('a deadline'),
  context,
  orNull(anyBytes),
  count('a session'),
  finite('a time of grant'),
  finite('a time'),
  count('a code'),
)

export const WAITER_SHAPE = places(
  'a waiter',
  anyBytes,
  name,
  count('a session'),
  finite('a time of arrival'),
  finite('a deadline'),
  count('a lease'),
  context,
  orNull(anyBytes),
)

export const COUNTER_SHAPE = count('a token')

const sum = places('a sum', count('rows'), count('a half'), count('a half'))

/** The form of the meta row; its format number is checked before. */
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
