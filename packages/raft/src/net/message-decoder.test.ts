// Test: every message is the same after encoding and decoding, and no malformed message is accepted.

import { CAPS } from '@latchkey/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NO_MEMBERS } from '../core/membership.js'
import type { Message } from '../core/types.js'
import { type Parcel, toMessage } from './message-decoder.js'
import { Assembly, join, turnParts } from './frames.js'
import { messageItem, TYPE, weight } from './message-encoder.js'
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

/** Byte arrays of different classes compare as equal when their bytes are equal. */
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

// Without these checks: one unchecked field becomes a term, an index or a commit index with any value that a
// broken member sends.
describe('C27, L22: every place of every message is checked', () => {
  const blob = new Uint8Array(3)
  const one = { ...NO_MEMBERS, voters: ['a'], peers: { a: { url: 'ws://a', incarnation: 'of a' } } }
  const group = 3
  const envelope = { group, from: FROM, to: TO, term: 9 } as const
  const position = { index: 7, term: 3, time: 5 }
  const messages: Message[] = [
    { ...envelope, type: 'preVote', lastIndex: 5, lastTerm: 4 },
    { ...envelope, type: 'preVoteReply', granted: true, campaignTerm: 4 },
    { ...envelope, type: 'vote', lastIndex: 5, lastTerm: 4, transfer: false },
    { ...envelope, type: 'voteReply', granted: false },
    {
      ...envelope,
      type: 'append',
      prevIndex: 5,
      prevTerm: 4,
      commit: 3,
      round: 8,
      entries: [
        { index: 6, term: 5, time: 1, kind: 'commands', data: blob },
        { index: 7, term: 6, time: 2, kind: 'empty', data: blob },
      ],
    },
    { ...envelope, type: 'appendReply', ok: true, round: 8, match: 7 },
    { ...envelope, type: 'appendReply', ok: false, round: 8, rejected: 7, hintIndex: 6, hintTerm: 5 },
    { ...envelope, type: 'heartbeat', commit: 3, round: 8 },
    { ...envelope, type: 'heartbeatReply', round: 8, match: 7 },
    { ...envelope, type: 'storedByAll', index: 7 },
    { ...envelope, type: 'snapshot', position, membership: one, offset: 4, chunk: blob, done: true },
    { ...envelope, type: 'snapshotReply', position, offset: 4, installed: true },
    { ...envelope, type: 'timeoutNow' },
    { ...envelope, type: 'readIndex', context: 6 },
    { ...envelope, type: 'readIndexReply', context: 6, index: 7, time: 8 },
  ]
  const NO_COUNT = [-1, 0.5, Number.NaN, '1', true, [], undefined, 2 ** 53]
  const NO_FLAG = [0, 1, null, 'true', [], undefined]
  /**
   * Read requests carry a number that the receiver only sends back, so any number is allowed there. One field
   * may be absent.
   */
  const isContext = ({ type }: Message, place: number) => type.startsWith('readIndex') && place === 4
  const mayBeNull = ({ type }: Message, place: number) => type === 'readIndexReply' && place === 5

  test.each(messages.map((message) => [message.type, message] as const))('%s', (_type, message) => {
    const blobs: Uint8Array[] = []
    const item = messageItem(message, blobs)
    const read = (changed: readonly unknown[]) => toMessage({ item: changed, blobs }, FROM, TO)
    expect(plain(read(item))).toEqual(plain(message))
    const refused = (changed: readonly unknown[], what: string) =>
      expect(read(changed), what).toBeTypeOf('string')
    item.forEach((was, place) => {
      if (place < 2) return
      const wrong: unknown[] = typeof was === 'boolean' ? NO_FLAG : NO_COUNT
      for (const value of wrong) refused(item.with(place, value), `${place}: ${String(value)}`)
      if (typeof was !== 'number') return
      if (!mayBeNull(message, place)) refused(item.with(place, null), `${place}: null`)
      // The largest number that a message may carry; one more is refused in every field but a read request's
      // number.
      const most = CAPS.memberNumber
      if (!isContext(message, place)) refused(item.with(place, most + 1), `${place}: one too large`)
    })
    refused([...item, 1], 'a place too many')
    for (let length = 4; length < item.length; length++) refused(item.slice(0, length), `${length} places`)
    if (message.type !== 'append') {
      expect(toMessage({ item, blobs: [...blobs, blob] }, FROM, TO)).toBeTypeOf('string')
      if (blobs.length > 0) expect(toMessage({ item, blobs: blobs.slice(1) }, FROM, TO)).toBeTypeOf('string')
    }
  })

  test('append: the places of each entry', () => {
    const append = messages.find(({ type }) => type === 'append') as Message
    const blobs: Uint8Array[] = []
    const item = messageItem(append, blobs)
    const heads = item.at(-1) as number[]
    const read = (changed: readonly unknown[]) => toMessage({ item: item.with(-1, changed), blobs }, FROM, TO)
    heads.forEach((_, place) => {
      for (const value of [...NO_COUNT, null, CAPS.memberNumber + 1])
        expect(read(heads.with(place, value as number)), `${place}: ${String(value)}`).toBeTypeOf('string')
    })
    expect(read(heads.slice(0, -1))).toBeTypeOf('string')
    expect(read([...heads, 1])).toBeTypeOf('string')
    // The largest index in an append is that of its last entry.
    const at = (prevIndex: number) => toMessage({ item: item.with(4, prevIndex), blobs }, FROM, TO)
    expect(at(CAPS.memberNumber - 2)).toMatchObject({ prevIndex: CAPS.memberNumber - 2 })
    expect(at(CAPS.memberNumber - 1)).toBeTypeOf('string')
  })
})
