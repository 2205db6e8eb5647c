// Test: how the command line prints bytes, durations, sizes and tables.

import { utf8 } from '@latchkey/base'
import type { MemberStatus } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import {
  field,
  jsonLine,
  megabytes,
  membersTable,
  paint,
  printable,
  seconds,
  span,
  table,
} from './print-values.js'

test('bytes that are no text have another field in JSON, and no value changes the terminal', () => {
  expect(field('key', undefined)).toEqual({})
  expect(field('key', utf8('\ufeffü'))).toEqual({ key: '\ufeffü' })
  expect(field('key', Uint8Array.of(0xff))).toEqual({ keyBase64: '/w==' })
  expect(['a b"ü', '', 'a\nb', '\u001b[2J', 'a\u0085b', 'a\u202eb'].map(printable)).toEqual([
    'a b"ü',
    '""',
    '"a\\nb"',
    '"\\u001b[2J"',
    '"a\\u0085b"',
    '"a\\u202eb"',
  ])
  expect([printable(utf8('a')), printable(Uint8Array.of(0xff))]).toEqual(['a', 'base64:/w=='])
  expect(jsonLine({ a: 1 })).toBe('{"a":1}\n')
})

test('durations and sizes', () => {
  const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
  const spans = [0, 999, second, 59 * second, minute, 61 * second, hour, 2 * hour + 3 * minute + 4 * second]
  expect(spans.map(span)).toEqual([
    '0 s',
    '0 s',
    '1 s',
    '59 s',
    '1 min 0 s',
    '1 min 1 s',
    '1 h 0 min',
    '2 h 3 min',
  ])
  expect([day, 3 * day + 4 * hour + minute, 30 * day - 1].map(span)).toEqual([
    '1 d 0 h',
    '3 d 4 h',
    '29 d 23 h',
  ])
  expect([seconds(1_240), megabytes(1_250_000)]).toEqual(['1.2 s', '1.3 MB'])
})

test('a table aligns its columns, and colours take no room', () => {
  const red = paint(true, 'red', 'no')
  expect([red, paint(false, 'red', 'no')]).toEqual(['\u001b[31mno\u001b[0m', 'no'])
  expect(table([['id', 'alive', 'x'], ['long', red, 'y'], ['a']])).toBe(
    `id    alive  x\nlong  ${red}     y\na\n`,
  )
  expect(table([])).toBe('')
  const members = [
    { id: 'a', role: 'voter', alive: true, lag: 0, url: 'ws://h:1' },
    { id: 'b', role: 'learner', alive: false, lag: 12, url: '' },
    { id: 'c', role: 'voter', url: 'ws://h:3' },
  ] as unknown as MemberStatus[]
  expect(membersTable(members, false)).toBe(
    [
      'id  role     alive  lag  url',
      'a   voter    yes    0    ws://h:1',
      'b   learner  no     12   -',
      'c   voter    -      -    ws://h:3',
      '',
    ].join('\n'),
  )
})
