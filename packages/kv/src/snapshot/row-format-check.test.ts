// Test: a row with a right checksum but a wrong form is refused, because anybody can make a backup file.

import { binary } from '@latchkey/base'
import { CAPS, KIND, lockKeyOf, pack } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { SPACE, counterKey, eventKey, keyOf, keyOfNumber, replyKey } from '../keyspaces.js'
import { withChecksum } from '../storage/stored-row-checksum.js'
import { nextRow } from '../state/key-value-row-format.js'
import { emptyMeta, encodeMeta } from '../state/meta-row.js'
import { StateStream } from './received-state-check.js'
import { FrameWriter, PREAMBLE } from './stream-format.js'

const key = Buffer.from('k')
const doubles = (...numbers: number[]) => {
  const body = Buffer.alloc(8 * numbers.length)
  numbers.forEach((number, i) => body.writeDoubleLE(number, 8 * i))
  return body
}
/** The table of a group with one revision, which has this count of events and bytes. */
const table = (count: number, bytes: number, pieces = 0, events: Uint8Array = Buffer.alloc(0)) => {
  const body = Buffer.alloc(16 * 14)
  body.writeUInt32LE(count, 14)
  body.writeUInt32LE(bytes, 18)
  body.writeUInt16LE(pieces, 26)
  return Buffer.concat([body, events])
}
/** One event: key 'k', put, value 'v', no previous value. */
const event = Buffer.from('0001006b0100000076ffffffff', 'hex')
const LONGEST = Buffer.alloc(CAPS.keyBytes)
const TOO_LONG = Buffer.alloc(CAPS.keyBytes + 1)
const hold = ['me', 1, 1, 1, 99, null, null, 5, 7, 0, 1, 3, 'flow']
const waiter = [key, 'me', 5, 7, 99, 1_000, null, null, 0, 0, 0, null, ['around']]
const semaphore = lockKeyOf(KIND.semaphore, key)

const NO_BODY = Buffer.alloc(0)
function place(kind: number, rest: Uint8Array): Uint8Array {
  return keyOf(SPACE.expiry, Buffer.concat([Buffer.of(kind, 0, 0, 0, 0, 0, 9), rest]))
}

