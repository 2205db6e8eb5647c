// Test: the simulated disk loses what a real disk may lose, and nothing else.

import { seededRandom } from '@latchkey/base'
import { beforeEach, expect, test } from 'vitest'
import type { Done, File } from '../wal/file-system-interface.js'
import { type DiskOp, MemoryDisk } from './index.js'

const wait = (call: (done: Done) => void): Promise<void> =>
  new Promise((done, fail) => call((error) => (error ? fail(error) : done())))
const create = (disk: MemoryDisk, path: string): Promise<File> =>
  new Promise((done, fail) => disk.open(path, 'create', (error, file) => (file ? done(file) : fail(error))))
const textOf = (disk: MemoryDisk, path: string) => Buffer.from(disk.bytes(path)).toString()

let disk: MemoryDisk
let file: File
beforeEach(async () => {
  disk = new MemoryDisk()
  file = await create(disk, '/d/one')
  await wait((done) => file.commit(0, [Buffer.from('synced')], done))
  await wait((done) => disk.syncDir('/d', done))
})

test('D8: a power loss keeps what was synced, whatever else it does', async () => {
  await wait((done) => file.write(6, Buffer.from(' and not'), done))
  expect(textOf(disk, '/d/one')).toBe('synced and not')
  const seen = new Set<string>()
  for (let seed = 0; seed < 60; seed++) {
    const image = disk.image()
    const copy = new MemoryDisk()
    copy.restore(image)
    const again = await new Promise<File>((done) =>
      copy.open('/d/one', 'existing', (_e, f) => done(f as File)),
    )
    await wait((done) => again.write(6, Buffer.from(' and not'), done))
    copy.crash(seededRandom(seed))
    seen.add(textOf(copy, '/d/one'))
  }
  expect([...seen].sort()).toEqual(['synced', 'synced and not'])
})

test('D9: what is not synced is torn at sectors, in any order: holes are zeros', async () => {
  const seen = new Set<string>()
  for (let seed = 0; seed < 300; seed++) {
    const one = new MemoryDisk()
    const torn = await create(one, '/d/x')
    await wait((done) => torn.sync(done))
    await wait((done) => one.syncDir('/d', done))
    await wait((done) => torn.write(0, Buffer.alloc(512 * 3, 'a'), done))
    one.crash(seededRandom(seed), 'some')
    const bytes = one.bytes('/d/x')
    expect(bytes.length % 512).toBe(0)
    seen.add(
      [0, 512, 1024]
        .filter((at) => at < bytes.length)
        .map((at) => (bytes[at] === 0 ? '-' : 'a'))
        .join(''),
    )
  }
  expect([...seen].sort()).toEqual(['', '--a', '-a', '-aa', 'a', 'a-a', 'aa', 'aaa'].sort())
})

test('D7: a name counts after a sync of its folder, not before; a removed one may come back', async () => {
  await create(disk, '/d/two')
  disk.crash(seededRandom(1), 'all')
  expect(disk.paths()).toEqual(['/d/one'])
  await wait((done) => disk.remove('/d/one', done))
  expect(disk.paths()).toEqual([])
  disk.crash(seededRandom(1), 'all')
  expect(disk.paths()).toEqual(['/d/one'])
  await wait((done) => disk.rename('/d/one', '/d/three', done))
  await wait((done) => disk.syncDir('/d', done))
  disk.crash(seededRandom(1), 'all')
  expect(disk.paths()).toEqual(['/d/three'])
})

test('a killed process leaves what it wrote, a power loss after it takes what was not synced', async () => {
  await wait((done) => file.write(0, Buffer.from('SYNCED'), done))
  disk.kill(seededRandom(1))
  expect(textOf(disk, '/d/one')).toBe('SYNCED')
  disk.crash(seededRandom(1), 'all')
  expect(textOf(disk, '/d/one')).toBe('synced')
})

test('callbacks of a file that was opened before a crash are never called', async () => {
  let called = false
  file.write(0, Buffer.from('late'), () => {
    called = true
  })
  disk.crash(seededRandom(1), 'all')
  await new Promise((done) => setImmediate(done))
  expect(called).toBe(false)
  expect(textOf(disk, '/d/one')).toBe('synced')
})

test('D4: after a sync that failed, later syncs do not make up for it, though reading shows the bytes', async () => {
  await wait((done) => file.write(0, Buffer.from('S'), done))
  disk.failAt(disk.operations + 1, { code: 'EIO' })
  await expect(wait((done) => file.sync(done))).rejects.toMatchObject({ code: 'EIO' })
  await wait((done) => file.sync(done))
  expect(textOf(disk, '/d/one')).toBe('Synced')
  disk.crash(seededRandom(1), 'none')
  expect(textOf(disk, '/d/one')).toBe('synced')
})

