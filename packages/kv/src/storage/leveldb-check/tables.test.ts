// Test: every block of LevelDB's tables is checked, compressed or not, and a file that is not a table is
// refused with a reason.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '@latchkey/base'
import { ClassicLevel } from 'classic-level'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Folders } from '../../testing/temporary-folders.js'
import { unsnappied } from './snappy.js'
import { tableDamage } from './tables.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

const ROWS = 20_000
const checked = (bytes: Buffer) =>
  tableDamage({ size: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) })

async function tablesOf(compression: boolean): Promise<Buffer[]> {
  const dir = folders.make()
  const level = new ClassicLevel(dir, { compression, blockSize: 2048 })
  await level.open()
  const batch = level.batch()
  for (let i = 0; i < ROWS; i++) batch.put(`big/${String(i).padStart(8, '0')}`, `value ${i} `.repeat(8))
  await batch.write()
  await level.compactRange('\0', '\xff')
  await level.close()
  const names = readdirSync(dir).filter((name) => name.endsWith('.ldb'))
  return names.map((name) => readFileSync(join(dir, name)))
}

describe.each([true, false])('D18: tables, compressed: %s', (compression) => {
  let tables: Buffer[]
  beforeAll(async () => {
    tables = await tablesOf(compression)
  })

  test('undamaged tables pass the check', async () => {
    expect(tables.length).toBeGreaterThan(0)
    for (const table of tables) expect(await checked(table)).toBeNull()
  })

  test('a byte changed anywhere in a block or a handle is noticed', async () => {
    const random = seededRandom(`a byte of a table, ${compression}`)
    for (const table of tables) {
      for (let i = 0; i < 60; i++) {
        const rotten = Buffer.from(table)
        // The indexes and the filter are near the end. Bytes between the handles and the magic number are not
        // used.
        const from = i % 3 === 0 ? Math.max(0, rotten.length - 20_000) : 0
        const at = random.between(from, rotten.length - 48)
        rotten[at] = (rotten[at] as number) ^ (1 << random.between(0, 8))
        expect(await checked(rotten), `at ${at} of ${rotten.length}`).not.toBeNull()
      }
    }
  })

  test('a file that was cut is noticed', async () => {
    const [table] = tables as [Buffer]
    for (const length of [0, 47, 48, table.length >> 1, table.length - 1])
      expect(await checked(table.subarray(0, length)), String(length)).not.toBeNull()
  })
})

describe('decompression of Snappy blocks', () => {
  const unpacked = (...bytes: number[]) => unsnappied(Buffer.from(bytes))?.toString('latin1')
  const text = (of: string) => [...Buffer.from(of)]

  test('pieces of each kind', () => {
    expect(unpacked(0)).toBe('')
    expect(unpacked(3, 2 << 2, ...text('abc'))).toBe('abc')
    expect(unpacked(70, 60 << 2, 69, ...text('x'.repeat(70)))).toBe('x'.repeat(70))
    expect(unpacked(7, 2 << 2, ...text('abc'), 1, 3)).toBe('abcabca')
    expect(unpacked(9, 2 << 2, ...text('abc'), (5 << 2) | 2, 2, 0)).toBe('abcbcbcbc')
    expect(unpacked(5, 0, 97, (3 << 2) | 3, 1, 0, 0, 0)).toBe('aaaaa')
  })

  test.each([
    ['nothing', []],
    ['fewer bytes than the stated length', [4, 2 << 2, 97, 98, 99]],
    ['more bytes than the stated length', [2, 2 << 2, 97, 98, 99]],
    ['a literal beyond the end', [3, 2 << 2, 97]],
    ['a length that is cut off', [70, 61 << 2, 69]],
    ['a copy that is cut off', [7, 0, 97, (3 << 2) | 2, 1]],
    ['a copy from before the start', [7, 0, 97, 1, 2]],
    ['a copy of bytes that are not written yet', [7, 0, 97, 1, 0]],
    ['a length above the limit', [0xff, 0xff, 0xff, 0xff, 0x0f]],
  ])('refused: %s', (_, bytes) => {
    expect(unsnappied(Buffer.from(bytes))).toBeUndefined()
  })

  test('any input is refused or gives the stated length', () => {
    const random = seededRandom('not snappy at all')
    for (let i = 0; i < 20_000; i++) {
      const block = Buffer.from(Array.from({ length: random.between(1, 24) }, () => random.between(0, 256)))
      block[0] = random.between(0, 64)
      const found = unsnappied(block)
      if (found !== undefined) expect(found.length).toBe(block[0])
    }
  })
})
