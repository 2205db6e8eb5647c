// Test: the real file system passes the suite of its interface. Also, what the suite cannot test: a short
// write is continued, folders are synced, and a failed call is reported.

import * as nodeFs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MemoryDisk } from '../memory/index.js'
import { wait } from './open-log.js'
import type { File, FileSystem } from './file-system-interface.js'
import { FILE_SYSTEM_CASES } from './file-system-suite.js'
import { type NodeCalls, nodeFileSystem } from './node-file-system.js'
import { appended, entry, openWal } from './testing/wal-fixture.js'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'latchkey-fs-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe.each([
  ['real', () => nodeFileSystem()],
  ['simulated', () => new MemoryDisk()],
] as const)('the %s file system', (_name, make) => {
  test.each(FILE_SYSTEM_CASES)('$name', (one) => one.run(make(), join(root, 'a', 'b')))
})

const open = (fs: FileSystem, path: string): Promise<File> =>
  new Promise((done, fail) => fs.open(path, 'create', (error, file) => (file ? done(file) : fail(error))))

/** node:fs with some calls replaced. */
const calls = (replaced: Partial<Record<keyof NodeCalls, unknown>>): NodeCalls =>
  ({ ...nodeFs, ...replaced }) as unknown as NodeCalls

type WriteDone = (error: Error | null, written: number) => void

test('D5: short writes go on until all is written', async () => {
  let writes = 0
  const write = (
    fd: number,
    bytes: Uint8Array,
    from: number,
    length: number,
    at: number,
    done: WriteDone,
  ) => {
    writes++
    nodeFs.write(fd, bytes, from, Math.min(length, 70), at, done)
  }
  const fs = nodeFileSystem(calls({ write }))
  const { wal } = await openWal(fs, { dir: join(root, 'wal') })
  await appended(wal, { entries: [entry(1, 1, 'x'.repeat(1000))] })
  await wal.close()
  expect(writes).toBeGreaterThan(1000 / 70)
  const { recovered } = await openWal(nodeFileSystem(), { dir: join(root, 'wal') })
  expect(recovered.entries[0]?.data.length).toBe(1000)
})

test('D5: short writes of many parts go on until all is written', async () => {
  let writes = 0
  const writev = (fd: number, parts: readonly Uint8Array[], at: number, done: WriteDone) => {
    writes++
    const some = Buffer.concat(parts).subarray(0, 3)
    nodeFs.write(fd, some, 0, some.length, at, done)
  }
  const file = await open(nodeFileSystem(calls({ writev })), join(root, 'file'))
  const parts = ['a', 'bcde', '', 'fghijklmn', 'o'].map((text) => Buffer.from(text))
  await wait((done) => file.commit(0, parts, done))
  expect(writes).toBeGreaterThan(1)
  expect(nodeFs.readFileSync(join(root, 'file'), 'utf8')).toBe('abcdefghijklmno')
})

test('D5: a write that writes nothing is an error, not a loop', async () => {
  const write = (_fd: number, _b: Uint8Array, _f: number, _l: number, _a: number, done: WriteDone) =>
    queueMicrotask(() => done(null, 0))
  const file = await open(nodeFileSystem(calls({ write })), join(root, 'file'))
  await expect(wait((done) => file.write(0, Buffer.from('abc'), done))).rejects.toThrow('wrote nothing')
})

test('D4: an error of a write stops the log on the real file system too', async () => {
  let broken = false
  const write = (
    fd: number,
    bytes: Uint8Array,
    from: number,
    length: number,
    at: number,
    done: WriteDone,
  ) => {
    if (broken) queueMicrotask(() => done(Object.assign(new Error('EIO: simulated'), { code: 'EIO' }), 0))
    else nodeFs.write(fd, bytes, from, length, at, done)
  }
  const { wal } = await openWal(nodeFileSystem(calls({ write })), { dir: join(root, 'wal') })
  await appended(wal, { entries: [entry(1, 1)] })
  broken = true
  await expect(appended(wal, { entries: [entry(2, 1)] })).rejects.toMatchObject({
    code: 'ERR_STORAGE_FAILED',
  })
  await wal.close()
})

test('D7: a new folder is synced in the folder above, and a new file in its own', async () => {
  const synced: string[] = []
  const paths = new Map<number, string>()
  const openCall = (path: string, ...rest: unknown[]) => {
    const done = rest.pop() as (error: Error | null, fd: number) => void
    const [flags, mode] = rest as [number, number?]
    nodeFs.open(path, flags, mode, (error, fd) => {
      paths.set(fd, path)
      done(error, fd)
    })
  }
  const fsync = (fd: number, done: (error: Error | null) => void) => {
    synced.push(paths.get(fd) as string)
    nodeFs.fsync(fd, done)
  }
  const dir = join(root, 'x', 'y', 'wal')
  const { wal } = await openWal(nodeFileSystem(calls({ open: openCall, fsync })), { dir })
  expect(synced).toEqual(expect.arrayContaining([root, join(root, 'x'), join(root, 'x', 'y'), dir]))
  const before = synced.length
  for (let i = 1; i <= 20; i++) await appended(wal, { entries: [entry(i, 1, 'x'.repeat(500))] })
  expect(synced.slice(before)).toContain(dir)
  await wal.close()
})

test('a log with rolls and compaction on the real disk is there after a reopening', async () => {
  const dir = join(root, 'wal')
  const { wal } = await openWal(nodeFileSystem(), { dir })
  for (let i = 1; i <= 60; i++) await appended(wal, { entries: [entry(i, 1, 'x'.repeat(500))] })
  wal.compact(50)
  await wal.close()
  const { wal: again, recovered } = await openWal(nodeFileSystem(), { dir })
  expect(recovered.entries.at(-1)?.index).toBe(60)
  expect(recovered.start.position.index).toBeGreaterThan(30)
  await again.close()
})
