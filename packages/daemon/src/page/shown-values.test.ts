// Test: the console shows all keys, values and numbers correctly, even hostile bytes.

import { describe, expect, test } from 'vitest'
import { MetricsReading, quantile, rate } from './metrics-rates.js'
import { readMessagePack } from './msgpack-decoder-for-display.js'
import {
  decodedKey,
  duration,
  encodedKey,
  latency,
  shownHolder,
  shownKey,
  size,
  visible,
  whole,
} from './key-and-number-formatting.js'
import { bestForm, inForm, preview } from './value-display-formats.js'

const bytes = (text: string) => new TextEncoder().encode(text)
const range = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i))

describe('keys', () => {
  test.each(['orders/42', 'a b', 'ü', '%zz', '\u0000', '<b>', ':acquire'])(
    '%j names itself in an address',
    (key) => {
      const encoded = encodedKey({ key })
      expect(encoded).toMatch(/^[A-Za-z0-9_.%-]*$/)
      expect(decodedKey(encoded)).toEqual(bytes(key))
    },
  )

  test('a key that is no text is shown as its bytes, and one with half a percent-encoding as it is', () => {
    expect(encodedKey({ keyBase64: '/w==' })).toBe('%FF')
    expect(shownKey('%FF')).toBe('0xff')
    expect(shownKey('%zz%4')).toBe('%zz\\u0004')
  })

  test('C82: what is not seen, or turns the direction, is written out', () => {
    expect(visible('a\u202eb\u200bc\u0007\ufeff\u{e0001}')).toBe('a\\u202eb\\u200bc\\u0007\\ufeff\\ue0001')
  })
})

