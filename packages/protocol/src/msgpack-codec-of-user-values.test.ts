// Test: values with `as: 'msgpack'` and `'json'` are the same after encoding and decoding. Other values are
// refused, and hostile bytes do no harm.

import { expect, test } from 'vitest'
import { packValue, unpackValue } from './msgpack-codec-of-user-values.js'
import { decodeParsed, encodeJson, encodeParsed } from './value-codec.js'

const there = (value: unknown) => unpackValue(packValue(value, 'value'))

test('VA2: dates, Maps, Sets, typed arrays, bigints and plain values come back as they went', () => {
  const values = [
    null,
    true,
    'Zürich 🔑',
    -1.5,
    2 ** 53 - 1,
    5n,
    -(2n ** 80n),
    [1, [2, { a: [3] }]],
    { a: 1, 'a b': undefined, 3: 'three' },
    new Date(1_700_000_000_123),
    new Date(-1),
    new Map<unknown, unknown>([
      ['a', 1],
      [{ k: 1 }, new Map([[1, new Set(['x', new Map()])]])],
    ]),
    new Set([1, 'two', [3]]),
    Uint8Array.of(1, 2, 3),
    new Float64Array([1.5, Number.NaN]),
    new Int16Array([-3]),
    new BigUint64Array([7n]),
    Uint8Array.of(9).buffer,
    /a+/gi,
    { at: new Date(0), items: new Map([['x', { n: 1n }]]), raw: Uint8Array.of(0) },
  ]
  for (const value of values) expect(there(value)).toEqual(value)
})

test('VA2: a Buffer comes back as a plain Uint8Array of its own', () => {
  const back = there({ raw: Buffer.from('abc') }) as { raw: Uint8Array }
  expect(Object.getPrototypeOf(back.raw)).toBe(Uint8Array.prototype)
  expect(back.raw).toEqual(Uint8Array.from(Buffer.from('abc')))
  const stored = packValue(Uint8Array.of(1, 2), 'value')
  expect([...stored]).toEqual([0xc4, 2, 1, 2])
  const bytes = unpackValue(stored) as Uint8Array
  stored.fill(0)
  expect([...bytes]).toEqual([1, 2])
})

test('what is put is not changed by being put', () => {
  const value = { list: [new Map([['a', Uint8Array.of(1)]])] }
  packValue(value, 'value')
  expect(value).toEqual({ list: [new Map([['a', Uint8Array.of(1)]])] })
})

test('VA2: what MessagePack cannot hold is a TypeError that names it', () => {
  const circle: unknown[] = []
  circle.push([circle])
  const own = JSON.parse('{"a":{"__proto__":1}}') as unknown
  const bad: [unknown, RegExp][] = [
    [() => 1, /value cannot .* a function/],
    [{ a: { run() {} } }, /value\.a\.run .* a function/],
    [[Symbol('x')], /value\[0\] .* a symbol/],
    [circle, /contains itself/],
    [new Map([['k', () => 1]]), /value, entry 0 .* a function/],
    [{ error: new Error('x') }, /value\.error .* an Error/],
    [own, /__proto__/],
  ]
  for (const [value, why] of bad) {
    expect(() => packValue(value, 'value')).toThrow(TypeError)
    expect(() => packValue(value, 'value')).toThrow(why)
  }
})

test('VA2: what JSON cannot hold is a TypeError that names it', () => {
  const circle: Record<string, unknown> = {}
  circle.self = { circle }
  const bad: [unknown, RegExp][] = [
    [undefined, /undefined/],
    [() => 1, /it is a function/],
    [{ a: { run() {} } }, /"run" is a function/],
    [[Symbol('x')], /"0" is a symbol/],
    [{ n: 5n }, /"n" is a bigint/],
    [circle, /circular/],
    [{ n: Number.NaN }, /"n" is NaN/],
    [Number.POSITIVE_INFINITY, /it is Infinity/],
    [{ m: new Map() }, /"m" is a Map.*msgpack/],
    [new Set(), /it is a Set/],
    [{ b: Uint8Array.of(1) }, /"b" is a Uint8Array/],
    [Buffer.from('x'), /it is a Buffer/],
  ]
  for (const [value, why] of bad) {
    expect(() => encodeParsed(value, 'json', 'value')).toThrow(TypeError)
    expect(() => encodeParsed(value, 'json', 'value')).toThrow(why)
  }
  expect(() => encodeParsed(undefined, 'msgpack', 'value')).toThrow(/undefined/)
})

