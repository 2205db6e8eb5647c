// Rule: the key spaces of a store. Each key space is one kind of rows. The first byte of a row's key names
// the key space. A row's value is a checksum over key and body, then the body
// (storage/stored-row-checksum.ts). Numbers in keys are big-endian, so that the order of bytes is the order
// of numbers.
//
//   space      key after the first byte           body
//   meta       "state"                            position, members, revision, sums ...: state/meta-row.ts
//   data       the user's key                     value, expiry, revisions: state/key-value-row-format.ts
//   sequences  the user's key                     f64 first number of the next block
//   expiry     0 | u48 time | the user's key      empty: the key expires at this cluster time
//              1 | u48 session | the user's key   empty: the key is removed when the session ends
//              2 | u48 session                    empty: the session may have keys: state/key-expiry-index.ts
//   events     u48 first revision of 16 | u16 0   the events of 16 revisions: state/event-row-format.ts
//              u48 revision | u16 piece, from 1   a part of the events of a large revision
//   sessions   u48 id                             a session: state/session-rows.ts
//   replies    u48 session | u48 number           u32 checksum of the request | answer
//   holds      the lock's key                     an exclusive hold (msgpack): state/lock-rows.ts
//   shared     u48 arrival                        a shared hold (msgpack), with its lock's key
//   semaphores the semaphore's key                its permits, and when an unused row is removed (msgpack)
//   waiters    u48 arrival                        a waiter (msgpack), with its lock's key
//   counters   0, or 1 | fencing key              the last fencing token of the store, or of the fencing key
//   latches    the latch's name                   its count (msgpack): state/latch-and-barrier-rows.ts
//   barriers   the barrier's name                 its generation and number of parties (msgpack)
//   parties    u48 arrival                        a call that waits at a latch or barrier (msgpack)
//
// Key spaces never overlap. So a put with the key of a lock, or a deleteRange over all keys, changes data
// rows only (K17, K35).
//
// Row keys that begin with a zero byte belong to the code that writes the disk
// (storage/lost-batch-detection.ts, storage/event-log-file-format.ts). Snapshots do not contain these rows.

import { asBuffer } from '@latchkey/base'

const code = (letter: string) => letter.charCodeAt(0)

export const SPACE = {
  meta: code('m'),
  data: code('d'),
  sequences: code('q'),
  expiry: code('l'),
  events: code('e'),
  sessions: code('s'),
  replies: code('r'),
  holds: code('h'),
  shared: code('p'),
  semaphores: code('n'),
  waiters: code('w'),
  counters: code('c'),
  latches: code('a'),
  barriers: code('b'),
  parties: code('y'),
} as const

export type SpaceName = keyof typeof SPACE
export const SPACE_NAMES = Object.keys(SPACE) as readonly SpaceName[]

const NAMES = new Map<number, SpaceName>(SPACE_NAMES.map((name) => [SPACE[name], name]))
/** Returns undefined if this version does not know the key space. */
export const spaceOf = (rowKey: Uint8Array): SpaceName | undefined => NAMES.get(rowKey[0] ?? -1)

export const META_KEY: Uint8Array = Buffer.from('mstate')

export function keyOf(space: number, rest: Uint8Array): Uint8Array {
  const key = Buffer.allocUnsafe(1 + rest.length)
  key[0] = space
  key.set(rest, 1)
  return key
}

/** `rest` has one character for each byte. */
export function keyOfBinary(space: number, rest: string): Uint8Array {
  const key = Buffer.allocUnsafe(1 + rest.length)
  key[0] = space
  key.write(rest, 1, 'latin1')
  return key
}

/** Writes the number with 48 bits. */
export function keyOfNumber(space: number, number: number): Uint8Array {
  const key = Buffer.allocUnsafe(7)
  key[0] = space
  key.writeUIntBE(number, 1, 6)
  return key
}

export function replyKey(session: number, number: number): Uint8Array {
  const key = Buffer.allocUnsafe(13)
  key[0] = SPACE.replies
  key.writeUIntBE(session, 1, 6)
  key.writeUIntBE(number, 7, 6)
  return key
}

export function eventKey(revision: number, piece: number): Uint8Array {
  const key = Buffer.allocUnsafe(9)
  key[0] = SPACE.events
  key.writeUIntBE(revision, 1, 6)
  key.writeUInt16BE(piece, 7)
  return key
}

export function counterKey(fencingKey: Uint8Array | null): Uint8Array {
  const key = Buffer.allocUnsafe(2 + (fencingKey?.length ?? 0))
  key[0] = SPACE.counters
  key[1] = fencingKey === null ? 0 : 1
  if (fencingKey !== null) key.set(fencingKey, 2)
  return key
}

export const numberIn = (rowKey: Uint8Array, at: number): number => asBuffer(rowKey).readUIntBE(at, 6)

/** `start` is in the range, and `end` is not. */
export function spaceRange(space: number): { readonly start: Uint8Array; readonly end: Uint8Array } {
  return { start: Uint8Array.of(space), end: Uint8Array.of(space + 1) }
}

export function nameOfRow(rowKey: Uint8Array): string {
  const space = spaceOf(rowKey)
  const rest = Buffer.from(rowKey.subarray(1))
  switch (space) {
    case undefined:
      return `a row of an unknown space, ${Buffer.from(rowKey.subarray(0, 64)).toString('hex')}`
    case 'meta':
      return 'meta'
    case 'events':
      return rest.length === 8 ? `events ${rest.readUIntBE(0, 6)}/${rest.readUInt16BE(6)}` : 'events'
    case 'sessions':
    case 'waiters':
    case 'parties':
      return rest.length === 6 ? `${space} ${rest.readUIntBE(0, 6)}` : space
    case 'replies':
      return rest.length === 12 ? `replies ${rest.readUIntBE(0, 6)}/${rest.readUIntBE(6, 6)}` : space
    case 'counters':
      return rest[0] === 0 ? "counters, the store's own" : `counters ${quoted(rest.subarray(1))}`
    default:
      return `${space} ${quoted(rest)}`
  }
}

const quoted = (key: Buffer) => JSON.stringify(key.subarray(0, 64).toString('latin1'))
