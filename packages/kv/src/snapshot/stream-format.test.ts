// Test: each check of a received state: the test sends complete states that have exactly one mistake.

import { pack } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { META_KEY, SPACE, eventKey, keyOf } from '../keyspaces.js'
import type { Row } from '../storage/row-store-interface.js'
import { setChecksum, withChecksum, storedChecksum } from '../storage/stored-row-checksum.js'
import { nextRow } from '../state/key-value-row-format.js'
import { EventGroup, LEAST } from '../state/events-of-sixteen-revisions.js'
import {
  type Change,
  encodePiece,
  eventBytes,
  firstHash,
  hashWith,
  writeEvents,
} from '../state/event-row-format.js'
import { type Meta, emptyMeta, encodeMeta } from '../state/meta-row.js'
import { StateStream } from './received-state-check.js'
import { FrameWriter, PREAMBLE } from './stream-format.js'

const rowWith = (key: Uint8Array, body: Uint8Array): Row => ({ key, value: withChecksum(key, body) })
const data = (name: string, body = 'value'): Row => ({
  key: keyOf(SPACE.data, Buffer.from(name)),
  value: nextRow(name, 1, Buffer.from(body), undefined),
})

/** Revision 1 is small; revision 2 is large and has a row of its own. */
function events(): { rows: Row[]; hashes: number[] } {
  const small: Change & { row: Uint8Array } = {
    key: 'a',
    type: 0,
    row: nextRow('a', 1, Buffer.from('1'), undefined),
    before: null,
  }
  const large: Change & { row: Uint8Array } = {
    key: 'a',
    type: 0,
    row: nextRow('a', 2, Buffer.alloc(9_000), small.row),
    before: small.row,
  }
  const hashes = [hashWith(firstHash(1), small), hashWith(firstHash(2), large)] as const
  const group = EventGroup.begin(0, Buffer.alloc(LEAST))
  const at = group.add(1, 1, eventBytes('a', small.row, null), hashes[0], 0)
  writeEvents(group.bytes, at, [small])
  group.add(2, 1, eventBytes('a', large.row, small.row), hashes[1], 1)
  const piece = Buffer.concat(encodePiece([large]))
  setChecksum(eventKey(2, 1), piece)
  return {
    rows: [
      { key: eventKey(0, 0), value: group.value() },
      { key: eventKey(2, 1), value: piece },
    ],
    hashes: [...hashes],
  }
}

function good(): { meta: Meta; rows: Row[] } {
  const meta = emptyMeta()
  const rows = [data('a'), data('b')]
  for (const { value } of rows) meta.sums.data.add(storedChecksum(value))
  const { rows: eventRows, hashes } = events()
  for (const hash of hashes) meta.sums.events.add(hash)
  return { meta, rows: [...rows, ...eventRows] }
}

function streamOf(meta: Meta, rows: readonly Row[], count = rows.length): Buffer {
  const writer = new FrameWriter()
  return Buffer.concat([PREAMBLE, writer.meta(encodeMeta(meta)), writer.rows(rows), writer.end(count)])
}
const take = (bytes: Uint8Array) => {
  const stream = new StateStream()
  stream.push(bytes)
  return stream.finish()
}

test('a stream without a fault is accepted', () => {
  const { meta, rows } = good()
  expect(take(streamOf(meta, rows)).position).toEqual(meta.position)
})

describe('S14: one fault in the stream, while every checksum is right', () => {
  const wrongs: [string, (rows: Row[], meta: Meta) => Buffer][] = [
    ['a missing row', (rows, meta) => streamOf(meta, rows.slice(1))],
    ['a missing row of events', (rows, meta) => streamOf(meta, [...rows.slice(0, 2), ...rows.slice(3)])],
    ['a missing piece', (rows, meta) => streamOf(meta, rows.slice(0, 3))],
    ['a row that comes twice', (rows, meta) => streamOf(meta, [rows[0] as Row, ...rows])],
    ['rows out of order', (rows, meta) => streamOf(meta, [rows[1], rows[0], ...rows.slice(2)] as Row[])],
    ['a wrong count', (rows, meta) => streamOf(meta, rows, rows.length + 1)],
    ['an additional row', (rows, meta) => streamOf(meta, [rows[0], data('aa'), ...rows.slice(1)] as Row[])],
    [
      'a row of an unknown space',
      (rows, meta) => streamOf(meta, [rowWith(Buffer.from('Z'), Buffer.from('x')), ...rows]),
    ],
    ['a meta row among the rows', (rows, meta) => streamOf(meta, [...rows, rowWith(META_KEY, pack([1]))])],
    [
      'a row with a key that is reserved for the driver',
      (rows, meta) => streamOf(meta, [rowWith(Uint8Array.of(0, 1), Buffer.from('x')), ...rows]),
    ],
  ]
  test.each(wrongs)('%s', (_, make) => {
    const { meta, rows } = good()
    expect(() => take(make(rows, meta))).toThrow(expect.objectContaining({ code: 'ERR_CORRUPT' }))
  })

  test('a row with a wrong checksum, in a space that no sum covers', () => {
    const { meta, rows } = good()
    const counter = { key: keyOf(SPACE.waiters, Buffer.alloc(6)), value: Buffer.from('no checksum') }
    expect(() => take(streamOf(meta, [...rows, counter]))).toThrow('a row of waiters')
  })

  test('any changed byte, also of a checksum; any cut; any bytes after the end', () => {
    const { meta, rows } = good()
    const bytes = streamOf(meta, rows)
    for (let at = 0; at < bytes.length; at += at < 600 || at > bytes.length - 200 ? 1 : 37) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ 0x10
      expect(() => take(changed), `byte ${at}`).toThrow(expect.objectContaining({ code: 'ERR_CORRUPT' }))
      expect(() => take(bytes.subarray(0, at)), `cut at ${at}`).toThrow(
        expect.objectContaining({ code: 'ERR_CORRUPT' }),
      )
    }
    expect(() => take(Buffer.concat([bytes, Buffer.alloc(9, 1)]))).toThrow(
      expect.objectContaining({ code: 'ERR_CORRUPT' }),
    )
  })
})