test('JSON holds what JSON holds: a property that is undefined is left out, a Date is its text', () => {
  for (const value of [null, 0, '', false, [], {}, 'text', { a: [1, { b: null }] }])
    expect(decodeParsed(encodeJson(value, 'value'), 'json')).toEqual(value)
  expect(decodeParsed(encodeJson({ at: new Date(0), b: undefined }, 'value'), 'json')).toEqual({
    at: '1970-01-01T00:00:00.000Z',
  })
})

test('JSON is UTF-8: a byte that is none is not read as another character', () => {
  expect(() => decodeParsed(Uint8Array.of(0x22, 0xff, 0x22), 'json')).toThrow()
})

// ---- strangers' bytes

const map = (key: string, ...value: number[]) =>
  Uint8Array.of(0x81, 0xa0 | key.length, ...Buffer.from(key), ...value)

test('VA1: stored bytes pollute no prototype', () => {
  unpackValue(map('__proto__', 0x81, 0xa1, 0x78, 0x01))
  unpackValue(map('constructor', 0x81, 0xa9, ...Buffer.from('prototype'), 0x81, 0xa1, 0x78, 0x01))
  expect(({} as { x?: unknown }).x).toBeUndefined()
  const value = unpackValue(map('__proto__', 0x81, 0xa1, 0x78, 0x01)) as { x?: unknown }
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(value.x).toBeUndefined()
  const json = decodeParsed(Buffer.from('{"__proto__":{"x":1}}'), 'json') as { x?: unknown }
  expect(json.x).toBeUndefined()
})

test('VA1: a length beyond the end, or nesting, takes neither memory nor the stack', () => {
  const long = (head: number) => Uint8Array.of(head, 0xff, 0xff, 0xff, 0xff, 0x42)
  for (const head of [0xdd, 0xdf, 0xc6, 0xc9, 0xdb]) expect(() => unpackValue(long(head))).toThrow(/length/)
  const headers = new Uint8Array(1024 * 1024)
  for (let at = 0; at + 5 <= headers.length; at += 5) headers.set([0xdd, 0x00, 0x0f, 0xff, 0x00], at)
  expect(() => unpackValue(headers)).toThrow(/length|deep/)
  expect(() => unpackValue(new Uint8Array(1024 * 1024).fill(0x91))).toThrow(/deep/)
  const tags = new Uint8Array(1024 * 1024)
  for (let at = 0; at + 3 <= tags.length; at += 3) tags.set([0xd4, 0x73, 0], at)
  expect(() => unpackValue(tags)).toThrow(/deep|length/)
})

test('VA1: extensions that define records, point or bundle are not read; nor is half a value, or more than one', () => {
  const bad = [
    [0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 0x01],
    [0xd5, 0x72, 0x40, 0x01, 0x90],
    [0xd6, 0x69, 0, 0, 0, 1, 0x91, 0xd6, 0x70, 0, 0, 0, 1],
    [0xd6, 0x62, 0, 0, 0, 8, 0xc0],
    [0xd4, 0x65, 0x00, 0x93, 0xa9, ...Buffer.from('__proto__'), 0xa0, 0xc0],
    [0xc7, 0x02, 0x4d, 0, 0, 0x90],
    [0xc1],
    [],
    [0x92, 0x01],
    [0x01, 0x01],
    [0xd4, 0x4d, 0x00, 0x05],
    [0xd4, 0x73, 0x00, 0x05],
  ]
  for (const bytes of bad) expect(() => unpackValue(Uint8Array.from(bytes))).toThrow()
})

test('VA1: no bytes whatever crash the reader or take it long', () => {
  let seed = 7
  const next = () => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return seed
  }
  for (let n = 0; n < 20_000; n++) {
    const bytes = Uint8Array.from({ length: next() % 24 }, () => (next() >> 8) & 0xff)
    try {
      unpackValue(bytes)
    } catch (error) {
      expect(error).toBeInstanceOf(Error)
    }
  }
  expect(({} as { x?: unknown }).x).toBeUndefined()
})
