// Test: valid bytes in the wrong place, and segment files that are missing, added, or written by another
// member.

import { asBuffer, checksum } from '@latchkey/base'
import { beforeEach, expect, test } from 'vitest'
import { MemoryDisk } from '../memory/index.js'
import { putU64 } from './little-endian-bytes.js'
import { readRecord } from './record-decoder.js'
import { putRecord, recordBytes } from './record-encoder.js'
import { MARK_SLOT_AT, PREAMBLE_BYTES, segmentName, TURN, VERSION } from './disk-format.js'
import { putMark, readMark } from './durable-mark-slot.js'
import { NOTHING } from './log-record-in-memory.js'
import { appended, entry, openWal } from './testing/wal-fixture.js'

const path = (name: string) => `/data/wal/${name}`
const MARK = path('mark')
let disk: MemoryDisk
let names: string[]

/** A log of several segments; the first ones were removed by compaction. */
beforeEach(async () => {
  disk = new MemoryDisk()
  const { wal } = await openWal(disk)
  for (let i = 1; i <= 60; i++) await appended(wal, { entries: [entry(i, 1, 'same length '.repeat(20))] })
  wal.compact(15)
  await wal.close()
  names = disk
    .paths()
    .filter((one) => one.endsWith('.wal'))
    .map((one) => one.slice('/data/wal/'.length))
})

const refuses = (code: string, text: RegExp | string = '') =>
  expect(openWal(disk)).rejects.toMatchObject({ code, message: expect.stringMatching(text) })

test('the log opens as it is', async () => {
  const { recovered } = await openWal(disk)
  expect(recovered.entries.at(-1)?.index).toBe(60)
  expect(recovered.start.position.index).toBeGreaterThan(0)
  expect(names.length).toBeGreaterThan(4)
})

test('D10: a record that landed at another place of the same log is refused', async () => {
  const name = names[1] as string
  const bytes = disk.bytes(path(name))
  const length = asBuffer(bytes).readUInt32LE(PREAMBLE_BYTES + 4)
  const first = PREAMBLE_BYTES + length
  const size = asBuffer(bytes).readUInt32LE(first + 4)
  bytes.copyWithin(first + size, first, first + size)
  disk.put(path(name), bytes)
  await refuses('ERR_CORRUPT', name)
})

test('D10: a sector of the segment before, at the same place, is refused', async () => {
  const other = disk.bytes(path(names[1] as string))
  const bytes = disk.bytes(path(names[2] as string))
  bytes.set(other.subarray(512, 1024), 512)
  disk.put(path(names[2] as string), bytes)
  await refuses('ERR_CORRUPT', names[2])
})

