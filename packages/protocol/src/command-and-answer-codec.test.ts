// Test: a command is the same after encoding and decoding, hostile bytes do no harm, and the bytes are
// MessagePack.

import fc from 'fast-check'
import { Packr, Unpackr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { CAPS } from './fixed-limits.js'
import { KIND, lockKeyOf } from './lock-names-to-keys.js'
import {
  type Command,
  ERROR_CODES,
  LatchkeyError,
  Malformed,
  OP,
  SESSION_OVER_ANSWER,
  codeOf,
  decodeAnswer,
  decodeCommand,
  encodeAnswer,
  encodeCommand,
  errorAnswer,
  errorOf,
  isBadCommand,
  okAnswer,
  pack,
  unpack,
} from './index.js'

const bytes = (max = 64) => fc.uint8Array({ maxLength: max })
const text = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'binary', maxLength: 80 }))
const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true }),
  fc.constantFrom(
    0,
    -0,
    127,
    128,
    255,
    256,
    65_535,
    65_536,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    -1,
    -32,
    -33,
    -(2 ** 31),
  ),
)
const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    number,
    text,
    bytes(),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(
      fc.string({ maxLength: 8 }).filter((name) => !(name in Object.prototype)),
      tie('value'),
      { maxKeys: 5 },
    ),
  ),
})).value

/** Buffers are Uint8Arrays; a lone surrogate is no text and comes back as U+FFFD. */
function seen(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: [...value] }
  if (typeof value === 'string') return Buffer.from(value).toString()
  if (Array.isArray(value)) return value.map(seen)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [seen(name), seen(part)]))
  return value
}

test('what is packed comes back', () => {
  fc.assert(
    fc.property(plain, (value) => {
      expect(seen(unpack(pack(value), { maps: true }))).toEqual(seen(value))
    }),
    { numRuns: 2_000 },
  )
})

/** The other one writes -0 as 0. */
const withoutMinusZero = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, part: unknown) => (part === 0 ? 0 : part)))

test('the bytes are MessagePack: another implementation reads ours, and we read its', () => {
  const other = new Packr({ useRecords: false, encodeUndefinedAsNil: true })
  const reader = new Unpackr({ useRecords: false, mapsAsObjects: true })
  fc.assert(
    fc.property(plain, (value) => {
      expect(seen(reader.unpack(Buffer.from(pack(value))))).toEqual(seen(value))
      expect(withoutMinusZero(seen(unpack(other.pack(value), { maps: true })))).toEqual(
        withoutMinusZero(seen(value)),
      )
    }),
    { numRuns: 1_000 },
  )
})

describe('a map', () => {
  test('is refused, wherever it stands, unless it is said that one may be there', () => {
    for (const value of [{}, { a: 1 }, [[{ a: 1 }]]]) {
      expect(() => unpack(pack(value))).toThrow(Malformed)
      expect(seen(unpack(pack(value), { maps: true }))).toEqual(value)
    }
  })

  test.each(['toString', 'valueOf', 'constructor', '__proto__', 'hasOwnProperty', 'toLocaleString'])(
    'never has the name %s, which every object has',
    (name) => {
      const bytes = Buffer.concat([Buffer.of(0x81, 0xa0 + name.length), Buffer.from(name), Buffer.of(1)])
      expect(() => unpack(bytes, { maps: true })).toThrow('a map with a bad name')
    },
  )
})

test('the same value gives the same bytes', () => {
  fc.assert(
    fc.property(plain, (value) => {
      expect(pack(value)).toEqual(pack(structuredClone(value)))
    }),
  )
})

test('fuzz: any bytes end with a value or a Malformed, in memory bounded by their length', () => {
  let refused = 0
  const run = (input: Uint8Array) => {
    try {
      unpack(input)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      refused++
    }
  }
  fc.assert(fc.property(bytes(200), run), { numRuns: 20_000 })
  // Near misses: a good message with bytes changed, cut or added.
  const damaged = fc.tuple(plain, fc.nat(), fc.nat(255), fc.nat(3)).map(([value, at, byte, kind]) => {
    const good = Buffer.from(pack(value))
    if (kind === 0) good[at % good.length] = byte
    if (kind === 1) return good.subarray(0, at % good.length)
    return kind === 2 ? Buffer.concat([good, Buffer.of(byte)]) : good
  })
  fc.assert(fc.property(damaged, run), { numRuns: 20_000 })
  expect(refused).toBeGreaterThan(1_000)
})

