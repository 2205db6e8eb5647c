// Test: every message survives its way over the wire, and nothing else does.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message } from '../core/types.js'
import { type Parcel, toMessage } from './codec.js'
import { Assembly, join, turnParts } from './frames.js'
import { messageItem, TYPE, weight } from './items.js'
import { FROM, message, TO } from './testing/messages.js'

function frameOf(messages: readonly Message[]): Uint8Array {
  const blobs: Uint8Array[] = []
  const items = messages.map((one) => messageItem(one, blobs))
  return join(turnParts(items, blobs))
}

const read = (frame: Uint8Array): unknown[] | string => {
  const parcels = new Assembly().take(frame)
  return typeof parcels === 'string' ? parcels : parcels.map((parcel) => toMessage(parcel, FROM, TO))
}

/** Bytes of any class are the same when their bytes are. */
const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]))
}

describe('messages', () => {
  test('every message of every type comes back as it was', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
        for (const one of messages) seen.add(one.type)
        expect(plain(read(frameOf(messages)))).toEqual(plain(messages))
      }),
      { numRuns: 1500 },
    )
    expect([...seen].sort()).toEqual(Object.keys(TYPE).sort())
  })

  test('a weight is never less than what a message takes', () => {
    fc.assert(
      fc.property(message, (one) => {
        expect(frameOf([one]).length - frameOf([]).length).toBeLessThanOrEqual(weight(one) + 2)
      }),
      { numRuns: 1500 },
    )
  })

  test('what is kept shares no memory with the frame', () => {
    const data = Buffer.from('data of an entry')
    const entry = { index: 6, term: 2, time: 9, kind: 'commands', data } as const
    const frame = frameOf([
      {
        type: 'append',
        group: 0,
        from: FROM,
        to: TO,
        term: 2,
        prevIndex: 5,
        prevTerm: 1,
        commit: 5,
        entries: [entry],
        round: 1,
      },
    ])
    const [got] = read(frame) as [Message & { type: 'append' }]
    frame.fill(0)
    expect(Buffer.from(got.entries[0]?.data ?? []).toString()).toBe('data of an entry')
    expect(got.entries[0]?.data.buffer.byteLength).toBe(data.length)
  })
})

describe('what is wrong is refused, field by field', () => {
  const parcelOf = (item: readonly unknown[], blobs: readonly Uint8Array[] = []): Parcel => ({ item, blobs })
  const verdict = (item: readonly unknown[], blobs?: readonly Uint8Array[]) =>
    toMessage(parcelOf(item, blobs), FROM, TO)
  const bytes = new Uint8Array(3)

  test.each([0, -1, 2 ** 48, 2 ** 53 - 1, 2 ** 53, 1.5, Number.NaN, '1', null, undefined, [], true])(
    'E19: a term of %s is out of range',
    (term) => {
      expect(verdict([TYPE.heartbeat, [], 0, term, 1, 1])).toBe('a term is out of range')
    },
  )

  test('E19: only a pre-vote is answered in term 0', () => {
    expect(verdict([TYPE.preVoteReply, [], 0, 0, true, 1])).toMatchObject({ term: 0, granted: true })
  })

  test('L22: a type of a later build is stepped over', () => {
    expect(verdict([99, [], 0, 1, 'anything'])).toBeUndefined()
  })

  test.each([
    ['a place too many', [TYPE.heartbeat, [], 0, 1, 1, 1, 1], []],
    ['a place too few', [TYPE.heartbeat, [], 0, 1, 1], []],
    ['no group', [TYPE.heartbeat, [], null, 1, 1, 1], []],
    ['a flag that is none', [TYPE.voteReply, [], 0, 1, 1], []],
    ['bytes where none belong', [TYPE.voteReply, [3], 0, 1, true], [bytes]],
    ['an accepting reply of five places', [TYPE.appendReply, [], 0, 1, true, 1, 1, 1, 1], []],
    ['a refusing reply of three', [TYPE.appendReply, [], 0, 1, false, 1, 1], []],
    ['a reply without anything', [TYPE.appendReply, [], 0, 1], []],
    ['members that are none', [TYPE.snapshot, [3, 3], 0, 1, 1, 1, 1, 0, true], [bytes, bytes]],
    ['L17: an entry of a term that falls', [TYPE.append, [3], 0, 5, 1, 4, 0, 0, [3, 1, 1]], [bytes]],
    ['L17: an entry above the term of its sender', [TYPE.append, [3], 0, 5, 1, 4, 0, 0, [6, 1, 1]], [bytes]],
    ['an entry of term 0', [TYPE.append, [3], 0, 5, 0, 0, 0, 0, [0, 1, 1]], [bytes]],
    ['an entry of no kind', [TYPE.append, [3], 0, 5, 1, 4, 0, 0, [4, 1, 7]], [bytes]],
    [
      'a kind that is the name of a property',
      [TYPE.append, [3], 0, 5, 1, 4, 0, 0, [4, 1, 'length']],
      [bytes],
    ],
    ['entries without bytes', [TYPE.append, [], 0, 5, 1, 4, 0, 0, [4, 1, 1]], []],
    ['bytes without entries', [TYPE.append, [3], 0, 5, 1, 4, 0, 0, []], [bytes]],
    ['C27: an index that no session could be numbered by', [TYPE.heartbeat, [], 0, 1, 2 ** 48, 1], []],
    ['C27: an entry at such an index', [TYPE.append, [3], 0, 5, 2 ** 48 - 1, 4, 0, 0, [4, 1, 1]], [bytes]],
    ['C27: an entry of such a time', [TYPE.append, [3], 0, 5, 1, 4, 0, 0, [4, 2 ** 48, 1]], [bytes]],
    ['indices beyond all numbers', [TYPE.append, [3], 0, 5, 2 ** 53 - 1, 4, 0, 0, [4, 1, 1]], [bytes]],
  ] as [string, unknown[], Uint8Array[]][])('%s', (_what, item, blobs) => {
    expect(verdict(item, blobs)).toBeTypeOf('string')
  })
})
