// Test: a disk that fails: after the first failure the log tries nothing again, and all acknowledged batches
// are still there.

import { seededRandom } from '@latchkey/base'
import { isLatchkeyError, type LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { type DiskFailure, type DiskOp, ManualClock, MemoryDisk } from '../memory/index.js'
import type { FileSystem } from './file-system-interface.js'
import { appended, batch, entry, openWal } from './testing/wal-fixture.js'
import { judge, newRun, type Run, runWorkload } from './testing/workload.js'

const FAILURES: readonly DiskFailure[] = [
  { code: 'EIO' },
  { code: 'EIO', kept: true },
  { code: 'ENOSPC' },
  { code: 'ENOSPC', short: 100 },
]

/**
 * The operations that were requested after the failure was reported, without those that were under way
 * already.
 */
interface Told {
  readonly errors: LatchkeyError[]
  opsAtFailure: number
}

async function runFailing(disk: MemoryDisk, run: Run): Promise<Told> {
  const told: Told = { errors: [], opsAtFailure: Number.POSITIVE_INFINITY }
  const onFailed = (error: LatchkeyError) => {
    told.errors.push(error)
    told.opsAtFailure = disk.operations
  }
  await runWorkload(disk, run, { onFailed }).catch((error) => {
    if (!isLatchkeyError(error, 'ERR_STORAGE_FAILED')) throw error
    run.failed ??= error
  })
  return told
}

test.each(FAILURES)(
  'D4 D5 D6: %o at every operation stops the log for good, and loses nothing',
  async (failure) => {
    const whole = new MemoryDisk()
    await runWorkload(whole, newRun())
    for (let at = 1; at <= whole.operations; at++) {
      const disk = new MemoryDisk()
      const run = newRun()
      disk.failAt(at, failure)
      const told = await runFailing(disk, run)
      expect(run.failed ?? told.errors[0], `failure at operation ${at} of ${whole.operations}`).toMatchObject(
        {
          code: 'ERR_STORAGE_FAILED',
        },
      )
      expect(told.errors.length, `told at ${at}`).toBeLessThanOrEqual(1)
      // Operations under way may still complete: a roll needs up to three more. No new one begins.
      expect(
        disk.operations - told.opsAtFailure,
        `operations after the failure at ${at}`,
      ).toBeLessThanOrEqual(3)
      disk.kill(seededRandom(at))
      const found = await judge(disk, run)
      // The page cache still had what the failed sync did not bring to the disk: recovery must have written
      // it again.
      disk.crash(seededRandom(at), 'all')
      expect(await judge(disk, run), `operation ${at}, then a power loss`).toBe(found)
    }
  },
)

test('D4 D9: the page cache shows what a failed sync never brought to the disk; a power loss at every operation of the recovery that reads it', async () => {
  const whole = new MemoryDisk()
  await runWorkload(whole, newRun())
  for (let at = 1; at <= whole.operations; at++) {
    for (let step = 1, stopped = true; stopped; step++) {
      const disk = new MemoryDisk()
      const run = newRun()
      disk.failAt(at, { code: 'EIO' })
      await runFailing(disk, run)
      disk.kill(seededRandom(at))
      stopped = await stopsDuringOpen(disk, disk.operations + step)
      disk.crash(seededRandom(`${at} ${step}`), 'all')
      await judge(disk, run).catch((error) => {
        throw new Error(
          `a failure at ${at}, the power gone at operation ${step} of the recovery: ${error.message}`,
        )
      })
    }
  }
})

async function stopsDuringOpen(disk: MemoryDisk, at: number): Promise<boolean> {
  return await new Promise((done) => {
    disk.stopAt(at, 'after', () => done(true))
    void openWal(disk).then(({ wal }) => wal.close().then(() => done(false)))
  })
}

test('D4: after a sync that failed once every append fails, those that waited and those that come, in order', async () => {
  const disk = new MemoryDisk()
  const { wal } = await openWal(disk)
  const said: string[] = []
  const append = (index: number) =>
    new Promise<void>((done) =>
      wal.append(batch({ entries: [entry(index, 1)] }), (error) => {
        said.push(`${index} ${error?.code}`)
        done()
      }),
    )
  disk.failAt(disk.operations + 2, { code: 'EIO' })
  await Promise.all([append(1), append(2), append(3)])
  await append(4)
  expect(said).toEqual([1, 2, 3, 4].map((index) => `${index} ERR_STORAGE_FAILED`))
  expect(wal.failed).toMatchObject({ outcome: 'unknown', retryable: false })
  const before = disk.operations
  await append(5)
  await wal.close()
  expect(disk.operations).toBe(before)
})

test('D5: a failure of the mark is reported also when no append waits', async () => {
  const disk = new MemoryDisk()
  const clock = new ManualClock()
  const told: LatchkeyError[] = []
  const { wal } = await openWal(disk, { clock, onFailed: (error) => told.push(error) })
  await appended(wal, { entries: [entry(1, 1)] })
  disk.failAt(disk.operations + 2, { code: 'EIO' })
  clock.advance(300)
  await new Promise((done) => setImmediate(done))
  expect(told).toMatchObject([{ code: 'ERR_STORAGE_FAILED' }])
  await expect(appended(wal, { entries: [entry(2, 1)] })).rejects.toBe(told[0])
})

test('D6: after room was made, the log opens with all that was acknowledged, and goes on', async () => {
  const disk = new MemoryDisk()
  const { wal } = await openWal(disk)
  await appended(wal, { entries: [entry(1, 1)] })
  disk.failAt(disk.operations + 1, { code: 'ENOSPC', short: 13 })
  await expect(appended(wal, { entries: [entry(2, 1)] })).rejects.toMatchObject({
    code: 'ERR_STORAGE_FAILED',
  })
  await wal.close()
  const again = await openWal(disk)
  expect(again.recovered.entries.map(({ index }) => index)).toEqual([1])
  await appended(again.wal, { entries: [entry(2, 2)] })
  await again.wal.close()
})

test('D11: during a slow sync later batches gather; nothing is acknowledged early', async () => {
  const held: (() => void)[] = []
  let slow = false
  const schedule = ({ kind, path }: DiskOp, run: () => void) => {
    if (slow && kind === 'sync' && path.includes('log-')) held.push(run)
    else queueMicrotask(run)
  }
  const disk = new MemoryDisk({ schedule })
  const { wal } = await openWal(disk, { segmentBytes: 1e6 })
  slow = true
  const done: number[] = []
  const all = [1, 2, 3].map((i) => appended(wal, { entries: [entry(i, 1)] }).then(() => done.push(i)))
  await new Promise((soon) => setImmediate(soon))
  expect(done).toEqual([])
  expect(held.length).toBe(1)
  slow = false
  held[0]?.()
  await Promise.all(all)
  expect(done).toEqual([1, 2, 3])
})

test('opening: an error of the disk is reported as one, and the log is not opened', async () => {
  const disk = new MemoryDisk()
  disk.failAt(1, { code: 'ENOSPC' })
  await expect(openWal(disk)).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED', outcome: 'not-applied' })
  const { recovered } = await openWal(disk)
  expect(recovered.fresh).toBe(true)
})

/** The same disk, which counts the files that are open. */
function counting(disk: MemoryDisk) {
  const state = { open: 0 }
  const fs: FileSystem = {
    sizes: disk.sizes,
    open: (path, how, done) =>
      disk.open(path, how, (error, file) => {
        if (file === undefined) return done(error)
        state.open++
        const close = file.close.bind(file)
        file.close = (closed) => {
          state.open--
          close(closed)
        }
        done(undefined, file)
      }),
    remove: (path, done) => disk.remove(path, done),
    rename: (from, to, done) => disk.rename(from, to, done),
    syncDir: (path, done) => disk.syncDir(path, done),
    makeDir: () => disk.makeDir(),
    list: (path) => disk.list(path),
    read: (path) => disk.read(path),
  }
  return { fs, state }
}

// Without this law: a member is started again and again until its disk has room, in the same process. After some
// hundred starts, that process can open no file any more.
test('a log that could not be opened, or was closed, leaves no file open', async () => {
  const whole = new MemoryDisk()
  const run = newRun()
  await runWorkload(whole, run)
  const image = whole.image()
  for (const isNew of [true, false]) {
    for (let at = 1, failed = true; failed; at++) {
      const disk = new MemoryDisk()
      if (!isNew) disk.restore(image)
      const { fs, state } = counting(disk)
      disk.failAt(at, { code: 'ENOSPC' })
      failed = await openWal(fs).then(
        async ({ wal }) => {
          expect(state.open).toBe(2)
          await wal.close().catch(() => {})
          return disk.operations >= at
        },
        () => true,
      )
      expect(state.open, `${isNew ? 'a new log' : 'a log'}, operation ${at}`).toBe(0)
    }
  }
})
