// Test: the bytes of the log on the disk, as docs/disk.md describes them. If a change here is necessary,
// change VERSION too.

import { checksum } from '@latchkey/base'
import { expect, test } from 'vitest'
import { MemoryDisk } from '../memory/index.js'
import { segmentName, segmentNumber, VERSION } from './disk-format.js'
import { appended, entry, members, openWal } from './testing/wal-fixture.js'

/** The crc32 of member id, zero, incarnation, computed with another program. */
const OWNER = 'aa7815be'
const PREAMBLE = `4c415443484c4f47 01000000 09000000 ${OWNER} ${OWNER} 0100000000000000 0000000000000000 00000000`

const hex = (bytes: Uint8Array, from: number, to: number) =>
  Buffer.from(bytes.subarray(from, to)).toString('hex')
const plain = (text: string) => text.replaceAll(/\s/g, '')

async function makeSegment(): Promise<{ bytes: Buffer; turns: number[] }> {
  const disk = new MemoryDisk()
  const codec = { encode: () => Buffer.from('MMM'), decode: () => members() }
  const { wal } = await openWal(disk, { group: 9, membership: codec, segmentBytes: 1e6, growBytes: 1 })
  const path = `/data/wal/${segmentName(1)}`
  const turns = [disk.bytes(path).length]
  await appended(wal, {
    truncateFrom: 1,
    entries: [{ ...entry(1, 3, 'D'), time: 2.5 }],
    hardState: { term: 3, vote: 'bé' },
  })
  turns.push(disk.bytes(path).length)
  await appended(wal, { hardState: { term: 4, vote: undefined } })
  const position = { index: 2 ** 40, term: 4, time: 1 }
  turns.push(disk.bytes(path).length)
  await appended(wal, { restartAfter: { position, membership: members() } })
  await wal.close()
  return { bytes: Buffer.from(disk.bytes(path)), turns }
}

test('version 1: preamble and head', async () => {
  const { bytes } = await makeSegment()
  expect(VERSION).toBe(1)
  expect(hex(bytes, 0, 44)).toBe(plain(PREAMBLE))
  expect(bytes.readUInt32LE(44)).toBe(checksum(bytes.subarray(0, 44)))
  const length = bytes.readUInt32LE(52)
  expect(hex(bytes, 52, 48 + length)).toBe(
    plain(
      `62000000 09000000 01 1a 0000 3000000000000000 0000000000000000
      0000000000000000 0000000000000000 0000000000000000 03000000 4d4d4d
      0000000000000000 ffffffff
      00000000 01000000 61 0a000000 6669727374206c696665`,
    ),
  )
  expect(bytes.readUInt32LE(48)).toBe(checksum(bytes.subarray(52, 48 + length), bytes.readUInt32LE(44)))
})

test('version 1: a turn with everything in it, one with a vote taken back, and a restart', async () => {
  const { bytes, turns } = await makeSegment()
  const [one, two, three] = turns as [number, number, number]
  const offset = (at: number) => Buffer.from(new BigUint64Array([BigInt(at)]).buffer).toString('hex')
  expect(hex(bytes, one + 4, two)).toBe(
    plain(
      `5c000000 09000000 02 0d 0000 ${offset(one)} 0100000000000000 0100000000000000
      0100000000000000 01000000 0300000000000000 0000000000000440 01000000 02000000 44
      0300000000000000 03000000 62c3a9`,
    ),
  )
  expect(hex(bytes, two + 4, three)).toBe(
    plain(`2c000000 09000000 02 08 0000 ${offset(two)} 0100000000000000 0400000000000000 ffffffff`),
  )
  expect(hex(bytes, three + 4, three + 63)).toBe(
    plain(
      `3f000000 09000000 02 02 0000 ${offset(three)} 0000000000010000
      0000000000010000 0400000000000000 000000000000f03f 03000000 4d4d4d`,
    ),
  )
  expect(bytes.readUInt32LE(two)).toBe(checksum(bytes.subarray(two + 4, three), bytes.readUInt32LE(one)))
})

test('names of segments: ten digits, more when needed, and nothing else is one', () => {
  for (const number of [1, 42, 9_999_999_999, 12_345_678_901])
    expect(segmentNumber(segmentName(number))).toBe(number)
  for (const name of [
    'mark',
    'log-1.wal',
    'log-0000000001.wal.x',
    'log-00000000001.wal',
    'xlog-0000000001.wal',
  ]) {
    expect(segmentNumber(name)).toBe(undefined)
  }
})