test("D10: two segments under each other's name are refused", async () => {
  const [one, two] = [disk.bytes(path(names[1] as string)), disk.bytes(path(names[2] as string))]
  disk.put(path(names[1] as string), two)
  disk.put(path(names[2] as string), one)
  await refuses('ERR_CORRUPT', /under another's name/)
})

test('D10: a record whose checksum is right at its place says itself that it belongs elsewhere', () => {
  const place = { group: 1, offset: 4096, previous: 77, lastIndex: 4 }
  const turn = { ...NOTHING, entries: [entry(5, 1)] }
  const buffer = Buffer.alloc(recordBytes(turn))
  putRecord(buffer, 0, TURN, turn, place)
  const read = (expected: Partial<typeof place>) => readRecord(buffer, 0, { ...place, ...expected })
  expect(read({})).toMatchObject({ type: 'record', lastIndex: 5 })
  expect(read({ offset: 8192 })).toEqual({ type: 'damaged', reason: 'a record of another place' })
  expect(read({ group: 2 })).toEqual({ type: 'damaged', reason: 'a record of another group' })
  expect(read({ previous: 78 })).toEqual({ type: 'damaged', reason: 'a checksum that does not match' })
})

test('D10 D12: a segment of another life of this very log does not continue it', async () => {
  const live = async (text: string) => {
    const one = new MemoryDisk()
    const { wal } = await openWal(one)
    for (let i = 1; i <= 12; i++) await appended(wal, { entries: [entry(i, 1, text.repeat(40))] })
    await wal.close()
    return one
  }
  const [one, two] = [await live('one life! '), await live('another.. ')]
  one.put(path(segmentName(1)), two.bytes(path(segmentName(1))))
  disk = one
  await refuses('ERR_CORRUPT', /does not continue the one before/)
})

test.each([
  ['the first', 0],
  ['one in the middle', 2],
  ['the last', -1],
])('D2: a segment that is gone is refused: %s', async (_which, at) => {
  disk.drop(path(names.at(at) as string))
  await refuses('ERR_CORRUPT')
})

test('D2: all segments gone, and the mark there: refused', async () => {
  for (const name of names) disk.drop(path(name))
  await refuses('ERR_CORRUPT', /^log-\d+\.wal at offset 0: the log is missing/)
})

test('D3: one bad slot of the mark is survived, two are not; nor is a mark that is gone', async () => {
  const good = disk.bytes(MARK)
  for (const slot of [0, 1] as const) {
    const one = good.slice()
    one.fill(0xff, MARK_SLOT_AT[slot], MARK_SLOT_AT[slot] + 64)
    disk.put(MARK, one)
    const { wal, recovered } = await openWal(disk)
    expect(recovered.entries.at(-1)?.index).toBe(60)
    await wal.close()
  }
  const bad = good.slice()
  for (const at of MARK_SLOT_AT) bad[at + 33] = (bad[at + 33] as number) ^ 4
  disk.put(MARK, bad)
  await refuses('ERR_CORRUPT', /^mark at offset 0: both copies/)
  disk.put(MARK, new Uint8Array(0))
  await refuses('ERR_CORRUPT', /both copies/)
  disk.drop(MARK)
  await refuses('ERR_CORRUPT', /mark of this log is missing/)
})

test('D3: every bit of the mark flipped: the other slot counts, and says the same after a close', async () => {
  const good = disk.bytes(MARK)
  const whole = readMark(good)
  for (const at of MARK_SLOT_AT) {
    for (let bit = 0; bit < 64 * 8; bit++) {
      const bytes = good.slice()
      bytes[at + (bit >>> 3)] = (bytes[at + (bit >>> 3)] as number) ^ (1 << (bit & 7))
      const read = readMark(bytes)
      if (read.type !== 'mark' || whole.type !== 'mark') throw new Error('no mark')
      expect(read.mark.reach).toBe(whole.mark.reach)
      expect(read.mark.first).toBe(whole.mark.first)
    }
  }
})

test('a segment of another member or group between ours is refused', async () => {
  for (const more of [{ memberId: 'b' }, { incarnation: 'another' }, { group: 7 }]) {
    const other = new MemoryDisk()
    const { wal } = await openWal(other, more)
    for (let i = 1; i <= 60; i++) await appended(wal, { entries: [entry(i, 1, 'same length '.repeat(20))] })
    await wal.close()
    const mine = disk.bytes(path(names[1] as string))
    disk.put(path(names[1] as string), other.bytes(path(names[1] as string)))
    await refuses('ERR_CORRUPT', /another group or member/)
    disk.put(path(names[1] as string), mine)
  }
})

test('a folder of another member or group is refused as such', async () => {
  await expect(openWal(disk, { memberId: 'b' })).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  await expect(openWal(disk, { group: 3 })).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
})

test('a later format version is refused with its own error, in a segment and in the mark', async () => {
  const name = names.at(-1) as string
  const bytes = disk.bytes(path(name))
  const buffer = asBuffer(bytes)
  buffer.writeUInt32LE(VERSION + 1, 8)
  buffer.writeUInt32LE(checksum(buffer.subarray(0, 44)), 44)
  const mine = disk.bytes(path(name))
  disk.put(path(name), bytes)
  await refuses('ERR_PROTOCOL', /format version 2 was written by a later version/)
  disk.put(path(name), mine)
  const mark = disk.bytes(MARK)
  asBuffer(mark).writeUInt32LE(VERSION + 1, 8)
  asBuffer(mark).writeUInt32LE(checksum(mark.subarray(0, 60)), 60)
  disk.put(MARK, mark)
  await refuses('ERR_PROTOCOL', /^mark at offset 0/)
})

test('a mark whose promise does not fit the log is refused', async () => {
  const read = readMark(disk.bytes(MARK))
  if (read.type !== 'mark') throw new Error('no mark')
  const bytes = Buffer.alloc(8192)
  for (const at of MARK_SLOT_AT) putMark(bytes, at, { ...read.mark, checksum: 1 })
  disk.put(MARK, bytes)
  await refuses('ERR_CORRUPT', /not the one the mark was made for/)
  for (const at of MARK_SLOT_AT) putMark(bytes, at, { ...read.mark, reach: read.mark.reach - 1 })
  disk.put(MARK, bytes)
  await refuses('ERR_CORRUPT')
})

test("segments before the mark's first one are leftovers of a compaction, and go", async () => {
  disk.put(path(segmentName(1)), Buffer.from('anything'))
  const { wal, recovered } = await openWal(disk)
  expect(recovered.entries.at(-1)?.index).toBe(60)
  expect(disk.paths()).not.toContain(path(segmentName(1)))
  await wal.close()
})

test('numbers are written and read back as they are, and unsafe ones are noticed', () => {
  const buffer = Buffer.alloc(8)
  for (const value of [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 48 + 5, Number.MAX_SAFE_INTEGER]) {
    putU64(buffer, 0, value)
    expect(Number(buffer.readBigUInt64LE(0))).toBe(value)
  }
})
