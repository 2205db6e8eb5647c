// Test: flipped bits, truncated or missing files, and sectors that land in the wrong place. Damage before the
// mark is refused with its place. Damage after the mark is cut, and the log before it stays. A log that is
// shorter or other than promised is never opened.
//
// Every flip and truncation is tried on the record that it hits, because reading the log leads to that
// record. A part of them is also tried on the whole log from its first byte; with LATCHKEY_FULL_SWEEP=1 all
// of them, which takes minutes.

import { asBuffer, seededRandom } from '@latchkey/base'
import { beforeAll, describe, expect, test } from 'vitest'
import { MemoryDisk } from '../memory/index.js'
import { readRecord } from './record-decoder.js'
import { PREAMBLE_BYTES, segmentName } from './disk-format.js'
import { type DurableMark, readMark } from './durable-mark-slot.js'
import { readPreamble } from './segment-preamble.js'
import { Reading } from './segments-reader.js'
import { decide, type Verdict } from './recovery-table.js'
import { appended, entry, openWal } from './testing/wal-fixture.js'

const SIZE = 64 * 1024
const FULL = process.env['LATCHKEY_FULL_SWEEP'] === '1'
const path = (number: number) => `/data/wal/${segmentName(number)}`

interface Layout {
  readonly name: string
  readonly entryBytes: number
  readonly segmentBytes: number
}

const LAYOUTS: readonly Layout[] = [
  { name: 'small records, one segment', entryBytes: 40, segmentBytes: 2 * SIZE },
  { name: 'big records, one segment', entryBytes: 3000, segmentBytes: 2 * SIZE },
  { name: 'middling records, four segments', entryBytes: 500, segmentBytes: SIZE / 4 },
]

/** A log of at least 64 KiB that was closed normally. */
async function makeLog({ entryBytes, segmentBytes }: Layout): Promise<MemoryDisk> {
  const random = seededRandom(entryBytes)
  const disk = new MemoryDisk()
  const { wal } = await openWal(disk, { segmentBytes, growBytes: 64 })
  const size = () => logs(disk).reduce((sum, one) => sum + disk.bytes(one).length, 0)
  for (let i = 1; size() < SIZE; i++) {
    await appended(wal, {
      entries: [entry(i, 1, String(random.next()).repeat(entryBytes / 9))],
      hardState: i % 7 === 0 ? { term: 1, vote: 'b' } : undefined,
    })
  }
  await wal.close()
  return disk
}

const logs = (disk: MemoryDisk): string[] => disk.paths().filter((one) => one.endsWith('.wal'))

function markOf(disk: MemoryDisk): DurableMark {
  const read = readMark(disk.bytes('/data/wal/mark'))
  if (read.type !== 'mark') throw new Error('no mark')
  return read.mark
}

interface Spot {
  readonly at: number
  readonly end: number
  readonly offset: number
  readonly previous: number
}

/** The places of the records in a segment. */
function spots(bytes: Uint8Array): Spot[] {
  const buffer = asBuffer(bytes)
  const preamble = readPreamble(buffer)
  if (preamble.type !== 'preamble') throw new Error('no preamble')
  const found: Spot[] = []
  let previous = preamble.checksum
  for (let at = PREAMBLE_BYTES; ; ) {
    const offset = preamble.preamble.base + at
    const read = readRecord(buffer, at, { group: 0, offset, previous })
    if (read.type !== 'record') return found
    found.push({ at, end: read.end, offset, previous })
    previous = read.checksum
    at = read.end
  }
}

function flip(bytes: Uint8Array, bit: number): void {
  bytes[bit >>> 3] = (bytes[bit >>> 3] as number) ^ (1 << (bit & 7))
}

/** The decision of recovery about these segments, read from the first byte. */
function verdictOf(mark: DurableMark, segments: readonly (readonly [number, Uint8Array])[]): Verdict {
  const reading = new Reading(mark)
  const stop = segments.findIndex(([number, bytes]) => !reading.feed(number, bytes))
  const place = stop === -1 || stop === segments.length - 1 ? 'last' : 'earlier'
  const log = segments.length === 0 ? 'none' : 'some'
  return decide({
    mark: 'readable',
    log,
    stop: reading.stopped?.type ?? 'whole',
    place,
    promised: reading.promised(),
  })
}

const REFUSED: readonly Verdict[] = ['damaged', 'foreign', 'newer', 'gap', 'too-short']
const refused = (verdict: Verdict) => REFUSED.includes(verdict)