const ROWS: Record<string, [right: [Uint8Array, Uint8Array], ...wrong: [Uint8Array, Uint8Array][]]> = {
  data: [
    [keyOf(SPACE.data, key), nextRow('k', 1, Buffer.from('v'), undefined).subarray(4)],
    [keyOf(SPACE.data, key), Buffer.alloc(17)],
    [keyOf(SPACE.data, key), Buffer.alloc(20, 0x80)],
    [keyOf(SPACE.data, key), Buffer.alloc(30, 0x40)],
    [keyOf(SPACE.data, Buffer.alloc(0)), Buffer.alloc(18)],
    [keyOf(SPACE.data, TOO_LONG), Buffer.alloc(18)],
  ],
  expiry: [
    [place(0, key), NO_BODY],
    [place(0, key), Buffer.alloc(1)],
    [place(1, Buffer.alloc(0)), NO_BODY],
    [place(2, key), NO_BODY],
    [place(3, key), NO_BODY],
    [place(0, TOO_LONG), NO_BODY],
    [spaceOnly(SPACE.expiry), NO_BODY],
  ],
  sequences: [
    [keyOf(SPACE.sequences, key), doubles(7)],
    [keyOf(SPACE.sequences, key), Buffer.alloc(7)],
    [keyOf(SPACE.sequences, key), doubles(Number.NaN)],
    [keyOf(SPACE.sequences, key), doubles(2 ** 53)],
    [keyOf(SPACE.sequences, key), doubles(0.5)],
  ],
  events: [
    [eventKey(0, 0), table(1, event.length, 0, event)],
    [eventKey(0, 0), Buffer.alloc(5)],
    [eventKey(3, 0), table(1, event.length, 0, event)],
    [eventKey(0, 0), table(2, event.length, 0, event)],
    [eventKey(0, 0), table(1, 0xffffffff, 0, event)],
    [eventKey(0, 0), table(1, event.length, 0, Buffer.concat([event, event]))],
    [eventKey(0, 0), table(1, 12, 0, Buffer.from('0001006bffffff7f76ffffffff', 'hex').subarray(0, 12))],
    [eventKey(1, 1), Buffer.from('00ffff', 'hex')],
    [spaceOnly(SPACE.events), table(1, event.length, 0, event)],
  ],
  sessions: [
    [keyOfNumber(SPACE.sessions, 5), doubles(1_000, 2_000, 1)],
    [keyOfNumber(SPACE.sessions, 5), Buffer.alloc(1)],
    [keyOfNumber(SPACE.sessions, 5), doubles(Number.NaN, 2_000, 1)],
    [keyOfNumber(SPACE.sessions, 5), doubles(1_000, Number.POSITIVE_INFINITY, 1)],
    [keyOfNumber(SPACE.sessions, 5), doubles(1_000, 2_000, 1.5)],
    [spaceOnly(SPACE.sessions), doubles(1_000, 2_000, 1)],
  ],
  replies: [
    [replyKey(5, 1), Buffer.from('00000000009200c0', 'hex')],
    [replyKey(5, 1), Buffer.alloc(4)],
    [replyKey(5, 1), Buffer.from('07000000009200c0', 'hex')],
    [keyOfNumber(SPACE.replies, 5), Buffer.alloc(9)],
  ],
  holds: [
    [keyOf(SPACE.holds, key), pack(hold)],
    [keyOf(SPACE.holds, key), pack([{ a: 1 }])],
    [keyOf(SPACE.holds, key), pack(['me', 'many', 1, 1, 99, null, null, 5, 7, 0, 1, 3, null])],
    [keyOf(SPACE.holds, key), pack(['me', 1, 1, 1, 99, null, null, 5, 7, 0, 1, 3, 7])],
    [keyOf(SPACE.holds, TOO_LONG), pack(hold)],
  ],
  shared: [
    [keyOfNumber(SPACE.shared, 3), pack([key, 1, hold])],
    [keyOfNumber(SPACE.shared, 4), pack([key, 1, hold])],
    [keyOfNumber(SPACE.shared, 3), pack([key, 0, hold])],
    [keyOfNumber(SPACE.shared, 3), pack([Buffer.alloc(0), 1, hold])],
  ],
  semaphores: [
    [keyOf(SPACE.semaphores, semaphore), pack([5, 9])],
    [keyOf(SPACE.semaphores, semaphore), pack([0, 9])],
    [keyOf(SPACE.semaphores, Buffer.from([0xff, 9, 1])), pack([5, 9])],
  ],
  waiters: [
    [keyOfNumber(SPACE.waiters, 3), pack(waiter)],
    [keyOfNumber(SPACE.waiters, 3), pack([key, 'me'])],
    [keyOfNumber(SPACE.waiters, 3), pack([...waiter.slice(0, -1), ['around', 7]])],
    [spaceOnly(SPACE.waiters), pack(waiter)],
  ],
  latches: [
    [keyOf(SPACE.latches, key), pack(3)],
    [keyOf(SPACE.latches, key), pack(-3)],
    [keyOf(SPACE.latches, key), pack('three')],
    [spaceOnly(SPACE.latches), pack(3)],
  ],
  barriers: [
    [keyOf(SPACE.barriers, key), pack([1, 3, 9])],
    [keyOf(SPACE.barriers, key), pack([1, 0, 9])],
    [keyOf(SPACE.barriers, key), pack([1, 3])],
    [keyOf(SPACE.barriers, TOO_LONG), pack([1, 3, 9])],
  ],
  parties: [
    [keyOfNumber(SPACE.parties, 3), pack([[1, key, 'me'], 5, 99, 0, 1, 0])],
    [keyOfNumber(SPACE.parties, 3), pack([[2, key, 'me'], 5, 99, 0, 1, 0])],
    [keyOfNumber(SPACE.parties, 3), pack([[1, key, 'me'], 5, 99, 4, 1, 0])],
    [keyOfNumber(SPACE.parties, 3), pack([[1, Buffer.alloc(0), 'me'], 5, 99, 0, 1, 0])],
    [spaceOnly(SPACE.parties), pack([[1, key, 'me'], 5, 99, 0, 1, 0])],
  ],
  counters: [
    [counterKey(null), pack(7)],
    [counterKey(null), pack('seven')],
    [Buffer.of(SPACE.counters, 9), pack(7)],
    [counterKey(TOO_LONG), pack(7)],
  ],
}

