// Test: prefetched rows equal the rows of the store, and each of them is read from the store once.

import { expect, test } from 'vitest'
import { keyOfBinary, SPACE } from '../keyspaces.js'
import type { RowStore } from '../storage/row-store-interface.js'
import { withChecksum } from '../storage/stored-row-checksum.js'
import { RowTable } from './row-table-with-overlay.js'
import { PrefetchedRows } from './prefetched-rows.js'
import { RowSetHash } from './row-set-hash.js'

const bytes = (text: string) => Buffer.from(text)
const rowOf = (key: string, body: Uint8Array) => withChecksum(keyOfBinary(SPACE.data, key), body)

function table(count: number, body = bytes('value')) {
  const store = { asked: 0 }
  const rows = new Map<string, Uint8Array>()
  for (let i = 0; i < count; i++) rows.set(`dk${i}`, rowOf(`k${i}`, body))
  const get = (key: Uint8Array) => {
    store.asked++
    return rows.get(Buffer.from(key).toString('latin1'))
  }
  return { store, table: new RowTable(SPACE.data, { get } as unknown as RowStore, new RowSetHash()) }
}

test('a prefetched row is not read from the store again, nor is a row that does not exist', () => {
  const { store, table: rows } = table(10)
  rows.get('k0')
  expect(store.asked).toBe(1)
  rows.prefetch([bytes('k1'), bytes('k2'), bytes('k2'), bytes('none')])
  expect(store.asked).toBe(4)
  expect(rows.get('k1')).toEqual(rowOf('k1', bytes('value')))
  expect(rows.get('k2')).toEqual(rowOf('k2', bytes('value')))
  expect(rows.get('none')).toBeUndefined()
  expect(store.asked).toBe(4)
})

test('nothing is read ahead while no read has to go to the store', () => {
  const { store, table: rows } = table(10)
  rows.prefetch([bytes('k1')])
  expect(store.asked).toBe(0)
  rows.get('k1')
  rows.get('k1')
  expect(store.asked).toBe(2)
  // The row was read twice, so from here on it is in the row cache, and one more read-ahead finds nothing to
  // do.
  for (let i = 0; i < 10; i++) {
    rows.prefetch([bytes('k1')])
    rows.get('k1')
  }
  rows.prefetch([bytes('k2')])
  expect(store.asked).toBe(2)
})

test('no more is read ahead than there is room for', () => {
  const { store, table: rows } = table(100, Buffer.alloc(10_000))
  rows.get('k0')
  const all = Array.from({ length: 100 }, (_, i) => bytes(`k${i}`))
  rows.prefetch(all)
  expect(store.asked).toBeLessThan(20)
  const asked = store.asked
  for (let i = 1; i < 10; i++) expect(rows.get(`k${i}`)).toEqual(rowOf(`k${i}`, Buffer.alloc(10_000)))
  expect(store.asked).toBe(asked)
})

test('there are two generations at most', () => {
  const ahead = new PrefetchedRows()
  for (let i = 0; i < 1_000; i++) {
    ahead.missed()
    ahead.begin()
    ahead.put(`k${i}`, Buffer.alloc(1_000, i))
    expect(ahead.get(`k${i}`)).toEqual(Buffer.alloc(1_000, i))
  }
  const held = Array.from({ length: 1_000 }, (_, i) => ahead.get(`k${i}`)).filter((row) => row !== undefined)
  expect(held.length).toBeGreaterThan(90)
  expect(held.length).toBeLessThan(250)
  ahead.clear()
  expect(ahead.get('k999')).toBeUndefined()
})
