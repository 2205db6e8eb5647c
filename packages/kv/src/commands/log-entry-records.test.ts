// Test: the records of an entry are the same after encoding and decoding, and hostile bytes never throw an
// error.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { BatchReader, encodeBatch, encodeRecord, RecordSource } from './log-entry-records.js'

const read = (data: Uint8Array) => {
  const reader = new BatchReader(data)
  const found = []
  while (reader.next()) {
    const { session, number, done, body, bad } = reader
    found.push({ session, number, done, body: Buffer.from(body), bad })
  }
  return found
}

test('records are decoded as they were encoded; a batch is its records joined', () => {
  const list = [
    { session: 0, number: 0, done: 0, body: Buffer.alloc(0) },
    { session: 2 ** 48 - 1, number: 2 ** 48 - 1, done: 2 ** 48 - 1, body: Buffer.from('a') },
    { session: 2 ** 33 + 5, number: 77, done: 3, body: Buffer.alloc(70_000, 3) },
  ]
  const data = encodeBatch(list)
  expect(Buffer.concat(list.map(encodeRecord))).toEqual(data)
  expect(read(data)).toEqual(list.map((record) => ({ ...record, bad: false })))
  expect(() => encodeRecord({ session: 2 ** 48, number: 0, done: 0, body: Buffer.alloc(0) })).toThrow(
    'wider than a record',
  )
  const source = new RecordSource()
  const into = Buffer.alloc(data.length)
  let at = 0
  for (const record of list) {
    const { length } = source.of(record)
    source.copy(into, at)
    at += length
  }
  expect(into).toEqual(data)
})

test('L22: for a cut at any byte the whole records are decoded, and the rest is one bad record', () => {
  const data = encodeBatch(
    [1, 2, 3].map((number) => ({ session: 9, number, done: 1, body: Buffer.alloc(5, number) })),
  )
  for (let length = 0; length <= data.length; length++) {
    const found = read(data.subarray(0, length))
    const whole = Math.floor(length / 27)
    expect(found.filter(({ bad }) => !bad).map(({ number }) => number)).toEqual([1, 2, 3].slice(0, whole))
    expect(found.length).toBe(whole + (length % 27 === 0 ? 0 : 1))
  }
})

test('random bytes never make the reader throw or read outside of them', () => {
  const random = seededRandom('batch')
  for (let round = 0; round < 5_000; round++) {
    const data = Uint8Array.from({ length: random.between(0, 80) }, () =>
      random.chance(0.5) ? 0 : random.between(0, 256),
    )
    let bytes = 0
    for (const { body, bad } of read(data)) bytes += body.length + (bad ? 0 : 22)
    expect(bytes).toBe(data.length)
  }
})
