// Test: when CURRENT or MANIFEST is damaged, the error names the file, and the offset if it is known.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Folders } from '../testing/temporary-folders.js'
import { classicLevelStorage } from './classic-level-storage.js'
import { withChecksum } from './stored-row-checksum.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

const key = Buffer.from('dkey')

async function damagedStore(file: string, change: ((bytes: Buffer) => Buffer) | undefined) {
  const dir = join(folders.make(), 'state')
  mkdirSync(dir, { recursive: true })
  const storage = classicLevelStorage(dir)
  await (await storage.build()).commit()
  const store = await storage.open()
  await store?.write([{ key, value: withChecksum(key, Buffer.from('value')) }])
  await store?.close()
  const rows = join(dir, 'rows-1')
  const name = readdirSync(rows).find((one) => one.startsWith(file)) as string
  const path = join(rows, name)
  if (change === undefined) rmSync(path)
  else writeFileSync(path, change(readFileSync(path)))
  return { name, storage: classicLevelStorage(dir) }
}

const flip = (at: (length: number) => number) => (bytes: Buffer) => {
  const place = at(bytes.length)
  bytes[place] = (bytes[place] as number) ^ 1
  return bytes
}

test.each([
  ['CURRENT', 'is missing', undefined, 'which is missing'],
  ['CURRENT', 'is empty', () => Buffer.alloc(0), 'at offset 0'],
  ['CURRENT', 'is nonsense', () => Buffer.from('nonsense\n'), 'at offset 0'],
  ['MANIFEST', 'is missing', undefined, 'which is missing'],
  ['MANIFEST', 'is empty', () => Buffer.alloc(0), 'at offset 0'],
  ['MANIFEST', 'has a flipped bit', flip(() => 20), 'at offset 0'],
  ['MANIFEST', 'has lost its end', (bytes: Buffer) => bytes.subarray(0, 30), 'at offset'],
])('%s %s', async (file, _, change, place) => {
  const { name, storage } = await damagedStore(file, change)
  const error = await storage.open().then(
    () => undefined,
    (reason: unknown) => reason as { code: string; message: string },
  )
  expect(error).toMatchObject({ code: 'ERR_CORRUPT', message: expect.stringContaining(name) })
  expect(error?.message).toContain(place)
  expect(error?.message).toContain('Rebuild this member')
})
