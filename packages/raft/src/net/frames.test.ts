// Test: a frame is accepted as a whole or refused with a reason, whatever the other side sends, and with
// limited memory.

import { seededRandom, type Random } from '@latchkey/base'
import { CAPS, pack } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { type Parcel, toMessage } from './message-decoder.js'
import { Assembly, Cutting, FRAME_LIMIT, join, turnParts, WHOLE_LIMIT } from './frames.js'
import { decodeChallenge, decodeGreeting, decodeHello, decodeProof, decodeReply } from './handshake-frames.js'
import { TYPE } from './message-encoder.js'

/** version, length of the head, head, bytes */
function raw(head: Uint8Array, bytes = 0, version = 1, headLength = head.length): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = version
  prefix.writeUInt32BE(headLength, 1)
  return Buffer.concat([prefix, head, Buffer.alloc(bytes)])
}

const frame = (head: unknown, bytes = 0) => raw(pack(head), bytes)
const piece = (lane: number, last: boolean, bytes: number) => frame([1, lane, last], bytes)

describe('L22: frames', () => {
  test('a long frame is cut and put together again, byte for byte', () => {
    const blob = Buffer.alloc(3 * CAPS.frameBytes + 17)
    for (let i = 0; i < blob.length; i++) blob[i] = i * 31
    const cutting = new Cutting(0, turnParts([[0, [blob.length]]], [blob]))
    const assembly = new Assembly()
    const frames: Uint8Array[] = []
    while (!cutting.done) frames.push(Buffer.from(cutting.next()))
    expect(frames).toHaveLength(4)
    frames.slice(0, -1).forEach((one, i) => {
      expect(assembly.take(one)).toEqual([])
      expect(assembly.bytes).toBe((i + 1) * CAPS.frameBytes)
    })
    const [parcel] = assembly.take(frames.at(-1) as Uint8Array) as Parcel[]
    expect(Buffer.compare(parcel?.blobs[0] as Uint8Array, blob)).toBe(0)
    expect(assembly.bytes).toBe(0)
  })

  test('all pieces of a frame are made in one buffer, so a large value is not in memory once more', () => {
    const cutting = new Cutting(0, turnParts([[0, [1_000_000]]], [new Uint8Array(1_000_000)]))
    const buffers = new Set<unknown>()
    while (!cutting.done) buffers.add(cutting.next().buffer)
    expect(buffers.size).toBe(1)
  })

  test('pieces of two send queues may be mixed', () => {
    const assembly = new Assembly()
    const cuttings = ([0, 1] as const).map((lane) => {
      const blob = new Uint8Array(2 * CAPS.frameBytes).fill(lane + 1)
      return new Cutting(lane, turnParts([[0, [blob.length]]], [blob]))
    })
    const got: number[] = []
    while (cuttings.some((cutting) => !cutting.done)) {
      for (const cutting of cuttings) {
        if (cutting.done) continue
        const parcels = assembly.take(Buffer.from(cutting.next()))
        if (typeof parcels === 'string') throw new Error(parcels)
        for (const { blobs } of parcels) got.push(blobs[0]?.[0] as number)
      }
    }
    expect(got).toEqual([1, 2])
  })

  test.each([
    ['nothing', Buffer.alloc(0), 'a frame is too short'],
    ['an older version', raw(pack([0]), 0, 0), 'version 0 is not spoken here'],
    ['a later version', raw(pack([0]), 0, 2), 'version 2 is not spoken here'],
    ['a head beyond the frame', raw(pack([0]), 0, 1, 100), "a frame's head is too long"],
    ['a head of 4 GiB', raw(pack([0]), 0, 1, 0xffffffff), "a frame's head is too long"],
    ['a head that is no list', frame('list'), "a frame's head must be a list"],
    ['a head that is a map', frame({ a: 1 }), 'a map where none belongs'],
    ['an empty head', frame([]), 'a frame of an unknown kind'],
    ['a kind that does not exist', frame([7]), 'a frame of an unknown kind'],
    ['an item that is no list', frame([0, 5]), 'an item is wrong'],
    ['an item without lengths', frame([0, [5]]), 'an item is wrong'],
    ['a length beyond the frame', frame([0, [5, [10]]], 9), 'an item is longer than its frame'],
    ['a huge length', frame([0, [5, [2 ** 52]]], 9), 'an item is longer than its frame'],
    ['a negative length', frame([0, [5, [-1]]], 9), 'an item is longer than its frame'],
    ['half a byte', frame([0, [5, [0.5]]], 9), 'an item is longer than its frame'],
    ['a length that is text', frame([0, [5, ['9']]], 9), 'an item is longer than its frame'],
    ['bytes of nobody', frame([0, [5, [8]]], 9), 'a frame is longer than its items'],
    ['a lane that does not exist', piece(2, false, 100_000), 'a piece is wrong'],
    ['a lane that is no number', frame([1, 'length', true], 1), 'a piece is wrong'],
    ['a piece that is tiny', piece(0, false, 10), 'a piece is too short'],
    ['a cut frame that is a piece', frame([1, 0, true], 0), 'a frame is too short'],
    ['a frame that is too long', Buffer.alloc(FRAME_LIMIT + 1, 1), 'a frame is too long'],
  ])('%s is refused', (_what, bytes, reason) => {
    expect(new Assembly().take(bytes)).toBe(reason)
  })

  test('a cut frame holds no other pieces', () => {
    const inner = piece(1, true, 0)
    const head = pack([1, 0, true])
    expect(new Assembly().take(Buffer.concat([raw(head), inner]))).toBe('a cut frame is no frame of a turn')
  })

  test('deep nesting is refused, not followed', () => {
    const deep = Buffer.alloc(200_000, 0x91)
    expect(new Assembly().take(raw(deep))).toBe('nested too deep')
  })

  test('a list that announces 2^32 places costs nothing', () => {
    const head = Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff, 0])
    expect(new Assembly().take(raw(head))).toBe('it ends too early')
  })

  test('pieces without an end are refused at the cap', () => {
    const assembly = new Assembly()
    const one = piece(0, false, CAPS.frameBytes)
    let verdict: unknown = []
    let count = 0
    while (typeof verdict !== 'string' && count < 1000) {
      verdict = assembly.take(one)
      count++
    }
    expect(verdict).toBe('a message is too long')
    expect(assembly.bytes).toBeLessThanOrEqual(WHOLE_LIMIT)
  })

  test('many tiny byte values are refused: they would cost more memory than they carry', () => {
    const lengths = Array.from({ length: 70_000 }, () => 1)
    expect(new Assembly().take(frame([0, [5, lengths]], 70_000))).toBe('a frame of too many byte values')
  })
})

