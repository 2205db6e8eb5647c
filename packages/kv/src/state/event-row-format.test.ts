// Test: events in the bytes of their rows: each written event is read again, no other byte changes, and the
// counts are right.

import { type Random, binary, seededRandom } from '@latchkey/base'
import { EVENT, type EventResult, type EventType } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { isIntact } from '../storage/stored-row-checksum.js'
import { eventKey } from '../keyspaces.js'
import { nextRow, valueOf } from './key-value-row-format.js'
import { EventGroup, LEAST, groupSums } from './events-of-sixteen-revisions.js'
import { type Change, GROUP, decodeEvents, encodePiece, eventBytes, writeEvents } from './event-row-format.js'
import { Changes } from './command-event-rows.js'
import { BufferPool } from './buffer-pool.js'
import { RevisionCounts } from './revision-event-counts.js'

const bytes = (random: Random, most: number) =>
  Buffer.from(Array.from({ length: random.between(0, most) }, () => random.between(0, 256)))

const MANY = { events: 1_000, eventBytes: 1e9 }
function changesOf(revision: number, list: readonly Change[]): Changes {
  const changes = new Changes(revision, MANY)
  for (const change of list) changes.add(change)
  return changes
}
const hashOf = (revision: number, list: readonly Change[]): number => changesOf(revision, list).hash

function drawChange(random: Random, revision: number): Change {
  const key = binary(Buffer.concat([bytes(random, random.chance(0.1) ? 300 : 20), Buffer.from('k')]))
  const row = random.chance(0.2) ? null : nextRow(key, revision, bytes(random, 50), undefined)
  const before =
    row !== null && random.chance(0.3) ? null : nextRow(key, revision - 1, bytes(random, 50), undefined)
  const type = row === null ? random.pick<EventType>([1, 2, 3]) : EVENT.put
  return { key, type, row, before }
}

const told = (revision: number, { key, type, row, before }: Change) => [
  revision,
  type,
  key,
  row === null ? null : binary(valueOf(row)),
  before === null ? null : binary(valueOf(before)),
]
const asTold = ([revision, type, key, value, previous]: EventResult) => [
  revision,
  type,
  binary(key),
  value && binary(value),
  previous && binary(previous),
]
const sizeOf = (changes: readonly Change[]) =>
  changes.reduce((sum, { key, row, before }) => sum + eventBytes(key, row, before), 0)

test('a group has every revision that was added, also after it was stored half full and read again', () => {
  const random = seededRandom('groups')
  for (let round = 0; round < 50; round++) {
    const first = GROUP * random.between(1, 1_000)
    const key = eventKey(first, 0)
    const all = new Map<number, Change[]>()
    let group = EventGroup.begin(first, Buffer.alloc(LEAST + random.between(0, 2_000), 0xff))
    for (let revision = first + random.between(0, 4); revision < first + GROUP; revision++) {
      const changes = Array.from({ length: random.between(1, 4) }, () => drawChange(random, revision))
      all.set(revision, changes)
      const at = group.add(revision, changes.length, sizeOf(changes), hashOf(revision, changes), 0)
      writeEvents(group.bytes, at, changes)
      if (!random.chance(0.2)) continue
      const stored = group.value()
      expect(isIntact(key, stored)).toBe(true)
      if (random.chance(0.5)) group = EventGroup.from(first, stored)
    }
    group.close()
    const value = group.value()
    expect(isIntact(key, value)).toBe(true)
    for (const [revision, changes] of all) {
      const found: EventResult[] = []
      decodeEvents(revision, group.events(revision), found)
      expect(found.map(asTold)).toEqual(changes.map((change) => told(revision, change)))
      expect(group.count(revision)).toBe(changes.length)
    }
    const floor = first + random.between(0, GROUP)
    const kept = [...all].filter(([revision]) => revision >= floor)
    expect(groupSums(first, value, floor)).toEqual({
      hashes: kept.map(([revision, changes]) => hashOf(revision, changes)),
      pieces: 0,
    })
  }
})

test('a row that was stored half full does not change when more revisions are added', () => {
  const random = seededRandom('half way')
  const group = EventGroup.begin(0, Buffer.alloc(4_000, 0xff))
  for (let revision = 0; revision < GROUP; revision++) {
    const changes = [drawChange(random, revision)]
    const stored = group.value()
    const before = Buffer.from(stored)
    writeEvents(group.bytes, group.add(revision, 1, sizeOf(changes), 1, 0), changes)
    group.value()
    expect(Buffer.from(stored).equals(before), `revision ${revision}`).toBe(true)
  }
})