test('a count is believed only as far as bytes are left', () => {
  const lies = [
    [0xdd, 0xff, 0xff, 0xff, 0xff],
    [0xdc, 0xff, 0xff, 1, 2, 3],
    [0xc6, 0x7f, 0xff, 0xff, 0xff],
    [0xdb, 0x7f, 0xff, 0xff, 0xff],
    [0xde, 0xff, 0xff],
  ]
  for (const lie of lies) expect(() => unpack(Uint8Array.from(lie))).toThrow(Malformed)
  expect(() => unpack(Buffer.alloc(1_000_000, 0x91))).toThrow('nested too deep')
  expect(() => unpack(Uint8Array.of(0xc7, 1, 2, 3))).toThrow('unknown kind')
})

const key = fc.uint8Array({ minLength: 1, maxLength: 32 })
const name = fc.uint8Array({ minLength: 1, maxLength: 32 })
const lockKey = name.map((bytes) => lockKeyOf(KIND.lock, bytes))
const webLock = name.map((bytes) => lockKeyOf(KIND.webLock, bytes))
const semaphore = name.map((bytes) => lockKeyOf(KIND.semaphore, bytes))
const guard = fc.option(
  fc.oneof(
    fc.tuple(lockKey, fc.integer({ min: 1 })),
    fc.tuple(fc.oneof(lockKey, semaphore), fc.integer({ min: 1 }), fc.boolean()),
  ),
  { nil: null },
)
/** Of either sign; fast-check's integers know no -0. */
const integer = fc.maxSafeInteger()
const life = fc.nat()
const step = fc.oneof(
  fc.tuple(fc.constant(0 as const), key, bytes()),
  fc.tuple(fc.constant(0 as const), key, bytes(), life),
  fc.tuple(fc.constant(1 as const), key, bytes()),
  fc.tuple(fc.constant(2 as const), key),
  fc.tuple(fc.constant(3 as const), key, key),
  fc.tuple(fc.constant(5 as const), key, integer),
)
const condition = fc.oneof(
  fc.tuple(fc.constant(0), fc.nat(3), key, fc.option(bytes(), { nil: null })),
  fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(3), key, fc.nat()),
  fc.tuple(fc.constant(4), fc.constant(0), lockKey, fc.integer({ min: 1 })),
  fc.tuple(fc.constant(5), fc.nat(3), key, integer),
)
const id = fc.string({ minLength: 1, maxLength: 40 })
const lease = fc.integer({ min: 50, max: 30 * 86_400_000 })
const token = fc.nat()
const context = fc.oneof(fc.constant(null), fc.string(), bytes())
const flow = fc.tuple(
  fc.option(fc.string({ minLength: 1, maxLength: 256 })),
  fc.array(id, { maxLength: CAPS.holdsOfFlow }),
)
const attempt = (of: fc.Arbitrary<Uint8Array>) =>
  [
    fc.constant(OP.tryLock),
    of,
    fc.option(key, { nil: null }),
    fc.boolean(),
    id,
    lease,
    token,
    context,
    fc.option(fc.nat(), { nil: null }),
  ] as const
