// Test: the console shows all keys, values and numbers correctly, even hostile bytes.

import { describe, expect, test } from 'vitest'
import { MetricsReading, quantile, rate } from './metrics-rates.js'
import { readMessagePack } from './msgpack-decoder-for-display.js'
import { decodedKey, duration, encodedKey, shownKey, size, visible } from './key-and-number-formatting.js'
import { bestForm, inForm, preview } from './value-display-formats.js'

const bytes = (text: string) => new TextEncoder().encode(text)

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
    expect(inForm(Uint8Array.of(0x41, 0), 'hex')).toMatch(/^00000000 {2}41 00 +A\.$/)
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
  ])('MessagePack %j', (given, value) => {
    expect(readMessagePack(Uint8Array.from(given))).toEqual({ value })
  })

  test('bytes that promise more than there is, or nest without end, are not read', () => {
    expect(readMessagePack(Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff))).toBeUndefined()
    expect(readMessagePack(Uint8Array.of(0xdb, 0xff, 0xff, 0xff, 0xff))).toBeUndefined()
    expect(readMessagePack(new Uint8Array(100_000).fill(0x91))).toBeUndefined()
    expect(readMessagePack(Uint8Array.of(1, 1))).toBeUndefined()
    expect(readMessagePack(new Uint8Array())).toBeUndefined()
  })

  test('a list shows one line', () => {
    expect(preview({ text: '{\n"a": 1}' })).toBe('{ "a": 1 }')
    expect(preview({ text: 'x'.repeat(500) })).toHaveLength(161)
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
  })

  test('a quantile lies within its bucket; without calls there is none', () => {
    expect(quantile(undefined, after, 'latchkey_commit_duration_seconds', 0.5)).toBeLessThan(0.01)
    expect(quantile(undefined, after, 'latchkey_commit_duration_seconds', 0.99)).toBeGreaterThan(0.01)
    expect(quantile(undefined, after, 'latchkey_commit_duration_seconds', 0.99)).toBeLessThanOrEqual(0.1)
    expect(quantile(after, after, 'latchkey_commit_duration_seconds', 0.99)).toBeUndefined()
  })

  test('durations and sizes', () => {
    expect([duration(-5), duration(9_940), duration(61_000), duration(7_200_000)]).toEqual([
      '0.0 s',
      '9.9 s',
      '61 s',
      '2 h',
    ])
    expect([size(12), size(2048), size(70 * 1024 ** 3)]).toEqual(['12 bytes', '2.0 KiB', '70 GiB'])
  })
})
