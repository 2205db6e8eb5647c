// Test: the properties that LevelDB reports about its tables are read as numbers, also from a real store.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { classicLevelStorage } from './classic-level-storage.js'
import { levelFigures } from './leveldb-stats-parser.js'

test('tables of each level, and what merges took: levels that are not there have none', () => {
  const text = `                               Compactions
Level  Files Size(MB) Time(sec) Read(MB) Write(MB)
--------------------------------------------------
  0        3        5         1        0         9
  2       40       39         7       50        48
`
  expect(levelFigures(text)).toEqual({
    tables: [3, 0, 40, 0, 0, 0, 0],
    mergeSeconds: 8,
    mergeRead: 50 * 2 ** 20,
    mergeWritten: 57 * 2 ** 20,
  })
})

test('a real store has tables once its rows were merged', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'latchkey-level-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const builder = await classicLevelStorage(dir).build()
  await builder.write([{ key: Uint8Array.of(7), value: new Uint8Array(64) }])
  await builder.commit()
  const store = await classicLevelStorage(dir).open()
  onTestFinished(() => store?.close())
  await store?.compact()
  const sum = store?.levelFigures?.()?.tables.reduce((all, count) => all + count, 0)
  expect(sum).toBe(1)
})