test('D5 D6: a write fails with a part of it written, or with all of it', async () => {
  disk.failAt(disk.operations + 1, { code: 'ENOSPC', short: 2 })
  await expect(wait((done) => file.write(0, Buffer.from('ABCD'), done))).rejects.toMatchObject({
    code: 'ENOSPC',
  })
  expect(textOf(disk, '/d/one')).toBe('ABnced')
  disk.failAt(disk.operations + 1, { code: 'EIO', kept: true })
  await expect(wait((done) => file.write(0, Buffer.from('1234'), done))).rejects.toMatchObject({
    code: 'EIO',
  })
  expect(textOf(disk, '/d/one')).toBe('1234ed')
})

test.each(['before', 'after'] as const)(
  'stopped %s an operation, nothing is heard any more',
  async (when) => {
    const heard: string[] = []
    disk.stopAt(disk.operations + 2, when, () => heard.push('stopped'))
    const write = (at: number, text: string) =>
      new Promise<void>((done) =>
        file.write(at, Buffer.from(text), () => {
          heard.push(text)
          done()
        }),
      )
    await write(0, 'A')
    void write(1, 'B')
    void write(2, 'C')
    await new Promise((done) => setImmediate(done))
    expect(heard).toEqual(['A', 'stopped'])
    expect(disk.stopped).toBe(true)
    expect(textOf(disk, '/d/one')).toBe(when === 'before' ? 'Aynced' : 'ABnced')
  },
)

test('the schedule decides when an operation completes, and gets the operation', async () => {
  const asked: [DiskOp, () => void][] = []
  const slow = new MemoryDisk({ schedule: (op, run) => asked.push([op, run]) })
  let opened: File | undefined
  slow.open('/d/x', 'create', (_error, made) => {
    opened = made
  })
  expect(slow.paths()).toEqual([])
  asked[0]?.[1]()
  opened?.write(0, Buffer.from('abc'), () => {})
  expect(asked.map(([op]) => op)).toEqual([
    { kind: 'create', path: '/d/x', number: 1, bytes: 0 },
    { kind: 'write', path: '/d/x', number: 2, bytes: 3 },
  ])
})

test('D12 D18: damage and rollback change both images', async () => {
  const yesterday = disk.image()
  await wait((done) => file.commit(0, [Buffer.from('today!')], done))
  disk.flipBit('/d/one', 3)
  disk.crash(seededRandom(1), 'all')
  expect(textOf(disk, '/d/one')).toBe('|oday!')
  disk.restore(yesterday)
  expect(textOf(disk, '/d/one')).toBe('synced')
})

test('equal seeds, equal losses', async () => {
  const outcome = async () => {
    const one = new MemoryDisk()
    const random = seededRandom('same')
    const files = [await create(one, '/d/a'), await create(one, '/d/b')]
    for (const each of files) await wait((done) => each.write(0, Buffer.alloc(9000, 'x'), done))
    await wait((done) => one.syncDir('/d', done))
    one.crash(random, 'some')
    return one.paths().map((path) => [path, Buffer.from(one.bytes(path)).toString('hex')])
  }
  expect(await outcome()).toEqual(await outcome())
})

test('a process that has died in the middle of its work writes nothing more', async () => {
  let isAlive = true
  const mortal = new MemoryDisk({ isAlive: () => isAlive })
  const open = await create(mortal, '/d/one')
  await wait((done) => open.commit(0, [Buffer.from('synced')], done))
  await wait((done) => mortal.syncDir('/d', done))
  isAlive = false
  const told: unknown[] = []
  open.write(0, Buffer.from('undead'), (error) => told.push(error))
  mortal.remove('/d/one', (error) => told.push(error))
  mortal.crash(seededRandom(1), 'none')
  await new Promise((done) => setImmediate(done))
  expect([textOf(mortal, '/d/one'), told]).toEqual(['synced', []])
})

// Without this: no simulated crash cuts a write at the places where a real disk cuts it.
test('D8: a write that is torn is cut at the sectors of the disk, wherever the write begins', async () => {
  const cuts = new Set<number>()
  for (let seed = 0; seed < 200; seed++) {
    const copy = new MemoryDisk()
    const one = await create(copy, '/d/one')
    await wait((done) => one.commit(0, [new Uint8Array(300)], done))
    await wait((done) => copy.syncDir('/d', done))
    await wait((done) => one.write(300, Buffer.alloc(2_000, 1), done))
    copy.crash(seededRandom(seed))
    const bytes = copy.bytes('/d/one')
    for (let i = 301; i < bytes.length; i++) if (bytes[i] !== bytes[i - 1]) cuts.add(i)
    cuts.add(bytes.length)
  }
  expect([...cuts].toSorted((a, b) => a - b)).toEqual([300, 512, 1_024, 1_536, 2_048, 2_300])
})
