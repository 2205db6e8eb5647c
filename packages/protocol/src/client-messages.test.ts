// Test: frames between clients and members are decoded as they were encoded, and hostile frames are refused.

import { utf8 } from '@latchkey/base'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Answer,
  CAPS,
  type Command,
  type LinkReply,
  type LinkRequest,
  OP,
  READ,
  codeOf,
  decodeCommand,
  decodeHello,
  decodeReplies,
  decodeRequests,
  decodeWelcome,
  encodeAnswer,
  encodeCommand,
  encodeHello,
  encodeReplies,
  encodeRequests,
  encodeWelcome,
  errorAnswer,
  isBadCommand,
  okAnswer,
  pack,
} from './index.js'

const key = utf8('k')
/** Decoded bytes are no Buffers. */
const plain = (bytes: Uint8Array) => new Uint8Array(bytes)
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const REQUESTS: LinkRequest[] = [
  { kind: 'command', id: 1, session: 7, number: 3, done: 2, body: plain(encodeCommand([2])) },
  { kind: 'read', id: 2, stale: true, read: [READ.get, key] },
  { kind: 'read', id: 9, stale: false, read: [READ.page, 0, true, null, key, false, 10, 'both'] },
  { kind: 'watch', id: 3, start: key, end: null, from: 0 },
  { kind: 'watch', id: 5, start: key, end: null, from: 9, of: 2 },
  { kind: 'watchMore', id: 3, events: 100 },
  { kind: 'watchEnd', id: 3 },
  { kind: 'attach', session: 7 },
  { kind: 'admin', id: 4, call: 'members.add', args: ['d', 'ws://d'] },
  { kind: 'admin', id: 5, call: 'transferLeadership', args: [null] },
  { kind: 'command', id: 6, session: 7, number: 4, done: 2, body: plain(encodeCommand([2])), trace: TRACE },
  { kind: 'read', id: 7, stale: true, read: [READ.get, key], trace: TRACE },
  { kind: 'admin', id: 8, call: 'status', args: [], trace: TRACE },
]
const REPLIES: LinkReply[] = [
  { kind: 'answer', id: 1, time: 123, never: false, answer: plain(encodeAnswer(okAnswer(5))) },
  { kind: 'events', ids: [3, 4], events: [[5, 0, key, key, null]], upTo: 5 },
  { kind: 'watchOver', id: 3, answer: plain(encodeAnswer(errorAnswer('ERR_COMPACTED'))) },
  { kind: 'ended', ticket: [1, key, 'me'], result: ['passed', 3, 0, 0] },
  { kind: 'granted', key, owner: ['me', 10, -1, 4, 1, 'ctx', 0, 5] },
  {
    kind: 'leader',
    id: undefined,
    url: undefined,
    term: 4,
    role: 'follower',
    self: 'a',
    clusterId: 'x',
    members: [
      ['a', 'ws://a', 'voter'],
      ['b', 'ws://b'],
    ],
    electionTimeout: 1_000,
    missing: ['b'],
    isFirstStart: true,
  },
]

test('L22: all messages of a turn are one frame, and come back as they were', () => {
  const asked = encodeRequests(REQUESTS)
  const told = encodeReplies(REPLIES)
  expect([asked.length, told.length]).toEqual([1, 1])
  expect(decodeRequests(asked[0] as Uint8Array)).toEqual(REQUESTS)
  expect(decodeReplies(told[0] as Uint8Array)).toEqual(REPLIES)
})

