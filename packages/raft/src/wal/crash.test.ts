// Test: the power fails at every single write and sync, and whenever a file is created, renamed or removed.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { type DiskOp, type Loss, MemoryDisk } from '../memory/index.js'
import { appended, entry, openWal } from './testing/wal-fixture.js'
import { judge, newRun, type Run, runWorkload } from './testing/workload.js'

async function operationsOfWorkload(): Promise<number> {
  const kinds = new Map<string, number>()
  const schedule = ({ kind }: DiskOp, run: () => void) => {
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    queueMicrotask(run)
  }
  const disk = new MemoryDisk({ schedule })
  await runWorkload(disk, newRun())
  // The workload contains rolls (each creates a file), compaction (removes files), and writes and syncs
  // between them.
  expect(kinds.get('create')).toBeGreaterThan(5)
  expect(kinds.get('remove')).toBeGreaterThan(3)
  return disk.operations
}

/** Runs the workload until the disk stops at operation `at`. */
async function runUntil(at: number, when: 'before' | 'after'): Promise<{ disk: MemoryDisk; run: Run }> {
  const disk = new MemoryDisk()
  const run = newRun()
  await new Promise<void>((done) => {
    disk.stopAt(at, when, done)
    void runWorkload(disk, run).then(() => done())
  })
  return { disk, run }
}

const LOSSES: readonly (Loss | 'kill')[] = ['all', 'none', 'prefix', 'some', 'some', 'some', 'kill']

function pullThePlug(disk: MemoryDisk, how: Loss | 'kill', seed: string): void {
  if (how === 'kill') disk.kill(seededRandom(seed))
  else disk.crash(seededRandom(seed), how)
}

test.each(['before', 'after'] as const)(
  'D1 D7 D8 D9: a power loss %s every operation of a workload loses nothing that was acknowledged',
  async (when) => {
    const operations = await operationsOfWorkload()
    expect(operations).toBeGreaterThan(100)
    for (let at = 1; at <= operations; at++) {
      for (const [i, how] of LOSSES.entries()) {
        const { disk, run } = await runUntil(at, when)
        pullThePlug(disk, how, `${when} ${at} ${i}`)
        const found = await judge(disk, run).catch((error) => {
          throw new Error(`${when} operation ${at}, losing ${how} (${i}): ${error.message}`)
        })
        // What recovery has returned is durable, also the part that only the page cache had before.
        disk.crash(seededRandom('again'), 'all')
        expect(await judge(disk, run), `${when} ${at}, ${how}, a second loss`).toBe(found)
      }
    }
  },
)

test('D1 D9: a power loss at every operation of the recovery itself', async () => {
  const operations = await operationsOfWorkload()
  for (let at = 3; at <= operations; at += 3) {
    for (let step = 1; ; step++) {
      const { disk, run } = await runUntil(at, 'before')
      disk.crash(seededRandom(`first ${at}`), 'some')
      const stopped = await stopsDuringOpen(disk, disk.operations + step, step % 2 === 0 ? 'before' : 'after')
      disk.crash(seededRandom(`second ${at} ${step}`), 'some')
      await judge(disk, run)
      if (!stopped) break
    }
  }
})

async function stopsDuringOpen(disk: MemoryDisk, at: number, when: 'before' | 'after'): Promise<boolean> {
  return new Promise((done) => {
    disk.stopAt(at, when, () => done(true))
    void openWal(disk).then(() => done(false))
  })
}

test('D8: the log continues after many crashes in a row', async () => {
  const random = seededRandom('a long life')
  const disk = new MemoryDisk()
  let durable = 0
  for (let life = 0; life < 200; life++) {
    const { wal, recovered } = await openWal(disk)
    const last = recovered.entries.at(-1)?.index ?? recovered.start.position.index
    expect(last, `life ${life}`).toBeGreaterThanOrEqual(durable)
    disk.stopAt(disk.operations + random.between(1, 30), random.pick(['before', 'after']))
    for (let i = last + 1; i <= last + 10 && !disk.stopped; i++) {
      const done = appended(wal, { entries: [entry(i, life, 'x'.repeat(random.between(0, 700)))] })
      const stopped = new Promise<string>((told) => setTimeoutSoon(() => told('stopped')))
      if ((await Promise.race([done.then(() => 'done'), stopped])) === 'done') durable = i
      if (random.chance(0.1)) wal.compact(durable)
    }
    disk.crash(random)
  }
  expect(durable).toBeGreaterThan(200)
})

/** Runs long after the microtasks of a write; the simulated disk needs no more time than that. */
function setTimeoutSoon(run: () => void, turns = 60): void {
  if (turns === 0) run()
  else queueMicrotask(() => setTimeoutSoon(run, turns - 1))
}
