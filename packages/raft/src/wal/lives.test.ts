// Test: a disk fails and loses power in several starts one after the other: acknowledged data, and data that
// a start has returned, stays (D4, D9).

import { seededRandom, type Random } from '@latchkey/base'
import { isLatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { type DiskFailure, MemoryDisk } from '../memory/index.js'
import { openWal } from './testing/wal-fixture.js'
import { judge, newRun, runWorkload } from './testing/workload.js'

const LOGS = 400

const FAILURES: readonly DiskFailure[] = [
  { code: 'EIO' },
  { code: 'EIO', kept: true },
  { code: 'ENOSPC', short: 13 },
]

/** One start of the log, which ends by itself or when the disk stops. */
async function life(
  disk: MemoryDisk,
  random: Random,
  within: number,
  run: () => Promise<unknown>,
): Promise<void> {
  const at = disk.operations + random.between(1, within)
  await new Promise<void>((done, fail) => {
    if (random.chance(0.5)) disk.failAt(at, random.pick(FAILURES))
    if (random.chance(0.7)) disk.stopAt(at + random.between(0, 3), random.pick(['before', 'after']), done)
    run().then(
      () => done(),
      (error) => (isLatchkeyError(error, 'ERR_STORAGE_FAILED') ? done() : fail(error)),
    )
  })
  if (random.chance(0.6)) disk.kill(random)
  else disk.crash(random)
}

async function start(disk: MemoryDisk): Promise<void> {
  const { wal } = await openWal(disk)
  await wal.close()
}

test('D4 D9: four hundred logs, each with many starts', async () => {
  const whole = new MemoryDisk()
  await runWorkload(whole, newRun())
  for (let seed = 1; seed <= LOGS; seed++) {
    const random = seededRandom(`lives ${seed}`)
    const disk = new MemoryDisk()
    const run = newRun()
    const told = (error: Error): never => {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error })
    }
    await life(disk, random, whole.operations, () => runWorkload(disk, run)).catch(told)
    for (let lives = random.between(1, 5); lives > 0; lives--) {
      await life(disk, random, 12, () => start(disk)).catch(told)
      // A start that completes promises the log that it has returned.
      if (random.chance(0.3)) run.acknowledged = await judge(disk, run).catch(told)
    }
    const found = await judge(disk, run).catch(told)
    disk.crash(random, 'all')
    expect(await judge(disk, run).catch(told), `seed ${seed}`).toBe(found)
  }
})