describe('values', () => {
  test.each([
    ['{"a":1}', 'JSON'],
    ['42', 'text'],
    ['plain\ttext\n', 'text'],
    ['', 'text'],
    ['{"a":', 'text'],
  ] as const)('%j is best read as %s', (text, form) => {
    expect(bestForm(bytes(text))).toBe(form)
  })

  test('bytes are MessagePack if all of them are, else hex', () => {
    expect(bestForm(Uint8Array.of(0x81, 0xa1, 0x61, 0xff))).toBe('MessagePack')
    expect(bestForm(Uint8Array.of(0xc1))).toBe('hex')
    expect(inForm(Uint8Array.of(0xff), 'text')).toBeUndefined()
    expect(inForm(Uint8Array.of(0x41, 0, 0x20, 0x7e, 0x7f, 0x1f), 'hex')).toMatch(
      /^00000000 {2}41 00 20 7e 7f 1f +A\. ~\.\.$/,
    )
    expect(
      inForm(new Uint8Array(17), 'hex')
        ?.split('\n')
        .map((line) => line.slice(0, 12)),
    ).toEqual(['00000000  00', '00000010  00'])
    expect(
      inForm(
        Uint8Array.of(0x82, 0xa1, 0x61, 0xc4, 1, 9, 0xa1, 0x62, 0xcf, 0, 0, 0, 0, 0, 0, 0, 1),
        'MessagePack',
      ),
    ).toBe('{\n  "a": "0x09",\n  "b": "1"\n}')
    expect(bestForm(Uint8Array.of(0x1f))).toBe('MessagePack')
    expect(bestForm(bytes('null'))).toBe('text')
  })

  test.each([
    [[0xc0], null],
    [[0xcd, 1, 0], 256],
    [[0xd1, 0xff, 0xfe], -2],
    [[0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0], 1.5],
    [[0xd9, 2, 0x68, 0x69], 'hi'],
    [
      [0x92, 0xc3, 0xe0],
      [true, -32],
    ],
    [[0xcf, 0, 0, 0, 1, 0, 0, 0, 0], 4294967296n],
    [[0xc4, 1, 9], Uint8Array.of(9)],
    // The first and the last of each kind.
    [[0x7f], 127],
    [[0x80], new Map()],
    [[0x81, 0xa1, 0x61, 1], new Map([['a', 1]])],
    [[0x81, 1, 2], new Map([['1', 2]])],
    [[0x8f, ...Array.from({ length: 15 }, (_, i) => [i, 0]).flat()], new Map(range(15, (i) => [`${i}`, 0]))],
    [[0x90], []],
    [[0x9f, ...range(15, () => 1)], range(15, () => 1)],
    [[0xa0], ''],
    [[0xbf, ...range(31, () => 0x61)], 'a'.repeat(31)],
    [[0xc2], false],
    [[0xc5, 0, 1, 9], Uint8Array.of(9)],
    [[0xc6, 0, 0, 0, 1, 9], Uint8Array.of(9)],
    [[0xc7, 1, 5, 9], { extension: 5, bytes: Uint8Array.of(9) }],
    [[0xc8, 0, 1, 5, 9], { extension: 5, bytes: Uint8Array.of(9) }],
    [[0xc9, 0, 0, 0, 1, 0xff, 9], { extension: -1, bytes: Uint8Array.of(9) }],
    [[0xca, 0x3f, 0xc0, 0, 0], 1.5],
    [[0xcc, 200], 200],
    [[0xce, 1, 0, 0, 0], 16777216],
    [[0xd0, 0xfe], -2],
    [[0xd2, 0xff, 0xff, 0xff, 0xfe], -2],
    [[0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe], -2n],
    ...[0xd4, 0xd5, 0xd6, 0xd7, 0xd8].map((first, i): [number[], unknown] => [
      [first, 5, ...range(2 ** i, () => 9)],
      { extension: 5, bytes: Uint8Array.from(range(2 ** i, () => 9)) },
    ]),
    [[0xda, 0, 1, 0x61], 'a'],
    [[0xdb, 0, 0, 0, 1, 0x61], 'a'],
    [[0xdc, 0, 1, 7], [7]],
    [[0xdd, 0, 0, 0, 1, 7], [7]],
    [[0xde, 0, 1, 0xa1, 0x61, 7], new Map([['a', 7]])],
    [[0xdf, 0, 0, 0, 1, 0xa1, 0x61, 7], new Map([['a', 7]])],
    [[0xff], -1],
  ])('MessagePack %j', (given, value) => {
    expect(readMessagePack(Uint8Array.from(given))).toEqual({ value })
  })

  test('bytes that promise more than there is, or nest without end, are not read', () => {
    expect(readMessagePack(Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff))).toBeUndefined()
    expect(readMessagePack(Uint8Array.of(0xdb, 0xff, 0xff, 0xff, 0xff))).toBeUndefined()
    expect(readMessagePack(new Uint8Array(100_000).fill(0x91))).toBeUndefined()
    expect(readMessagePack(Uint8Array.of(1, 1))).toBeUndefined()
    expect(readMessagePack(new Uint8Array())).toBeUndefined()
    expect(readMessagePack(Uint8Array.of(0xa1, 0xff))).toBeUndefined()
    // 64 lists in each other, and 10,000 parts, are the most that is read.
    const nested = (lists: number) => readMessagePack(Uint8Array.from([...range(lists, () => 0x91), 0x90]))
    expect([nested(64) === undefined, nested(65)]).toEqual([false, undefined])
    const list = (parts: number) =>
      readMessagePack(Uint8Array.of(0xdd, 0, 0, parts >> 8, parts & 0xff, ...new Uint8Array(parts)))
    expect([list(9_999) === undefined, list(10_000)]).toEqual([false, undefined])
  })

  test('a list shows one line', () => {
    expect(preview({ text: '{\n"a": 1}' })).toBe('{ "a": 1 }')
    expect(preview({ text: 'x'.repeat(161) })).toBe(`${'x'.repeat(160)}…`)
    expect(preview({ text: 'x'.repeat(160) })).toBe('x'.repeat(160))
    expect(preview({ text: 'a  b' })).toBe('a  b')
    expect(preview({})).toBe('')
    expect(preview({ base64: 'wf/B'.repeat(40) })).toHaveLength(2 + 128)
    expect(preview({ base64: 'wf8=' })).toBe('0xc1ff')
  })
})