const command = fc.oneof(
  fc.tuple(fc.constant(OP.openSession), fc.integer({ min: 1, max: CAPS.maxSessionLife })),
  fc.tuple(
    fc.constant(OP.openSession),
    fc.integer({ min: 1, max: CAPS.maxSessionLife }),
    fc.string({ maxLength: CAPS.identityLength }),
  ),
  fc.tuple(fc.constant(OP.endSession), fc.integer({ min: 1 })),
  fc.tuple(fc.constantFrom(OP.keepAlive, OP.closeSession)),
  fc.tuple(fc.constant(OP.cancelCall), fc.integer({ min: 1 })),
  fc.tuple(fc.constantFrom(OP.put, OP.putIfAbsent, OP.getAndPut, OP.merge), guard, key, bytes()),
  fc.tuple(fc.constant(OP.put), guard, key, bytes(), life),
  fc.tuple(fc.constant(OP.touch), guard, key, fc.integer({ min: 1 })),
  fc.tuple(
    fc.constant(OP.putAll),
    guard,
    fc.array(fc.oneof(fc.tuple(key, bytes()), fc.tuple(key, bytes(), life))),
  ),
  fc.tuple(
    fc.constant(OP.compareAndPutAll),
    guard,
    fc.array(fc.tuple(key, fc.option(bytes(), { nil: null }), fc.option(bytes(), { nil: null }))),
  ),
  fc.tuple(fc.constant(OP.deleteAll), guard, fc.array(key)),
  fc.tuple(fc.constant(OP.deleteRange), guard, bytes(), bytes()),
  fc.tuple(fc.constant(OP.batch), guard, fc.array(step)),
  fc.tuple(
    fc.constant(OP.txn),
    guard,
    fc.array(condition),
    fc.array(step),
    fc.array(fc.tuple(fc.constant(4), key)),
  ),
  fc.tuple(fc.constant(OP.nextSequence), guard, key, fc.integer({ min: 1 })),
  fc.tuple(fc.constant(OP.resetSequence), guard, key),
  fc.tuple(fc.constant(OP.increment), guard, key, integer),
  fc.tuple(...attempt(lockKey)),
  fc.tuple(...attempt(lockKey), fc.constant([1, 0])),
  fc.tuple(...attempt(lockKey), fc.constantFrom(null, [1, 0]), flow),
  fc.tuple(
    ...attempt(semaphore),
    fc.integer({ min: 1, max: 99 }).chain((of) => fc.tuple(fc.integer({ min: 1, max: of }), fc.constant(of))),
  ),
  fc.tuple(fc.constant(OP.release), lockKey, id, token, fc.boolean()),
  fc.tuple(fc.constant(OP.renew), fc.array(fc.tuple(fc.oneof(lockKey, semaphore), id, token, lease))),
  fc.tuple(fc.constant(OP.cancelWait), lockKey, id),
  fc.tuple(fc.constant(OP.downgrade), lockKey, id, token),
  fc.tuple(fc.constant(OP.rotate), lockKey, id, token),
  fc.tuple(fc.constant(OP.steal), webLock, id, lease, context),
  fc.tuple(
    fc.constant(OP.tryLockAll),
    id,
    fc.uniqueArray(fc.tuple(lockKey, fc.nat(1)), { minLength: 1, maxLength: 64, selector: ([k]) => `${k}` }),
    fc.option(key),
    lease,
    context,
    fc.option(fc.nat()),
  ),
  fc.tuple(
    ...[fc.constant(OP.tryLockAll), id, fc.constant([[Buffer.of(1), 0]])],
    ...[fc.constant(null), lease, context, fc.option(fc.nat()), flow],
  ),
  fc.tuple(fc.constant(OP.proclaim), lockKey, id, token, context),
  fc.tuple(fc.constant(OP.resize), semaphore, fc.integer({ min: 1, max: CAPS.permits })),
  fc.tuple(fc.constant(OP.forceRelease), lockKey, fc.integer({ min: 1 })),
  fc.tuple(fc.constant(OP.createLatch), key, fc.nat()),
  fc.tuple(fc.constant(OP.countDown), key, fc.integer({ min: 1 })),
  fc.tuple(fc.constant(OP.removeLatch), key),
  fc.tuple(fc.constant(OP.waitLatch), key, id, fc.nat()),
  fc.tuple(fc.constant(OP.enterBarrier), key, id, fc.integer({ min: 1, max: CAPS.partiesOfOne }), fc.nat()),
  fc.tuple(fc.constant(OP.leaveParties), fc.array(fc.tuple(fc.nat(1), key, id))),
  fc.tuple(fc.constant(OP.moveParty), fc.nat(1), key, id),
  fc.tuple(
    fc.constant(OP.applyOnce),
    fc.tuple(key, key, fc.integer({ min: 1, max: CAPS.maxLife })),
    fc.tuple(fc.constant(OP.proclaim), lockKey, id, token, context),
  ),
) as unknown as fc.Arbitrary<Command>

test('every command comes back as it was made', () => {
  fc.assert(
    fc.property(command, (made) => {
      const back = decodeCommand(encodeCommand(made))
      expect(isBadCommand(back)).toBe(false)
      expect(seen(back)).toEqual(seen(made))
    }),
    { numRuns: 2_000 },
  )
})

test('A6: an operation of another version is told apart from nonsense', () => {
  expect(decodeCommand(pack([99, null]))).toMatchObject({ bad: 'unknown' })
  expect(decodeCommand(pack([1_000_000]))).toMatchObject({ bad: 'unknown' })
  const nonsense = [
    0,
    -1,
    'put',
    [],
    ['10'],
    {},
    null,
    [10],
    [10, null, Buffer.of(1)],
    [10, null, 'k', 'v'],
    [1.5],
  ]
  for (const made of nonsense) expect(decodeCommand(pack(made))).toMatchObject({ bad: 'invalid' })
  expect(decodeCommand(Buffer.alloc(0))).toMatchObject({ bad: 'invalid' })
  expect(decodeCommand(Buffer.alloc(5 * 1024 * 1024))).toMatchObject({ bad: 'invalid' })
})

