// Test: backup and restore: the checksum covers the whole file, sessions are dropped, and no token is issued
// again.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OP, READ } from '@latchkey/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { restoreRows } from './restore-backup.js'
import { classicLevelStorage } from './storage/classic-level-storage.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import type { RowStorage } from './storage/row-store-interface.js'
import { writeBackup } from './testing/write-backup-to-file.js'
import { Folders, openBelow } from './testing/temporary-folders.js'
import { newMachine } from './testing/apply-entries-and-hash-rows.js'
import { show } from './testing/results-as-text.js'
import { World, k } from './testing/state-machine-with-own-log.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

const ALONE = {
  voters: ['z'],
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: { z: { url: 'ws://z', incarnation: '' } },
}
let w: World
let file: string
beforeAll(async () => {
  w = await World.open()
  await w.run(
    [OP.put, null, k('a'), k('1')],
    [OP.put, null, k('a'), k('2')],
    [OP.put, null, k('short'), k('1'), 40_000],
    [OP.put, null, k('mine'), k('1'), 0],
    [OP.nextSequence, null, k('s'), 7],
    [OP.tryLock, k('l'), null, false, 'me', 60_000, 0, 'context', null],
    [OP.tryLock, k('l'), null, false, 'you', 60_000, 0, null, 0],
    [OP.tryLock, k('m'), k('f'), false, 'me', 60_000, 0, null, null],
    [OP.createLatch, k('latch'), 3],
    [OP.countDown, k('latch'), 1],
    [OP.waitLatch, k('latch'), 'me', 0],
    [OP.enterBarrier, k('barrier'), 'me', 1, 0],
    [OP.enterBarrier, k('barrier'), 'me', 2, 0],
  )
  file = join(folders.make(), 'store.backup')
  await writeBackup(w.machine, file)
})

/** A member of the new cluster, whose log begins after the backup's position. */
async function restored(storage: RowStorage): Promise<World> {
  const { position } = await restoreRows(file, storage, ALONE)
  const next = new World({ storage })
  await next.machine.open()
  next.log.push(...w.log.slice(0, position.index))
  next.time = position.time
  return next
}

test('A23: a ttl continues from the time of the backup; keys of a session are removed at the first entry', async () => {
  const next = await restored(new SimulatedRowStorage())
  const isThere = (key: string) => next.machine.read([READ.contains, k(key)])
  expect([isThere('short'), isThere('mine')]).toEqual([true, true])
  await next.tick(0)
  expect([isThere('short'), isThere('mine')]).toEqual([true, false])
  await next.tick(39_999)
  expect(isThere('short')).toBe(true)
  await next.tick(200)
  expect(isThere('short')).toBe(false)
  expect(next.machine.stateHash().spaces.expiry).toMatch(/^0-/)
})

test('what is kept, and what is not', async () => {
  const next = await restored(new SimulatedRowStorage())
  expect(next.machine.stateHash().position).toEqual(w.machine.stateHash().position)
  expect(show(next.machine.read([READ.getEntry, k('a')]))).toEqual([4, [1, 2, 2, '2']])
  expect(next.machine.read([READ.sequence, k('s')])).toBe(7)
  expect(show(next.machine.read([READ.lockQuery, null, false, false]))).toEqual([
    ['l', 'me', 'context', 1, 1, 60_000, 0, 0, null, 0],
    ['m', 'me', null, 1, 1, 60_000, 0, 0, null, 0],
  ])
  const { spaces } = next.machine.stateHash()
  for (const space of ['sessions', 'replies', 'waiters', 'parties']) expect(spaces[space]).toMatch(/^0-/)
  for (const space of ['data', 'sequences', 'events', 'holds', 'latches', 'barriers'])
    expect(spaces[space]).toBe(w.machine.stateHash().spaces[space])
})

test('a latch has what it had still to count, and a barrier goes on with its next generation; nobody waits', async () => {
  const next = await restored(new SimulatedRowStorage())
  next.session = await next.openSession()
  expect(w.machine.openSessions.partyCounts).toEqual({ latches: 1, barriers: 1, atLatches: 1, atBarriers: 1 })
  expect(next.machine.openSessions.partyCounts).toEqual({
    latches: 1,
    barriers: 1,
    atLatches: 0,
    atBarriers: 0,
  })
  expect(await next.one([OP.countDown, k('latch'), 1])).toBe(1)
  expect(await next.one([OP.enterBarrier, k('barrier'), 'you', 3, 0])).toEqual(['waiting', 2, 0, 1])
})

test('K38: every counter starts above the raised base, also one that is not in the backup', async () => {
  const next = await restored(classicLevelStorage(join(folders.make(), 'state')))
  next.session = await next.openSession()
  const token = async (key: string, fencingKey: string | null) => {
    const counter = fencingKey === null ? null : k(fencingKey)
    const [owner] = (await next.one([OP.tryLock, k(key), counter, false, 'new', 1_000, 0, null, null])) as [
      unknown[],
    ]
    return owner[3]
  }
  const base = 1 + 2 ** 32
  expect(await token('x', null)).toBe(base + 1)
  expect(await token('y', 'f')).toBe(base + 1)
  expect(await token('z', 'unknown to the backup')).toBe(base + 1)
  expect(await token('u', null)).toBe(base + 2)
  await next.restart()
  expect(await token('v', 'another')).toBe(base + 1)
  await next.machine.close()
})

