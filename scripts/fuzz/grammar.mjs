// Rule: hostile bytes by grammar: a valid message with one part of it replaced, repeated, cut or made to lie about its length.
// Everything is drawn from the Random that is handed in, so that a seed repeats a run.

const NUMBERS = [
  0,
  1,
  -1,
  31,
  127,
  128,
  255,
  256,
  65_535,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 48 - 1,
  2 ** 48,
  2 ** 53 - 1,
]
const TEXTS = [
  '',
  'a',
  'toString',
  '__proto__',
  'constructor',
  'length',
  'x'.repeat(300),
  '\u0000',
  '../../etc',
  'ä€😀',
]

const number = (value) => {
  const bytes = Buffer.alloc(9)
  bytes[0] = value < 0 ? 0xd3 : 0xcf
  bytes.writeBigInt64BE(BigInt(value), 1)
  return bytes
}
const double = (value) => {
  const bytes = Buffer.alloc(9)
  bytes[0] = 0xcb
  bytes.writeDoubleBE(value, 1)
  return bytes
}
const text = (value) => {
  const body = Buffer.from(value)
  return Buffer.concat([Buffer.of(0xda, body.length >> 8, body.length & 255), body])
}
const bin = (body) => Buffer.concat([Buffer.of(0xc5, body.length >> 8, body.length & 255), body])
const list = (parts) => Buffer.concat([Buffer.of(0xdc, parts.length >> 8, parts.length & 255), ...parts])
const map = (pairs) => Buffer.concat([Buffer.of(0x80 + pairs.length), ...pairs.flat()])

/** Values that were, or could be, a surprise where they stand: each as its bytes. */
const SURPRISES = [
  ...NUMBERS.map(number),
  ...[Number.NaN, Number.POSITIVE_INFINITY, -0, 1.5, 1e300].map(double),
  Buffer.from('cfffffffffffffffff', 'hex'),
  ...TEXTS.map(text),
  bin(Buffer.alloc(0)),
  bin(Buffer.alloc(5_000, 0xff)),
  bin(Buffer.from([0xc1])),
  Buffer.of(0xc0),
  Buffer.of(0xc2),
  Buffer.of(0xc3),
  list([]),
  list(Array.from({ length: 300 }, () => Buffer.of(0x00))),
  list([list([list([Buffer.of(0x01)])])]),
  Buffer.alloc(40, 0x91),
  map([]),
  map([
    [text('toString'), Buffer.of(0x01)],
    [text('valueOf'), Buffer.of(0x01)],
  ]),
  map([[text('__proto__'), map([])]]),
  map([[text('length'), number(5)]]),
  // Extensions, a reserved byte, and lengths that lie.
  Buffer.of(0xc7, 1, 2, 3),
  Buffer.of(0xd4, 0, 0),
  Buffer.of(0xc1),
  Buffer.from('ddffffffff', 'hex'),
  Buffer.from('dfffffffff', 'hex'),
  Buffer.from('c6ffffffff', 'hex'),
  Buffer.from('dbffffffff', 'hex'),
]

/** Where each value of a MessagePack text begins and ends, nested ones too; empty where the bytes are none. */
export function valuesIn(bytes) {
  const found = []
  try {
    if (step(bytes, 0, found, 0) !== bytes.length) return []
  } catch {
    return []
  }
  return found
}

function step(bytes, at, found, depth) {
  const place = found.push([at, at]) - 1
  const end = endOf(bytes, at, found, depth)
  if (depth > 20 || end > bytes.length) throw new Error('no MessagePack')
  found[place] = [at, end]
  return end
}

function endOf(bytes, at, found, depth) {
  const tag = bytes.readUInt8(at)
  const many = (count, from) => {
    let end = from
    for (let i = 0; i < count; i++) end = step(bytes, end, found, depth + 1)
    return end
  }
  if (tag < 0x80 || tag >= 0xe0) return at + 1
  if (tag < 0x90) return many(2 * (tag & 15), at + 1)
  if (tag < 0xa0) return many(tag & 15, at + 1)
  if (tag < 0xc0) return at + 1 + (tag & 31)
  if (tag === 0xc4 || tag === 0xd9) return at + 2 + bytes.readUInt8(at + 1)
  if (tag === 0xc5 || tag === 0xda) return at + 3 + bytes.readUInt16BE(at + 1)
  if (tag === 0xc6 || tag === 0xdb) return at + 5 + bytes.readUInt32BE(at + 1)
  if (tag === 0xdc) return many(bytes.readUInt16BE(at + 1), at + 3)
  if (tag === 0xdd) return many(bytes.readUInt32BE(at + 1), at + 5)
  if (tag === 0xde) return many(2 * bytes.readUInt16BE(at + 1), at + 3)
  return (
    at +
    ({ 0xca: 5, 0xcb: 9, 0xcc: 2, 0xcd: 3, 0xce: 5, 0xcf: 9, 0xd0: 2, 0xd1: 3, 0xd2: 5, 0xd3: 9 }[tag] ?? 1)
  )
}

/** A value of the message is replaced, left out, doubled, or put in the place of another one. */
function restructured(random, bytes) {
  const values = valuesIn(bytes)
  if (values.length === 0) return damaged(random, bytes)
  const [from, end] = random.pick(values)
  const other = random.pick(values)
  const put = random.pick([
    random.pick(SURPRISES),
    random.pick(SURPRISES),
    random.pick(SURPRISES),
    bytes.subarray(...other),
    Buffer.concat([bytes.subarray(from, end), bytes.subarray(from, end)]),
    Buffer.alloc(0),
  ])
  return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(end)])
}

/** Bits and bytes, without a thought for what they mean. */
function damaged(random, bytes) {
  const copy = Buffer.from(bytes)
  const at = random.between(0, Math.max(1, copy.length))
  const kind = random.between(0, 6)
  if (kind === 0 && copy.length > 0) copy[at] ^= 1 << random.between(0, 8)
  if (kind === 1 && copy.length > 0) copy[at] = random.pick([0, 1, 0x7f, 0x80, 0xc0, 0xc1, 0xdd, 0xff])
  if (kind === 2) return copy.subarray(0, at)
  if (kind === 3) return Buffer.concat([copy, noise(random, random.between(1, 20))])
  if (kind === 4) return Buffer.concat([copy.subarray(0, at), copy.subarray(random.between(0, at + 1))])
  if (kind === 5) return Buffer.concat([copy.subarray(0, at), random.pick(SURPRISES), copy.subarray(at)])
  return copy
}

export const noise = (random, length) => Buffer.from(Array.from({ length }, () => random.next() & 255))

/** One to four changes, mostly by grammar. */
export function mutated(random, bytes) {
  let changed = bytes
  for (let i = random.between(1, 5); i > 0; i--)
    changed = random.chance(0.75) ? restructured(random, changed) : damaged(random, changed)
  // What grows with each change must not fill the memory of the one who tests.
  return changed.length > 300_000 ? changed.subarray(0, 300_000) : changed
}
