// Test: cached rows equal the rows of the store, their number is limited, and each row is read from the store
// once.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { keyOfBinary, SPACE } from '../keyspaces.js'
import type { RowChange, RowStore } from '../storage/row-store-interface.js'
import { withChecksum } from '../storage/stored-row-checksum.js'
import { RowCache } from './row-cache.js'
import { RowTable } from './row-table-with-overlay.js'
import { RowKeys } from '../storage/compact-list-of-keys.js'
import { RowSetHash } from './row-set-hash.js'

const bytes = (text: string) => Buffer.from(text)
const shown = (value: Uint8Array | undefined) =>
  value === undefined ? undefined : Buffer.from(value).toString()

test('rows that are asked for stay, the others are dropped', () => {
  const recent = new RowCache(10_000)
  recent.keep('asked for', bytes('yes'))
  recent.keep('left alone', bytes('no'))
  for (let i = 0; i < 200; i++) {
    recent.keep(`k${i}`, bytes('v'))
    expect(shown(recent.get('asked for'))).toBe('yes')
  }
  expect(recent.get('left alone')).toBeUndefined()
  expect(shown(recent.get('k199'))).toBe('v')
})

test('cached rows are copies', () => {
  const recent = new RowCache()
  const value = bytes('before')
  recent.keep('a', value)
  value.write('behind')
  expect(shown(recent.get('a'))).toBe('before')
})

test('a large row is kept as it is, unless its buffer is much larger or it is more than a generation', () => {
  const recent = new RowCache()
  const large = Buffer.alloc(100_000)
  recent.keep('a', large)
  expect(recent.get('a')).toBe(large)
  recent.keep('a', Buffer.alloc(200_000).subarray(0, 100_000))
  expect(recent.get('a')).toBeUndefined()
  recent.keep('a', large)
  recent.keep('a', Buffer.alloc(3 * 1024 * 1024))
  expect(recent.get('a')).toBeUndefined()
})

test('large rows count as their bytes: no more than two generations of them are in memory', () => {
  const recent = new RowCache(1_000_000)
  const keys = Array.from({ length: 100 }, (_, i) => `k${i}`)
  for (const key of keys) recent.keep(key, Buffer.alloc(100_000))
  const kept = keys.filter((key) => recent.get(key) !== undefined)
  expect(kept.length).toBeGreaterThanOrEqual(9)
  expect(kept.length).toBeLessThanOrEqual(20)
})

/** A store in a map that counts its reads. */
function mapStore() {
  const rows = new Map<string, Uint8Array>()
  const name = (key: Uint8Array) => Buffer.from(key).toString('latin1')
  const store = { asked: 0, rows }
  const get = (key: Uint8Array) => {
    store.asked++
    return rows.get(name(key))
  }
  const write = (batch: readonly RowChange[]) => {
    for (const { key, value, others = [] } of batch) {
      for (const one of others) rows.delete(name(one))
      if (value === undefined) rows.delete(name(key))
      else rows.set(name(key), value)
    }
  }
  return { store, write, port: { get } as unknown as RowStore }
}

const rowOf = (key: string, text: string) => withChecksum(keyOfBinary(SPACE.data, key), bytes(text))

test('A12: over random writes, batches and cleared ranges, every read returns the last write', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seededRandom(`recent ${seed}`)
    const { store, write, port } = mapStore()
    const table = new RowTable(SPACE.data, port, new RowSetHash())
    const model = new Map<string, string>()
    let flying = false
    const land = () => {
      if (flying) table.written()
      flying = false
    }
    for (let step = 0; step < 4_000; step++) {
      const key = `k${String(random.between(0, 900)).padStart(4, '0')}`
      const chance = random.between(0, 100)
      if (chance < 55) {
        model.set(key, `${step}`)
        table.set(key, rowOf(key, `${step}`), table.get(key))
      } else if (chance < 70) {
        model.delete(key)
        table.set(key, null, table.get(key))
      } else if (chance < 71 && model.size > 550) {
        // So many rows that they are removed by a range tombstone and not one by one.
        const keys = new RowKeys()
        for (const one of model.keys()) keys.add(keyOfBinary(SPACE.data, one))
        table.clear('k0000', 'k9999', { keys, sum: new RowSetHash() })
        model.clear()
      } else if (chance < 76) {
        land()
        const batch: RowChange[] = []
        table.collect(batch)
        write(batch)
        flying = true
      } else if (chance < 82) land()
      const asked = `k${String(random.between(0, 900)).padStart(4, '0')}`
      if (chance % 2 === 0) table.prefetch([bytes(key), bytes(asked)])
      const body = table.get(asked)?.subarray(4)
      expect(shown(body), `seed ${seed}, step ${step}, ${asked}`).toBe(model.get(asked))
    }
    expect(store.asked).toBeGreaterThan(0)
  }
})

test('a row that was written, or read twice, is not read from the store again', () => {
  const { store, write, port } = mapStore()
  write([{ key: keyOfBinary(SPACE.data, 'old'), value: rowOf('old', 'o') }])
  const table = new RowTable(SPACE.data, port, new RowSetHash())
  for (let i = 0; i < 3; i++) expect(shown(table.get('old')?.subarray(4))).toBe('o')
  expect(store.asked).toBe(2)
  table.set('new', rowOf('new', 'n'), undefined)
  const batch: RowChange[] = []
  table.collect(batch)
  write(batch)
  table.written()
  expect(shown(table.get('new')?.subarray(4))).toBe('n')
  expect(store.asked).toBe(2)
})

test('single reads all over a large store do not replace the rows in use', () => {
  const recent = new RowCache(10_000)
  recent.keep('written', bytes('yes'))
  recent.read('read twice', bytes('yes'))
  expect(recent.get('read twice')).toBeUndefined()
  recent.read('read twice', bytes('yes'))
  let kept = 0
  for (let i = 0; i < 100_000; i++) {
    recent.read(`k${i}`, bytes('v'))
    if (recent.get(`k${i}`) !== undefined) kept++
  }
  expect(kept).toBeLessThan(10)
  expect(shown(recent.get('written'))).toBe('yes')
  expect(shown(recent.get('read twice'))).toBe('yes')
})