test('after repeated restores tokens still grow', async () => {
  const first = await restored(new SimulatedRowStorage())
  const second = join(folders.make(), 'again.backup')
  await writeBackup(first.machine, second)
  const { tokenBase } = await restoreRows(second, new SimulatedRowStorage(), ALONE)
  expect(tokenBase).toBe(1 + 2 * 2 ** 32)
  expect(Number.isSafeInteger(tokenBase * 1000)).toBe(true)
})

test('the caller gets the position at which the new log starts, and the members of the new cluster', async () => {
  const result = await restoreRows(file, new SimulatedRowStorage(), ALONE)
  expect(result).toEqual({
    position: w.machine.position,
    membership: ALONE,
    revision: 4,
    tokenBase: 1 + 2 ** 32,
  })
  const storage = new SimulatedRowStorage()
  await restoreRows(file, storage, ALONE)
  expect(await newMachine(storage).open()).toEqual({ position: w.machine.position, membership: ALONE })
})

// Without this law: a value so large that it comes alone is not in the restored store.
test('large and small values are restored, however the reading of the file cuts them', async () => {
  const large = await World.open()
  const sizes = [2 ** 20, 2 ** 20, 1, 2 ** 20, 2 ** 20, 30, 2 ** 20]
  for (const [i, size] of sizes.entries()) await large.run([OP.put, null, k(`k${i}`), Buffer.alloc(size, i)])
  const path = join(folders.make(), 'large.backup')
  await writeBackup(large.machine, path)
  const storage = new SimulatedRowStorage()
  await restoreRows(path, storage, ALONE)
  const machine = newMachine(storage)
  await machine.open()
  const lengths = sizes.map((_, i) => (machine.read([READ.get, k(`k${i}`)]) as Uint8Array | null)?.length)
  expect(lengths).toEqual(sizes)
})

describe('what is refused', () => {
  test('a file with any changed or missing byte; the message names the file, and nothing is created', async () => {
    const whole = readFileSync(file)
    const damaged = join(folders.make(), 'damaged.backup')
    for (let at = 0; at < whole.length; at += 3) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] as number) ^ 4
      writeFileSync(damaged, at % 2 === 0 ? bytes : whole.subarray(0, at))
      const storage = new SimulatedRowStorage()
      await expect(restoreRows(damaged, storage, ALONE)).rejects.toMatchObject({
        code: 'ERR_CORRUPT',
        message: expect.stringContaining('damaged.backup'),
      })
      expect(await storage.open()).toBeUndefined()
      expect(storage.disk.leftovers).toBe(0)
    }
  })

  // Without this law: a restore onto a full disk leaves a half-built store behind, which takes the room that
  // the next try needs.
  test('a restore that the disk refuses removes what it has built, and leaves no file open', async () => {
    for (const write of [1, 2]) {
      const storage = new SimulatedRowStorage()
      const full = new Error('the disk is full')
      let writes = 0
      const failing: RowStorage = {
        open: () => storage.open(),
        sweep: () => storage.sweep(),
        discard: () => storage.discard(),
        build: async () => {
          const builder = await storage.build()
          return {
            write: async (batch) => {
              if (++writes === write) throw full
              await builder.write(batch)
            },
            commit: () => builder.commit(),
            abort: () => builder.abort(),
          }
        },
      }
      await expect(restoreRows(file, failing, ALONE)).rejects.toBe(full)
      expect(storage.disk.leftovers).toBe(0)
      expect(await storage.open()).toBeUndefined()
    }
    expect(openBelow(file)).toEqual([])
  })

  test('a restore closes the backup file, whole or damaged', async () => {
    await restoreRows(file, new SimulatedRowStorage(), ALONE)
    const damaged = join(folders.make(), 'damaged.backup')
    writeFileSync(damaged, readFileSync(file).subarray(0, -9))
    await expect(restoreRows(damaged, new SimulatedRowStorage(), ALONE)).rejects.toThrow()
    expect([...openBelow(file), ...openBelow(damaged)]).toEqual([])
  })

  test('a folder that already has a state', async () => {
    const storage = new SimulatedRowStorage()
    await restoreRows(file, storage, ALONE)
    await expect(restoreRows(file, storage, ALONE)).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  })

  test('a view of ranges, and a view that was closed', async () => {
    const one = await World.open()
    await one.run([OP.put, null, k('a'), k('1')], [OP.put, null, k('b'), k('2')])
    const gone = { code: 'ERR_COMPACTED' }
    const page = [READ.page, 0, true, null, null, false, 1, 'both'] as const
    const [rows] = (await one.machine.read(page)) as [number]
    await expect(one.machine.read([READ.backup, rows])).rejects.toMatchObject(gone)
    const [whole, piece] = (await one.machine.read([READ.backup, 0])) as [number, Uint8Array]
    expect(piece.length).toBeGreaterThan(0)
    one.machine.closeViews([whole])
    await expect(one.machine.read([READ.backup, whole])).rejects.toMatchObject(gone)
  })
})

test('any number of bytes after the end is damage too', async () => {
  const longer = join(folders.make(), 'longer.backup')
  for (let more = 1; more <= 9; more++) {
    writeFileSync(longer, Buffer.concat([readFileSync(file), Buffer.alloc(more, more % 2)]))
    await expect(restoreRows(longer, new SimulatedRowStorage(), ALONE), `${more} more`).rejects.toMatchObject(
      {
        code: 'ERR_CORRUPT',
        message: expect.stringContaining('longer.backup'),
      },
    )
  }
})