describe.each(LAYOUTS)('$name', (layout) => {
  let disk: MemoryDisk
  let mark: DurableMark
  let segments: (readonly [number, Uint8Array])[]
  beforeAll(async () => {
    disk = await makeLog(layout)
    mark = markOf(disk)
    segments = logs(disk).map((one) => [Number(one.slice(-14, -4)), disk.bytes(one)] as const)
  })

  test('the log as it is opens', () => {
    expect(verdictOf(mark, segments)).toBe('open')
    expect(segments.length).toBe(layout.segmentBytes < SIZE ? segments.length : 1)
    expect(segments.reduce((sum, [, bytes]) => sum + bytes.length, 0)).toBeGreaterThanOrEqual(SIZE)
  })

  test('D2: every bit of 64 KiB flipped is found in the record or the preamble that it hit', () => {
    let flips = 0
    for (const [, bytes] of segments) {
      const buffer = asBuffer(bytes)
      for (let bit = 0; bit < PREAMBLE_BYTES * 8; bit++, flips++) {
        flip(bytes, bit)
        if (readPreamble(buffer).type !== 'damaged') throw new Error(`bit ${bit} of the preamble passes`)
        flip(bytes, bit)
      }
      for (const { at, end, ...expected } of spots(bytes)) {
        for (let bit = at * 8; bit < end * 8; bit++, flips++) {
          flip(bytes, bit)
          if (readRecord(buffer, at, { group: 0, ...expected }).type !== 'damaged')
            throw new Error(`bit ${bit} passes`)
          flip(bytes, bit)
        }
      }
    }
    expect(flips).toBeGreaterThan(SIZE * 8 * 0.99)
  })

  test('D2: a flip before the mark is refused, read from the first byte', () => {
    const stride = FULL ? 1 : 401
    for (const [number, bytes] of segments) {
      const used = (spots(bytes).at(-1) as Spot).end * 8
      for (let bit = 0; bit < used; bit += stride) {
        flip(bytes, bit)
        const verdict = verdictOf(mark, segments)
        if (!refused(verdict)) throw new Error(`bit ${bit} of segment ${number}: ${verdict}`)
        flip(bytes, bit)
      }
    }
  }, 300_000)

  test('D2: every truncation cuts the record that it hits, so that no part of it counts', () => {
    for (const [, bytes] of segments) {
      for (const { at, end, ...expected } of spots(bytes)) {
        for (let length = at; length < end; length++) {
          const read = readRecord(asBuffer(bytes.subarray(0, length)), at, { group: 0, ...expected })
          if (read.type === 'record')
            throw new Error(`a record cut from ${end - at} to ${length - at} passes`)
        }
      }
    }
  })

  test('D2: a truncation before the mark is refused, read from the first byte; behind it nothing changes', () => {
    for (const [i, [number, bytes]] of segments.entries()) {
      const ends = spots(bytes).map(({ end }) => end)
      const used = ends.at(-1) as number
      const rest = segments.slice(i + 1)
      const mine = { ...mark, first: number }
      for (let length = 0; length <= bytes.length; length++) {
        if (!FULL && length % 61 !== 0 && !ends.includes(length) && length < used) continue
        const verdict = verdictOf(mine, [[number, bytes.subarray(0, length)], ...rest])
        const wanted = length < used ? refused(verdict) : verdict === 'open'
        if (!wanted) throw new Error(`segment ${number} cut to ${length} of ${used}: ${verdict}`)
      }
    }
  }, 300_000)

  test('D2: many random bytes at once are refused too', () => {
    const random = seededRandom('many bytes')
    for (let round = 0; round < 400; round++) {
      const [number, bytes] = random.pick(segments)
      const used = (spots(bytes).at(-1) as Spot).end
      const from = random.between(0, used - 1)
      const before = bytes.slice(from, Math.min(used, from + random.between(1, 64)))
      for (let i = 0; i < before.length; i++) bytes[from + i] = random.between(0, 256)
      const same = asBuffer(bytes).compare(before, 0, before.length, from, from + before.length) === 0
      const verdict = verdictOf(mark, segments)
      if (!same && !refused(verdict))
        throw new Error(`${before.length} bytes at ${from} of ${number}: ${verdict}`)
      bytes.set(before, from)
    }
  })

  test('D2: the log itself, opened after a flip, says file and offset and what to do next', async () => {
    const random = seededRandom('a few flips')
    const image = disk.image()
    for (let round = 0; round < 40; round++) {
      const [number, bytes] = random.pick(segments)
      const bit = random.between(0, (spots(bytes).at(-1) as Spot).end * 8)
      disk.flipBit(path(number), bit)
      const before = disk.operations
      await expect(openWal(disk)).rejects.toMatchObject({
        code: 'ERR_CORRUPT',
        message: expect.stringMatching(
          /^log-\d{10}\.wal at offset \d+: .*Restore .* or remove this member .* join again/,
        ),
      })
      expect(disk.operations, 'a refusal writes nothing').toBe(before)
      disk.restore(image)
    }
  })
})
