// Test: the disk of the event log fails, or the power fails, at every single operation (D1, D4, D5, D8, D9):
// an append, the beginning of a file, the removal of old files, and a start. A model replaces LevelDB and
// keeps its law: a batch is there as a whole or not at all (RW1).

import { seededRandom } from '@latchkey/base'
import { type DiskFailure, type Loss, MemoryDisk } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { eventLogOnDisk } from '../testing/event-log-on-simulated-disk.js'
import type { ValidEnd } from './event-log-file-format.js'
import { EventLog } from './event-log.js'
import type { RowChange } from './row-store-interface.js'
import { CHECKSUM_BYTES, withChecksum } from './stored-row-checksum.js'

const FOLDER = 'rows'
/** So small that most batches begin another file, and each file is soon removed. */
const FILE_BYTES = 300
const BATCHES = 14

/** What LevelDB keeps: the valid end of the event log, and the rows that the event log then has. */
interface Level {
  validEnd: ValidEnd | undefined
  rows: Map<string, string>
}
const newLevel = (): Level => ({ validEnd: undefined, rows: new Map() })

const keyOf = (name: string) => Buffer.from(name)
const put = (name: string, text: string): RowChange => ({
  key: keyOf(name),
  value: withChecksum(keyOf(name), Buffer.from(text)),
})

/** Rows as events are: added at one end, rewritten while they grow, and removed at the other end. */
function batchOf(n: number, life: string): RowChange[] {
  const gone = n < 5 ? [] : [{ key: keyOf(`e${n - 5}`), value: undefined }]
  return [put(`e${n}`, `${life} ${n} ${'x'.repeat((n * 37) % 300)}`), put('grows', `${life} ${n}`), ...gone]
}

function applied(rows: ReadonlyMap<string, string>, batch: readonly RowChange[]): Map<string, string> {
  const after = new Map(rows)
  for (const { key, value } of batch) {
    const name = Buffer.from(key).toString()
    if (value === undefined) after.delete(name)
    else after.set(name, Buffer.from(value.subarray(CHECKSUM_BYTES)).toString())
  }
  return after
}

async function write(eventLog: EventLog, level: Level, batch: readonly RowChange[]): Promise<void> {
  await eventLog.append(batch, true)
  // From here on LevelDB has the valid end, so the batch counts (J1).
  level.validEnd = eventLog.validEnd
  level.rows = applied(level.rows, batch)
  await eventLog.written()
}

const port = (disk: MemoryDisk) => eventLogOnDisk(disk, FILE_BYTES)

async function opened(disk: MemoryDisk, level: Level): Promise<EventLog> {
  if (level.validEnd !== undefined) return await EventLog.open(FOLDER, level.validEnd, port(disk))
  // The store has not got its name yet: a start removes what a crash left of it, as RowStorage does.
  for (const path of disk.paths()) disk.drop(path)
  const eventLog = await EventLog.create(FOLDER, port(disk))
  level.validEnd = eventLog.validEnd
  return eventLog
}

async function rowsOf(eventLog: EventLog): Promise<Map<string, string>> {
  const view = eventLog.view()
  const whole = { start: undefined, end: undefined }
  const page = await view.page(whole, 1e6, 1e9, () => Promise.reject(new Error('nothing is under way')))
  view.close()
  return new Map(
    page.rows.map(({ key, value }) => [
      `${Buffer.from(key)}`,
      `${Buffer.from(value.subarray(CHECKSUM_BYTES))}`,
    ]),
  )
}

async function workload(disk: MemoryDisk, level: Level, life: string): Promise<void> {
  const eventLog = await opened(disk, level)
  for (let n = 0; n < BATCHES; n++) await write(eventLog, level, batchOf(n, life))
  await eventLog.close()
}

/**
 * The event log opens, has all rows that count and no others, and takes more writes; also after everything
 * that is not durable was lost once more.
 */
async function judge(disk: MemoryDisk, level: Level): Promise<void> {
  const before = [...level.rows].sort()
  for (const life of ['second', 'third']) {
    const eventLog = await opened(disk, level)
    expect([...(await rowsOf(eventLog))].sort()).toEqual(life === 'second' ? before : [...level.rows].sort())
    const names = await disk.list(FOLDER)
    const { first, last } = level.validEnd as ValidEnd
    expect(names).toHaveLength(last - first + 1)
    for (let n = 0; n < 4; n++) await write(eventLog, level, batchOf(n, life))
    await eventLog.close()
    disk.crash(seededRandom(life), 'all')
  }
}