test('caps are the door, also for bytes: keys, values, contexts, leases, tokens', () => {
  const big = (size: number) => Buffer.alloc(size)
  const bad: unknown[] = [
    [OP.put, null, big(0), big(1)],
    [OP.put, null, big(4097), big(1)],
    [OP.put, null, big(1), big(1024 * 1024 + 1)],
    [OP.put, [big(1), 0], big(1), big(1)],
    [OP.tryLock, big(1), null, false, '', 1_000, 0, null, null],
    [OP.tryLock, big(1), null, false, 'x', 49, 0, null, null],
    [OP.tryLock, big(1), null, false, 'x', 30 * 86_400_000 + 1, 0, null, null],
    [OP.tryLock, big(1), null, false, 'x', 1_000, -1, null, null],
    [OP.tryLock, big(1), null, false, 'x', 1_000, 0, big(4097), null],
    [OP.tryLock, big(1), big(0), false, 'x', 1_000, 0, null, null],
    [OP.nextSequence, null, big(1), 0],
    ...[-1, 0.5, 2 ** 47, 2 ** 52, Number.NaN, null, '30s', true, big(1)].flatMap((life) => [
      [OP.put, null, big(1), big(1), life],
      [OP.putAll, null, [[big(1), big(1), life]]],
      [OP.batch, null, [[0, big(1), big(1), life]]],
      [OP.touch, null, big(1), life],
    ]),
    [OP.put, null, big(1), big(1), 5, 5],
    [OP.merge, null, big(1), big(1), 5],
    [OP.touch, null, big(1), 0],
    [OP.touch, null, big(1)],
    [OP.increment, null, big(1), 2 ** 53],
    [OP.increment, null, big(1), 1.5],
    [OP.increment, null, big(1), null],
    [OP.increment, null, big(0), 1],
    [OP.batch, null, [[5, big(1), '1']]],
    [OP.batch, null, [[6, big(1), 1]]],
    [OP.txn, null, [[5, 0, big(1), big(1)]], [], []],
    [OP.batch, null, [[4, big(1)]]],
    [OP.txn, null, [[4, 1, big(1), 5]], [], []],
  ]
  for (const made of bad) expect(decodeCommand(pack(made))).toMatchObject({ bad: 'invalid' })
  expect(isBadCommand(decodeCommand(pack([OP.put, null, big(4096), big(1024 * 1024)])))).toBe(false)
})

test('fuzz: any bytes are a command, or a reason', () => {
  fc.assert(
    fc.property(bytes(120), (input) => {
      const made = decodeCommand(input)
      if (isBadCommand(made)) expect(made.reason).not.toBe('')
    }),
    { numRuns: 20_000 },
  )
})

test('answers: results, every error of the table, a session that is over, and nonsense', () => {
  expect(decodeAnswer(encodeAnswer(okAnswer([1, null])))).toEqual([0, [1, null]])
  for (const code of ERROR_CODES) {
    const answer = decodeAnswer(encodeAnswer(errorAnswer(code, 'why')))
    expect(codeOf(answer)).toBe(code)
    const error = errorOf(answer)
    expect(error).toBeInstanceOf(LatchkeyError)
    expect(error).toMatchObject({ code, message: 'why', outcome: new LatchkeyError(code).outcome })
  }
  const fenced = (holder: unknown) => decodeAnswer(pack([...errorAnswer('ERR_FENCED', 'No.'), holder]))
  const holder = { id: 'me', context: 'c', fencingToken: 7, remainingMillis: 5, sinceMillis: 6 }
  expect(errorOf(fenced(['me', 'c', 7, 5, 6]))).toMatchObject({ code: 'ERR_FENCED', holder })
  expect(errorOf(fenced(null)).holder).toBeUndefined()
  expect(errorOf(fenced(null)).message).toBe('No. Nobody holds it now.')
  for (const bad of [
    7,
    [],
    ['me', 'c', 7, 5, -1],
    ['me', 'c', 7, 5, 6, 7],
    ['m'.repeat(5_000), 'c', 7, 5, 6],
  ])
    expect(codeOf(fenced(bad))).toBe('ERR_PROTOCOL')
  expect(decodeAnswer(encodeAnswer(SESSION_OVER_ANSWER))[0]).toBe(-1)
  expect(codeOf([9_999, 'new', false, false])).toBe('ERR_PROTOCOL')
  const nonsense: Uint8Array[] = [Buffer.alloc(0), pack([1]), pack([0]), pack('x'), pack([3, 1, true, true])]
  for (const input of nonsense) expect(codeOf(decodeAnswer(input))).toBe('ERR_PROTOCOL')
})
