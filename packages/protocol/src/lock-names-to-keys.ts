// Rule: converts names of locks, semaphores, elections and web locks into keys of one common table, because
// the same rules apply to all four.
//
//   lock       name, or 0xff 0x00 | name if the name begins with 0xff
//   semaphore  0xff 0x01 | name
//   election   0xff 0x02 | name
//   web lock   0xff 0x03 | name
//
// The sign | joins bytes. UTF-8 text never has a byte 0xff, so the key of nearly every lock is its name. Two
// objects of different kinds, or with different names, never have the same key.

import { CAPS } from './fixed-limits.js'
import { shownKey } from './value-in-errors.js'

export const KIND = { lock: 0, semaphore: 1, election: 2, webLock: 3 } as const
export type Kind = (typeof KIND)[keyof typeof KIND]
const KINDS: readonly number[] = Object.values(KIND)

const KIND_PREFIX = 0xff
/** The number of bytes before the name in a key: 0xff and the kind. */
export const KIND_BYTES = 2

export function lockKeyOf(kind: Kind, name: Uint8Array): Uint8Array {
  if (kind === KIND.lock && name[0] !== KIND_PREFIX) return name
  const key = new Uint8Array(KIND_BYTES + name.length)
  key[0] = KIND_PREFIX
  key[1] = kind
  key.set(name, KIND_BYTES)
  return key
}

export const kindOfLockKey = (key: Uint8Array): Kind =>
  key[0] === KIND_PREFIX ? ((key[1] ?? KIND.lock) as Kind) : KIND.lock

export const nameOfLockKey = (key: Uint8Array): Uint8Array =>
  key[0] === KIND_PREFIX ? key.subarray(KIND_BYTES) : key

/** Returns the lock's name for an error message, without the prefix of `store.sub(prefix)`. */
export const shownLockKey = (
  key: Uint8Array,
  { prefix }: { readonly prefix: Uint8Array },
): string | Uint8Array => shownKey(nameOfLockKey(key).subarray(prefix.length))

/** Returns why these bytes are not a result of `lockKeyOf`, or null. */
export function wrongLockKey(value: unknown): string | null {
  if (!(value instanceof Uint8Array)) return "a lock's key must be bytes"
  const name = nameOfLockKey(value)
  if (name.length === 0) return "a lock's key must not be empty"
  if (name.length > CAPS.keyBytes) return `a lock's key is longer than ${CAPS.keyBytes} bytes`
  if (value[0] !== KIND_PREFIX) return null
  const kind = value[1] as number
  if (!KINDS.includes(kind) || (kind === KIND.lock && name[0] !== KIND_PREFIX))
    return "a lock's key has an unknown kind"
  return null
}