async function stopsDuring(
  disk: MemoryDisk,
  at: number,
  when: 'before' | 'after',
  run: () => Promise<unknown>,
) {
  return await new Promise<boolean>((done, fail) => {
    disk.stopAt(at, when, () => done(true))
    run().then(() => done(false), fail)
  })
}

const LOSSES: readonly (Loss | 'kill')[] = ['all', 'none', 'prefix', 'some', 'some', 'kill']

function pullThePlug(disk: MemoryDisk, how: Loss | 'kill', seed: string): void {
  if (how === 'kill') disk.kill(seededRandom(seed))
  else disk.crash(seededRandom(seed), how)
}

async function told(where: string, run: Promise<void>): Promise<void> {
  await run.catch((error: Error) => {
    throw new Error(`${where}: ${error.message}`, { cause: error })
  })
}

test('the workload begins new files and removes old ones', async () => {
  const disk = new MemoryDisk()
  const level = newLevel()
  await workload(disk, level, 'first')
  expect(level.validEnd?.last).toBeGreaterThan(5)
  expect(level.validEnd?.first).toBeGreaterThan(3)
  await judge(disk, level)
})

test.each(['before', 'after'] as const)(
  'D1 D8 D9 J1 J2 J3: a power failure %s every operation loses nothing that counts',
  async (when) => {
    const whole = new MemoryDisk()
    await workload(whole, newLevel(), 'first')
    for (let at = 1; at <= whole.operations; at++) {
      for (const [i, how] of LOSSES.entries()) {
        const disk = new MemoryDisk()
        const level = newLevel()
        await stopsDuring(disk, at, when, () => workload(disk, level, 'first'))
        pullThePlug(disk, how, `${when} ${at} ${i}`)
        await told(`${when} operation ${at}, losing ${how} (${i})`, judge(disk, level))
      }
    }
  },
)

test('D1 D9: a second crash at every operation of the start that follows, and of the writes after it', async () => {
  const whole = new MemoryDisk()
  await workload(whole, newLevel(), 'first')
  for (let at = 2; at <= whole.operations; at += 2) {
    for (let step = 1, stopped = true; stopped && step < 12; step++) {
      const disk = new MemoryDisk()
      const level = newLevel()
      await stopsDuring(disk, at, 'before', () => workload(disk, level, 'first'))
      disk.crash(seededRandom(`first ${at}`), 'some')
      stopped = await stopsDuring(disk, disk.operations + step, 'after', () => workload(disk, level, 'next'))
      disk.crash(seededRandom(`second ${at} ${step}`), step % 2 === 0 ? 'some' : 'all')
      await told(`operation ${at}, then ${step} of the next life`, judge(disk, level))
    }
  }
})

const FAILURES: readonly DiskFailure[] = [
  { code: 'EIO' },
  { code: 'EIO', kept: true },
  { code: 'ENOSPC', short: 100 },
]

test.each(FAILURES)(
  'D4 D5: %o at every operation; then a start, with a power failure at any operation of it',
  async (failure) => {
    const whole = new MemoryDisk()
    await workload(whole, newLevel(), 'first')
    for (let at = 1; at <= whole.operations; at++) {
      for (let step = 0, stopped = true; stopped && step < 12; step++) {
        const disk = new MemoryDisk()
        const level = newLevel()
        disk.failAt(at, failure)
        await expect(workload(disk, level, 'first'), `operation ${at}`).rejects.toThrow(failure.code)
        disk.kill(seededRandom(at))
        if (step > 0)
          stopped = await stopsDuring(disk, disk.operations + step, 'after', () =>
            workload(disk, level, 'next'),
          )
        disk.crash(seededRandom(`${at} ${step}`), 'all')
        await told(`a failure at ${at}, then the power gone at ${step} of the start`, judge(disk, level))
      }
    }
  },
)

test('J2: what a killed batch left is gone, also if the next batch begins another file', async () => {
  const disk = new MemoryDisk()
  const level = newLevel()
  let eventLog = await EventLog.create(FOLDER, eventLogOnDisk(disk, 10_000))
  await write(eventLog, level, batchOf(0, 'first'))
  await eventLog.append(batchOf(1, 'lost'), true)
  await eventLog.close()
  // As an earlier version with smaller files would have written it.
  eventLog = await EventLog.open(FOLDER, level.validEnd as ValidEnd, eventLogOnDisk(disk, 40))
  await write(eventLog, level, batchOf(2, 'second'))
  expect(level.validEnd?.last).toBe(2)
  await eventLog.close()
  disk.crash(seededRandom('power'), 'all')
  await judge(disk, level)
})