function spaceOnly(space: number): Uint8Array {
  return Uint8Array.of(space)
}

const take = ([at, body]: [Uint8Array, Uint8Array]) => {
  const writer = new FrameWriter()
  const meta = writer.meta(encodeMeta(emptyMeta()))
  const rows = writer.rows([{ key: at, value: withChecksum(at, body) }])
  return new StateStream().push(Buffer.concat([PREAMBLE, meta, rows]))
}

describe('S17: one row of each space', () => {
  test.each(Object.entries(ROWS))('%s', (space, [right, ...wrong]) => {
    expect(take(right)).toHaveLength(1)
    for (const [at, body] of wrong) {
      const said = `${space} ${Buffer.from(at.subarray(0, 10)).toString('hex')} ${Buffer.from(body.subarray(0, 40)).toString('hex')}`
      expect(() => take([at, body]), said).toThrow(expect.objectContaining({ code: 'ERR_CORRUPT' }))
    }
  })
})

// Without this law: a member that holds such a row sends snapshots and makes backups that every other member
// refuses.
describe('S17: the smallest and the largest rows that the machine writes are accepted, and nothing beyond them', () => {
  const largest = Buffer.alloc(CAPS.keyBytes, 0x6b)
  const beyond = Buffer.alloc(CAPS.keyBytes + 1, 0x6b)
  const named = (bytes: number) => Buffer.concat([doubles(1_000, 2_000, 1), Buffer.alloc(bytes, 0x6e)])
  const row = (at: Buffer) => nextRow(binary(at), 1, Buffer.alloc(0), undefined).subarray(4)

  test.each([
    ['data', [keyOf(SPACE.data, largest), row(largest)], [keyOf(SPACE.data, beyond), row(beyond)]],
    [
      'sequences',
      [keyOf(SPACE.sequences, largest), doubles(0)],
      [keyOf(SPACE.sequences, beyond), doubles(0)],
    ],
    ['holds', [keyOf(SPACE.holds, largest), pack(hold)], [keyOf(SPACE.holds, beyond), pack(hold)]],
    ['replies', [replyKey(5, 1), Buffer.alloc(5)], [replyKey(5, 1), Buffer.alloc(4)]],
    [
      'sessions',
      [keyOfNumber(SPACE.sessions, 5), named(4 * CAPS.identityLength)],
      [keyOfNumber(SPACE.sessions, 5), named(4 * CAPS.identityLength + 1)],
    ],
    [
      'sessions without a name',
      [keyOfNumber(SPACE.sessions, 5), named(0)],
      [keyOfNumber(SPACE.sessions, 5), Buffer.alloc(23)],
    ],
  ] as [string, [Uint8Array, Uint8Array], [Uint8Array, Uint8Array]][])('%s', (_space, right, wrong) => {
    expect(take(right)).toHaveLength(1)
    expect(() => take(wrong)).toThrow(expect.objectContaining({ code: 'ERR_CORRUPT' }))
  })
})

test.each([
  ['data', keyOf(SPACE.data, LONGEST), nextRow(binary(LONGEST), 1, Buffer.from('v'), undefined).subarray(4)],
  ['expiry', place(0, LONGEST), NO_BODY],
  ['holds', keyOf(SPACE.holds, LONGEST), pack(hold)],
  ['barriers', keyOf(SPACE.barriers, LONGEST), pack([1, 3, 9])],
  ['counters', counterKey(LONGEST), pack(7)],
] as const)('S17: a key of the greatest length is one: %s', (_, at, body) => {
  expect(take([at, body])).toHaveLength(1)
})