describe('figures', () => {
  const text = (count: number) => `# HELP latchkey_requests_total calls
latchkey_requests_total{kind="a\\"b"} ${count}
latchkey_requests_total{kind="c"} 5
latchkey_commit_duration_seconds_bucket{le="0.01"} ${count}
latchkey_commit_duration_seconds_bucket{le="0.1"} ${count + 10}
latchkey_commit_duration_seconds_bucket{le="+Inf"} ${count + 10}
process_cpu_seconds_total 7
`
  const before = new MetricsReading(text(0), 1000)
  const after = new MetricsReading(text(90), 3000)

  test('rates are of the time between two readings; a member that began anew has none', () => {
    expect(rate(before, after, 'latchkey_requests_total')).toBe(45)
    expect(rate(after, new MetricsReading(text(0), 5000), 'latchkey_requests_total')).toBeUndefined()
    expect(rate(undefined, after, 'latchkey_requests_total')).toBeUndefined()
    expect(rate(after, after, 'latchkey_requests_total')).toBeUndefined()
    expect(rate(before, new MetricsReading(text(0), 3000), 'latchkey_requests_total')).toBe(0)
    expect(after.sum('process_cpu_seconds_total')).toBe(0)
  })

  test('a quantile lies within its bucket; without calls there is none', () => {
    const at = (part: number, from?: MetricsReading, to = after) =>
      quantile(from, to, 'latchkey_commit_duration_seconds', part)
    // Of 100 calls, 90 took up to 10 ms, and 10 took up to 100 ms.
    expect(at(0.45)).toBeCloseTo(0.005, 9)
    expect(at(0.9)).toBeCloseTo(0.01, 9)
    expect(at(0.95)).toBeCloseTo(0.055, 9)
    expect(at(1)).toBeCloseTo(0.1, 9)
    // Between the two readings there were 90 calls.
    expect(at(0.5, before)).toBeCloseTo(0.005, 9)
    // What took longer than the last bucket is shown as its bound.
    const long = new MetricsReading(
      'latchkey_a_bucket{le="0.1",kind="x"} 1\nlatchkey_a_bucket{le="+Inf",kind="x"} 2\nlatchkey_a_bucket{le="+Inf",kind="y"} 5',
      1,
    )
    expect(quantile(undefined, long, 'latchkey_a', 0.9, { kind: 'x' })).toBe(0.1)
    expect(quantile(undefined, long, 'latchkey_a', 0.9, { kind: 'z' })).toBeUndefined()
    expect([long.sum('latchkey_a_bucket', { kind: 'x' }), long.sum('latchkey_a_bucket')]).toEqual([3, 8])
    expect(quantile(after, after, 'latchkey_commit_duration_seconds', 0.99)).toBeUndefined()
  })

  test('durations and sizes', () => {
    const durations = [-5, 0, 9_940, 10_000, 119_999, 120_000, 7_199_999, 7_200_000, 172_799_999, 172_800_000]
    expect(durations.map(duration)).toEqual([
      '0.0 s',
      '0.0 s',
      '9.9 s',
      '10 s',
      '119 s',
      '2 min',
      '119 min',
      '2 h',
      '47 h',
      '2 days',
    ])
    expect([undefined, 0.0004, 0.00999, 0.01, 0.999, 1, 12.34].map(latency)).toEqual([
      '–',
      '0.4 ms',
      '10.0 ms',
      '10 ms',
      '999 ms',
      '1.0 s',
      '12.3 s',
    ])
    expect([0, 1023, 1024, 10 * 1024, 70 * 1024 ** 3, 5 * 1024 ** 4, 5 * 1024 ** 5].map(size)).toEqual([
      '0 bytes',
      '1,023 bytes',
      '1.0 KiB',
      '10 KiB',
      '70 GiB',
      '5.0 TiB',
      '5120 TiB',
    ])
    expect(whole(1234.6)).toBe('1,235')
  })

  test('a holder is shown by its context, else by its id', () => {
    expect(shownHolder({ id: 'i', context: 'c', contextBase64: '/w==' })).toBe('c')
    expect(shownHolder({ id: 'i', context: '', contextBase64: '/w==' })).toBe('0xff')
    expect(shownHolder({ id: 'i\u202e', context: '' })).toBe('i\\u202e')
  })
})