test('OB3: the trace of a request is a whole traceparent, or the frame is refused', () => {
  const wrong = [
    null,
    '',
    7,
    Buffer.from(TRACE),
    `${TRACE} `,
    TRACE.toUpperCase(),
    TRACE.replace('00-', '01-'),
    TRACE.replace('0af7', 'zzzz'),
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`,
    'x'.repeat(1_000_000),
  ]
  const untraced = [
    [1, 6, 7, 4, 2, encodeCommand([2])],
    [2, 7, true, [READ.get, key]],
    [7, 8, 'status', []],
  ]
  for (const request of untraced) {
    expect(decodeRequests(pack([1, [...request, TRACE]]))).toHaveLength(1)
    for (const trace of wrong) expect(decodeRequests(pack([1, [...request, trace]]))).toMatch(/traceparent/)
    expect(decodeRequests(pack([1, [...request, TRACE, TRACE]]))).toMatch(/places/)
  }
  expect(decodeRequests(pack([1, [4, 3, 100, TRACE]]))).toMatch(/places/)
})

test('an answer travels as it is, or as the bytes that were kept of it', () => {
  const answers: Answer[] = [okAnswer([1, null, utf8('x')]), errorAnswer('ERR_COMPACTED')]
  for (const answer of answers) {
    const told: LinkReply[] = [
      { kind: 'answer', id: 1, time: 1, never: true, answer },
      { kind: 'answer', id: 2, time: 1, never: true, answer: plain(encodeAnswer(answer)) },
      { kind: 'watchOver', id: 3, answer },
    ]
    expect(decodeReplies(encodeReplies(told)[0] as Uint8Array)).toEqual(told)
  }
})

test('what is no answer is one: ERR_PROTOCOL, its outcome unknown', () => {
  for (const answer of [[], [0], [0, 1, 2], ['x', 1], [3, 'why', 1, 0], [0.5, 'why', true, true]]) {
    for (const frame of [
      [1, [1, 7, 0, false, answer]],
      [1, [3, 7, answer]],
    ]) {
      const told = decodeReplies(pack(frame)) as { id: number; answer: Answer }[]
      expect([told.length, told[0]?.id, codeOf(told[0]?.answer as Answer)]).toEqual([1, 7, 'ERR_PROTOCOL'])
      expect(told[0]?.answer[3]).toBe(true)
    }
  }
})

test('many messages: frames are closed at their size, order is kept, nothing is lost', () => {
  const body = Buffer.alloc(50_000)
  const many = Array.from(
    { length: 40 },
    (_, at): LinkRequest => ({ kind: 'command', id: at + 1, session: 1, number: at + 1, done: 1, body }),
  )
  const frames = encodeRequests(many)
  expect(frames.length).toBeGreaterThan(7)
  for (const frame of frames) expect(frame.length).toBeLessThanOrEqual(CAPS.frameBytes)
  expect(
    frames.flatMap((frame) =>
      (decodeRequests(frame) as LinkRequest[]).map((request) => (request as { id: number }).id),
    ),
  ).toEqual(many.map((_, at) => at + 1))
  expect(encodeRequests([])).toEqual([])
  // Each message that exceeds the size of a frame has its own frame, and there is no empty frame.
  const large: LinkRequest = {
    kind: 'command',
    id: 1,
    session: 1,
    number: 1,
    done: 1,
    body: Buffer.alloc(CAPS.frameBytes),
  }
  expect(encodeRequests([large, large])).toHaveLength(2)
})

test('hostile frames are refused whole, with the reason', () => {
  const good = [1, [4, 3, 100]]
  expect(decodeRequests(pack(good))).toEqual([{ kind: 'watchMore', id: 3, events: 100 }])
  const bad: unknown[] = [
    'x',
    [],
    [2, [4, 3, 100]],
    [1, [99, 3]],
    [1, 'x'],
    [1, [4, 3]],
    [1, [4, 3, 100, 1]],
    [1, [4, 0, 100]],
    [1, [4, 3, -1]],
    [1, [4, 3, 100], [1, 1, 1, 1, 1, 'no bytes']],
    [1, [1, 1, 1, 1, 1, Buffer.alloc(CAPS.commandBytes + 1)]],
    [1, [2, 1, false, [99]]],
    [1, [2, 1, false, [READ.get, Buffer.alloc(0)]]],
    [1, [7, 1, 'format.disk', []]],
    [1, [7, 1, 'backup', [{ a: 1 }]]],
    [1, [3, 1, 'a', null, 0]],
  ]
  for (const frame of bad)
    expect(typeof decodeRequests(pack(frame)), JSON.stringify(frame)?.slice(0, 80)).toBe('string')
  expect(typeof decodeRequests(Buffer.alloc(CAPS.maxPayload + 1))).toBe('string')
  const replies: unknown[] = [
    [1, [2, 1, 5, [[1, 2, key, null, null]]]],
    [1, [4, key, ['x']]],
    [1, [1, 1, 1, 0, key]],
    [1, [1, 1, 1, false, 'text']],
    [1, [1, 1, 1, false, null]],
    [1, [1, 1, 1, false, Buffer.alloc(2), 1]],
    [1, [3, 1, 5]],
    [1, [5, 'a', 'u', 1, 'r', 's', 'c', [['a']]]],
  ]
  for (const frame of replies) expect(typeof decodeReplies(pack(frame))).toBe('string')
})

test('a value that cannot be made a text is refused with a reason, by every reader of a frame', () => {
  // [{toString: 1, valueOf: 1}] where a version belongs, and where a kind of message belongs.
  const frames = [
    Buffer.from('9182a8746f537472696e6701a776616c75654f6601', 'hex'),
    Buffer.from('92019182a8746f537472696e6701a776616c75654f6601', 'hex'),
  ]
  for (const frame of frames)
    for (const decode of [decodeRequests, decodeReplies, decodeHello, decodeWelcome])
      expect(decode(frame)).toMatch(/a map/)
})

test('a number that no record of the log has room for is refused at the door', () => {
  const wide = 2 ** 48
  const requests: LinkRequest[] = [
    { kind: 'command', id: 1, session: wide, number: 1, done: 0, body: plain(encodeCommand([2])) },
    { kind: 'command', id: 1, session: 1, number: wide, done: 0, body: plain(encodeCommand([2])) },
    { kind: 'command', id: 1, session: 1, number: 1, done: wide, body: plain(encodeCommand([2])) },
    { kind: 'attach', session: wide },
  ]
  for (const request of requests)
    for (const frame of encodeRequests([request]))
      expect(decodeRequests(frame)).toContain('a whole number from')
})

test('a reason is short, however long the value is that it speaks of', () => {
  const long = 'x'.repeat(100_000)
  for (const places of [[long], [[long]], [1, [long]], [1, [[long, long]]]])
    for (const decode of [decodeRequests, decodeReplies, decodeHello, decodeWelcome]) {
      const reason = decode(pack(places))
      expect(typeof reason).toBe('string')
      expect((reason as string).length).toBeLessThan(200)
    }
})

test('fuzz: any bytes are messages, or a reason', () => {
  const run = (frame: Uint8Array) => {
    for (const decode of [decodeRequests, decodeReplies, decodeHello, decodeWelcome]) {
      const made = decode(frame)
      if (typeof made === 'string') expect(made).not.toBe('')
    }
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), run), { numRuns: 3_000 })
  const [asked] = encodeRequests(REQUESTS)
  const [told] = encodeReplies(REPLIES)
  const damaged = fc.tuple(
    fc.boolean(),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
    fc.nat(400),
  )
  fc.assert(
    fc.property(damaged, ([ask, changes, cut]) => {
      const frame = Buffer.from((ask ? asked : told) as Uint8Array)
      for (const [at, byte] of changes) frame[at % frame.length] = byte
      run(cut < frame.length ? frame.subarray(0, cut) : frame)
    }),
    { numRuns: 6_000 },
  )
})

test('the handshake: who, which cluster, which versions; and a refusal with its reason', () => {
  const hello = { cluster: 'latchkey', clusterId: undefined, token: 'secret', least: 1, most: 1 }
  expect(decodeHello(encodeHello(hello))).toEqual(hello)
  expect(decodeHello(encodeHello({ ...hello, clusterId: 'c', token: undefined }))).toEqual({
    ...hello,
    clusterId: 'c',
    token: undefined,
  })
  const welcome = { ok: true, version: 1, clusterId: 'c' } as const
  expect(decodeWelcome(encodeWelcome(welcome))).toEqual(welcome)
  const refusal = { ok: false, answer: errorAnswer('ERR_UNAUTHORIZED') } as const
  expect(decodeWelcome(encodeWelcome(refusal))).toEqual(refusal)
  expect(typeof decodeHello(encodeWelcome(welcome))).toBe('string')
  expect(typeof decodeHello(encodeRequests(REQUESTS)[0] as Uint8Array)).toBe('string')
  expect(typeof decodeWelcome(encodeReplies(REPLIES)[0] as Uint8Array)).toBe('string')
})

/** A list of that many empty lists. */
const emptyLists = (count: number, first = 0x90) => {
  const bytes = Buffer.alloc(5 + count, 0x90)
  bytes[0] = 0xdd
  bytes.writeUInt32BE(count, 1)
  bytes[5] = first
  return bytes
}

test('C39: what would be far larger in memory than it is as bytes is refused before it is there', () => {
  // As bytes these are 16 and 4 MiB; in memory they would be 900 and 220.
  const frame = emptyLists(CAPS.maxPayload - 5, 1)
  for (const decode of [decodeRequests, decodeReplies, decodeHello, decodeWelcome])
    expect(decode(frame)).toContain('more values')
  expect(decodeCommand(emptyLists(CAPS.commandBytes - 5))).toMatchObject({ bad: 'invalid' })
  expect(decodeCommand(emptyLists(CAPS.commandBytes - 5))).toMatchObject({
    reason: 'more values than there may be',
  })
  // Nested, each list well below: the sum counts.
  const inner = emptyLists(CAPS.values / 4)
  const nested = Buffer.concat([Buffer.of(0x96, 1), inner, inner, inner, inner, inner])
  expect(decodeRequests(nested)).toContain('more values')
})

test('C39: the largest commands that are within their budget are read', () => {
  const key = Buffer.from('k')
  const rows = Array.from({ length: CAPS.commandRows }, () => [key, null, null] as const)
  const command: Command = [OP.compareAndPutAll, null, rows]
  expect(isBadCommand(decodeCommand(encodeCommand(command)))).toBe(false)
})

test('C27: lists that nobody needs long are short, and a revision has 48 bits', () => {
  const frames = [
    [1, [7, 1, 'status', Array.from({ length: 9 }, () => null)]],
    [1, [3, 1, null, null, 2 ** 48]],
  ]
  for (const frame of frames) expect(typeof decodeRequests(pack(frame))).toBe('string')
})