test('the pieces of a large revision hold its events, and no event is split', () => {
  const random = seededRandom('pieces')
  const large = (key: string): Change => ({
    key,
    type: EVENT.put,
    row: nextRow(key, 9, bytes(random, 90_000), undefined),
    before: null,
  })
  const changes = Array.from({ length: 40 }, (_, i) => large(`k${i}`))
  const made = changesOf(9, changes)
  made.closePiece()
  const { pieces } = made
  expect(pieces.length).toBeGreaterThan(3)
  const found: EventResult[] = []
  for (const parts of pieces) decodeEvents(9, Buffer.concat(parts).subarray(4), found)
  expect(found.map(asTold)).toEqual(changes.map((change) => told(9, change)))
})

test('the large values of an event are not copied', () => {
  const before = nextRow('k', 8, Buffer.alloc(200_000, 'b'), undefined)
  const row = nextRow('k', 9, Buffer.alloc(100_000, 'a'), before)
  const parts = encodePiece([{ key: 'k', type: EVENT.put, row, before }])
  const copied = parts.filter(({ buffer }) => buffer !== row.buffer && buffer !== before.buffer)
  expect(copied.reduce((sum, part) => sum + part.length, 0)).toBeLessThan(100)
  const found: EventResult[] = []
  decodeEvents(9, Buffer.concat(parts).subarray(4), found)
  expect(found.map(asTold)).toEqual([told(9, { key: 'k', type: EVENT.put, row, before })])
})

test('a hash depends on the revision, on each row before and after its change, and on their order', () => {
  const row = (text: string) => nextRow('k', 7, Buffer.from(text), undefined)
  const one: Change = { key: 'k', type: EVENT.put, row: row('a'), before: row('b') }
  const two: Change = { key: 'k', type: EVENT.put, row: row('c'), before: null }
  const hashes = [
    hashOf(7, [one]),
    hashOf(8, [one]),
    hashOf(7, [{ ...one, row: row('x') }]),
    hashOf(7, [{ ...one, before: row('x') }]),
    hashOf(7, [{ ...one, type: EVENT.delete, row: null }]),
    hashOf(7, [{ ...one, type: EVENT.expired, row: null }]),
    hashOf(7, [{ ...one, type: EVENT.session, row: null }]),
    hashOf(7, [{ ...one, before: null }]),
    hashOf(7, [{ key: 'k', type: EVENT.put, row: one.before, before: one.row }]),
    hashOf(7, [one, two]),
    hashOf(7, [two, one]),
  ]
  expect(new Set(hashes).size).toBe(hashes.length)
})

test('the counts of a revision are those that were noted, or not known', () => {
  const revisionCounts = new RevisionCounts()
  const of = (revision: number) =>
    revisionCounts.count(revision) === 0
      ? undefined
      : [revisionCounts.size(revision), revisionCounts.hash(revision)]
  const far = 2 ** 40 + 5
  for (let i = 0; i < 5_000; i++) {
    revisionCounts.note(far + i, 1 + (i % 300), i, i * 7, i % 10 === 0 ? 1 : 0)
    if (i > 3_000) revisionCounts.forget(far + i - 3_000)
  }
  for (let i = 0; i < 5_000; i++) {
    const silent = i < 1_999 || i % 10 === 0 || 1 + (i % 300) > 255
    expect(of(far + i), `${i}`).toEqual(silent ? undefined : [i, i * 7])
  }
  expect(of(far + 5_000)).toBeUndefined()
  revisionCounts.forget(far + 6_000)
  revisionCounts.note(far + 6_000, 1, 2, 3, 0)
  expect([of(far + 4_999), of(far + 6_000)]).toEqual([undefined, [2, 3]])
})

test('pooled buffers have the requested size, and no more are kept than were taken between two batches', () => {
  const spare = new BufferPool()
  const taken = Array.from({ length: 10 }, () => spare.take(1_000))
  spare.trim()
  for (const buffer of taken) spare.give(buffer)
  expect(taken).toContain(spare.take(900))
  expect(taken).not.toContain(spare.take(1_001))
  expect(taken).not.toContain(spare.take(200))
  spare.trim()
  expect(spare.size).toBe(3)
  spare.trim()
  expect(spare.size).toBe(0)
})