// ---- fuzz

const CASES = 60_000

const VALID: readonly Uint8Array[] = [
  join(turnParts([[TYPE.heartbeat, [], 0, 1, 1, 1]], [])),
  join(turnParts([[TYPE.append, [3], 0, 5, 1, 4, 0, 0, [4, 1, 1]]], [new Uint8Array(3)])),
  join(turnParts([[TYPE.snapshot, [40, 3], 0, 1, 1, 1, 1, 0, true]], [new Uint8Array(43)])),
  join(
    turnParts(
      [
        [TYPE.vote, [], 0, 1, 1, 1, true],
        [0, [2]],
      ],
      [new Uint8Array(2)],
    ),
  ),
  pack([1, 0, 'latchkey', null, 'b', 1, 1, ['a', 'one', 7, '', 0, 1]]),
  pack([1, 1, 1, null, ['b', 'two', 7, '', 0, 1]]),
  pack([1, 2, 12, 'no', null]),
]

const noise = (random: Random, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length)
  for (let i = 0; i < length; i++) bytes[i] = random.next()
  return bytes
}

const anyNumber = (random: Random): number =>
  random.pick([
    0,
    1,
    -1,
    0.5,
    255,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    -(2 ** 53),
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ])

/** A random value of any type that MessagePack can encode. */
function anyValue(random: Random, depth: number): unknown {
  switch (random.between(0, depth > 4 ? 6 : 8)) {
    case 0:
      return random.between(0, 16)
    case 1:
      return anyNumber(random)
    case 2:
      return random.pick(['', 'a', '__proto__', 'length', 'x'.repeat(40)])
    case 3:
      return random.chance(0.5)
    case 4:
      return null
    case 5:
      return noise(random, random.between(0, 20))
    case 6:
      return Array.from({ length: random.between(0, 9) }, () => anyValue(random, depth + 1))
    default:
      return { a: anyValue(random, depth + 1), constructor: 1 }
  }
}

function hostile(random: Random): Uint8Array {
  switch (random.between(0, 5)) {
    case 0:
      return noise(random, random.between(0, 200))
    case 1:
      return raw(noise(random, random.between(0, 100)), random.between(0, 50))
    case 2:
      return frame(anyValue(random, 0), random.between(0, 50))
    case 3:
      // An item of a known message type with random fields.
      return frame([
        0,
        [random.between(0, 15), [], ...(anyValue(random, 9) === null ? [] : [0, 1]), anyValue(random, 2)],
      ])
    default: {
      const mutated = Buffer.from(random.pick(VALID))
      for (let i = random.between(1, 4); i > 0; i--)
        mutated[random.between(0, mutated.length)] = random.next()
      return random.chance(0.2) ? mutated.subarray(0, random.between(0, mutated.length)) : mutated
    }
  }
}

describe('L22: hostile bytes', () => {
  test(`${CASES} of them are refused or understood, without a crash and without growing`, () => {
    const random = seededRandom('hostile frames')
    let refused = 0
    let understood = 0
    let assembly = new Assembly()
    for (let i = 0; i < CASES; i++) {
      const bytes = hostile(random)
      const parcels = assembly.take(bytes)
      if (assembly.bytes > 2 * WHOLE_LIMIT) throw new Error('more is kept than the cap')
      if (typeof parcels === 'string') {
        refused++
        // As on a real connection: when it ends, its unfinished frames end with it.
        assembly = new Assembly()
      } else {
        for (const parcel of parcels)
          if (parcel.item[0] !== 0 && isMessage(toMessage(parcel, 'a', 'b'))) understood++
      }
      for (const decode of [decodeGreeting, decodeChallenge, decodeProof, decodeReply]) decode(bytes)
      decodeHello(bytes, 1)
    }
    expect(refused).toBeGreaterThan(CASES / 2)
    expect(understood).toBeGreaterThan(100)
    expect(({} as Record<string, unknown>)['a']).toBeUndefined()
  })
})

/** A message that the decoder accepts has numbers in all fields that are numbers. */
function isMessage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { term, group } = value as { term: unknown; group: unknown }
  if (!Number.isSafeInteger(term) || !Number.isSafeInteger(group)) throw new Error('no number')
  return true
}
