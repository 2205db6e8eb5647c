// Test: messages between members are the same after encoding and decoding, and all other bytes are refused.

import { seededRandom } from '@latchkey/base'
import { pack } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { type MemberMessage, decodeMemberMessage, encodeMemberMessage } from './non-raft-member-messages.js'

const bytes = new Uint8Array([1, 2, 3])
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const all: MemberMessage[] = [
  { kind: 'command', id: 1, session: 2, number: 3, done: 4, body: bytes },
  { kind: 'command', id: 1, session: 2, number: 3, done: 4, body: bytes, trace: TRACE },
  { kind: 'applied', id: 1, time: 99, bytes },
  { kind: 'refused', id: 1, reason: 'busy' },
  { kind: 'unknown', id: 1 },
  { kind: 'call', id: 1, call: 'members.add', args: ['d', 'ws://x'] },
  { kind: 'returned', id: 1, answer: bytes },
  { kind: 'stateHashes', index: 7, spaces: { data: 'ab', locks: 'cd' } },
  { kind: 'compare', id: 1, index: 7, space: 'data', after: bytes, rows: 30 },
  { kind: 'compare', id: 1, index: 7, space: 'events', after: undefined, rows: 1 },
  { kind: 'compared', id: 1, rows: { sum: 'ab', last: bytes } },
  { kind: 'compared', id: 1, rows: { sum: 'ab', last: undefined } },
  { kind: 'compared', id: 1, rows: undefined },
  { kind: 'notMember', index: 7 },
]

test.each(all)('$kind', (message) => {
  const back = decodeMemberMessage(encodeMemberMessage(message))
  expect(back?.kind).toBe(message.kind)
  expect(encodeMemberMessage(back as MemberMessage)).toEqual(encodeMemberMessage(message))
})

test('a kind that is no number, or names what every list has, is null', () => {
  for (const kind of ['length', 'constructor', '__proto__', [1], null, 1.5, -1, 99])
    expect(decodeMemberMessage(pack([kind, 1, 2, 3, 4, bytes]))).toBeNull()
  expect(decodeMemberMessage(Buffer.from('9182a8746f537472696e6701a776616c75654f6601', 'hex'))).toBeNull()
})

test('OB3: a command with a trace that is no traceparent is null', () => {
  const traced = (trace: unknown) => decodeMemberMessage(pack([0, 1, 2, 3, 4, bytes, trace]))
  expect(traced(TRACE)).toMatchObject({ trace: TRACE })
  for (const trace of [null, 7, '', TRACE.slice(1), `${TRACE}0`, TRACE.replace('00-', 'ff-')])
    expect(traced(trace)).toBeNull()
})

test('a command with a number that no record of the log has room for is null', () => {
  const command = (session: number, number: number, done: number) =>
    decodeMemberMessage(encodeMemberMessage({ kind: 'command', id: 1, session, number, done, body: bytes }))
  const widest = 2 ** 48 - 1
  expect(command(widest, widest, widest)).toMatchObject({ session: widest, number: widest, done: widest })
  for (const [session, number, done] of [
    [2 ** 48, 1, 0],
    [1, 2 ** 48, 0],
    [1, 1, 2 ** 53 - 1],
  ] as const)
    expect(command(session, number, done)).toBeNull()
})

test('L22: whatever else comes is null, never a throw', () => {
  const random = seededRandom('between')
  for (let i = 0; i < 20_000; i++) {
    const frame = Uint8Array.from(encodeMemberMessage(random.pick(all)))
    for (let k = random.between(1, 4); k > 0; k--)
      frame[random.between(0, frame.length)] = random.between(0, 256)
    const message = decodeMemberMessage(frame.subarray(0, random.between(0, frame.length + 1)))
    if (message !== null) expect(typeof message.kind).toBe('string')
  }
})

test('C27: lists, texts and bodies are no longer than anybody needs', () => {
  const call = (args: unknown) => decodeMemberMessage(pack([4, 1, 'members.add', args]))
  expect(call(['d', 'ws://d', null])).not.toBeNull()
  for (const args of [Array.from({ length: 9 }, () => 'x'), [1], [['x']], [bytes], ['x'.repeat(5_000)]])
    expect(call(args)).toBeNull()
  expect(decodeMemberMessage(pack([2, 1, 'x'.repeat(5_000)]))).toBeNull()
  const long = Buffer.alloc(4 * 1024 * 1024 + 1)
  expect(decodeMemberMessage(pack([0, 1, 1, 1, 0, long]))).toBeNull()
  expect(decodeMemberMessage(pack([0, 1, 1, 1, 0, long.subarray(1)]))).not.toBeNull()
})
