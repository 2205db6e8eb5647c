// Test: records after the durable mark were not yet promised: whole records are kept, the rest is cut off,
// and the cut is logged.

import { expect, test } from 'vitest'
import { MemoryDisk } from '../memory/index.js'
import { segmentName } from './disk-format.js'
import { appended, entry, listening, modelOf, openWal } from './testing/wal-fixture.js'

const LOG = `/data/wal/${segmentName(1)}`
const MARK = '/data/wal/mark'

interface Torn {
  readonly disk: MemoryDisk
  /** The ends of the records in the file that the old mark does not cover. */
  readonly ends: readonly number[]
  readonly whole: Uint8Array
}

/** A log whose mark is older than its last records, as after a power loss. */
async function makeTorn(): Promise<Torn> {
  const disk = new MemoryDisk()
  const { wal } = await openWal(disk, { segmentBytes: 1e6, growBytes: 16 })
  for (let i = 1; i <= 5; i++) await appended(wal, { entries: [entry(i, 1)] })
  await wal.close()
  const mark = disk.bytes(MARK)
  const ends = [usedBytes(disk)]
  const again = await openWal(disk, { segmentBytes: 1e6, growBytes: 16 })
  for (let i = 6; i <= 9; i++) {
    await appended(again.wal, {
      entries: [entry(i, 1, 'x'.repeat(30 * i))],
      hardState: { term: i, vote: 'a' },
    })
    ends.push(usedBytes(disk))
  }
  await again.wal.close()
  disk.put(MARK, mark)
  return { disk, ends, whole: disk.bytes(LOG) }
}

/** The length without the zeros at the end: no record in these tests ends with a zero. */
function usedBytes(disk: MemoryDisk): number {
  const bytes = disk.bytes(LOG)
  let end = bytes.length
  while (bytes[end - 1] === 0) end--
  return end
}

test('D1: cut at every byte behind the mark, all whole records are there, and the log goes on', async () => {
  const { disk, ends, whole } = await makeTorn()
  const image = disk.image()
  for (let length = ends[0] as number; length <= (ends.at(-1) as number); length++) {
    disk.restore(image)
    disk.put(LOG, whole.subarray(0, length))
    const logger = listening()
    const { wal, recovered } = await openWal(disk, { logger })
    const kept = 5 + ends.slice(1).filter((end) => end <= length).length
    expect(recovered.entries.at(-1)?.index, `cut at ${length}`).toBe(kept)
    expect(recovered.hardState.term).toBe(kept === 5 ? 0 : kept)
    expect(logger.warnings.length, `cut at ${length}`).toBe(ends.includes(length) ? 0 : 1)
    await appended(wal, { entries: [entry(kept + 1, 20, 'after the cut')] })
    await wal.close()
    const again = await openWal(disk)
    expect(again.recovered.entries.length).toBe(kept + 1)
    await again.wal.close()
  }
})

test('D1 D9: a flip at every bit behind the mark leaves the records before it', async () => {
  const { disk, ends } = await makeTorn()
  const image = disk.image()
  for (let bit = (ends[0] as number) * 8; bit < (ends.at(-1) as number) * 8; bit += 3) {
    disk.restore(image)
    disk.flipBit(LOG, bit)
    const { wal, recovered } = await openWal(disk)
    const kept = 5 + ends.slice(1).filter((end) => end * 8 <= bit).length
    expect(recovered.entries.length, `bit ${bit}`).toBe(kept)
    await wal.close()
  }
})

test('D9: a record that is whole behind one that is not does not count, also not after the next crash', async () => {
  const { disk, ends, whole } = await makeTorn()
  const holed = whole.slice()
  holed.fill(0, ends[1], ends[2])
  disk.put(LOG, holed)
  const logger = listening()
  const { wal, recovered } = await openWal(disk, { logger })
  expect(recovered.entries.length).toBe(6)
  expect(logger.warnings[0]?.fields).toMatchObject({ file: segmentName(1), offset: ends[1] })
  await wal.close()
  expect(usedBytes(disk)).toBe(ends[1])
})

test('D9: a whole record of an earlier life, at its very place, does not count: the chain tells', async () => {
  const lives: { disk: MemoryDisk; ends: number[] }[] = []
  for (const second of ['one way', 'another']) {
    const disk = new MemoryDisk()
    const ends: number[] = []
    const { wal } = await openWal(disk, { segmentBytes: 1e6, growBytes: 16 })
    for (const text of ['first', second.padEnd(9, '.'), 'the same in both lives']) {
      await appended(wal, { entries: [entry(ends.length + 1, 1, text)] })
      ends.push(usedBytes(disk))
    }
    lives.push({ disk, ends })
  }
  const [old, now] = lives as [(typeof lives)[0], (typeof lives)[0]]
  expect(old.ends).toEqual(now.ends)
  // After the restart the power fails while the third record is written at the place where an old record
  // still is.
  const bytes = now.disk.bytes(LOG)
  bytes.set(old.disk.bytes(LOG).subarray(old.ends[1]), old.ends[1])
  const fresh = new MemoryDisk()
  await (await openWal(fresh)).wal.close()
  now.disk.put(LOG, bytes)
  now.disk.put(MARK, fresh.bytes(MARK))
  const { recovered } = await openWal(now.disk)
  expect(recovered.entries.map(({ data }) => Buffer.from(data).toString())).toEqual(['first', 'another..'])
})

test('D15: zeros are no record: any length of them behind the end is the end', async () => {
  const { disk, ends, whole } = await makeTorn()
  for (const zeros of [0, 1, 3, 4, 8, 31, 32, 33, 100, 5000, 300_000]) {
    const padded = new Uint8Array((ends.at(-1) as number) + zeros)
    padded.set(whole.subarray(0, ends.at(-1)))
    disk.put(LOG, padded)
    const logger = listening()
    const { wal, recovered } = await openWal(disk, { logger })
    expect(recovered.entries.length).toBe(9)
    expect(logger.warnings).toEqual([])
    await wal.close()
  }
})

test('D15: zeros where the mark promises records are refused', async () => {
  const { disk, ends, whole } = await makeTorn()
  const zeroed = whole.slice()
  zeroed.fill(0, (ends[0] as number) - 40)
  disk.put(LOG, zeroed)
  await expect(openWal(disk)).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
})

test('D12: a log rolled back to an older copy, beside a newer mark, is refused; mark and log together are an older log', async () => {
  const disk = new MemoryDisk()
  const { wal } = await openWal(disk)
  await appended(wal, { entries: [entry(1, 1)] })
  await wal.close()
  const yesterday = disk.image()
  const again = await openWal(disk)
  await appended(again.wal, { entries: [entry(2, 1)] })
  await again.wal.close()
  const today = disk.bytes(MARK)
  disk.put(LOG, yesterday.get(LOG) as Uint8Array)
  expect(disk.bytes(MARK)).toEqual(today)
  await expect(openWal(disk)).rejects.toMatchObject({
    code: 'ERR_CORRUPT',
    message: expect.stringContaining('ends before'),
  })
  disk.restore(yesterday)
  // For this member alone the log is valid. Its peers notice the loss, because they know a longer
  // acknowledged log.
  expect(modelOf((await openWal(disk)).recovered).entries.length).toBe(1)
})
