// Test: events are read as they were written, whether they are in memory, in a write, or on the disk.

import { EVENT } from '@latchkey/protocol'
import { binary, seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import type { RowChange, RowStore } from '../storage/row-store-interface.js'
import { wholeValue } from '../storage/join-parts-of-row-value.js'
import { nextRow } from './key-value-row-format.js'
import { GROUP, INLINE_BYTES } from './event-row-format.js'
import { Events } from './key-event-history.js'
import { emptyMeta } from './meta-row.js'

const CAPS = { events: 3_000, eventBytes: 4 * 1024 * 1024 }

/** Events over rows in memory; a batch is in the store only after `end` is called. */
function scene(caps = CAPS) {
  const rows = new Map<string, Buffer>()
  let reads = 0
  const store = {
    get: (key: Uint8Array) => {
      reads++
      const row = rows.get(binary(key))
      return row && Buffer.from(row)
    },
  } as RowStore
  const meta = emptyMeta()
  let events = new Events(meta, store, caps)
  let under: RowChange[] | undefined
  const end = () => {
    for (const change of under ?? []) {
      const value = wholeValue(change)
      if (value === undefined) rows.delete(binary(change.key))
      else rows.set(binary(change.key), Buffer.from(value))
    }
    under = undefined
    events.written()
  }
  return {
    meta,
    rows,
    /** Puts that text at key k. */
    put: (text: string) => {
      meta.revision++
      const row = nextRow('k', meta.revision, Buffer.from(text), undefined)
      events.appendOne({ key: 'k', type: EVENT.put, row, before: null })
    },
    textOf: (revision: number) => {
      const found = events.of(revision)
      if (found.length !== 1 || found[0]?.[0] !== revision) throw new Error(`not the event of ${revision}`)
      return Buffer.from(found[0][3] ?? []).toString()
    },
    begin: () => {
      under = []
      events.collect(under)
    },
    end,
    get reads() {
      return reads
    },
    get busy() {
      return under !== undefined
    },
    /** Restarts the member: everything that is in no batch is lost, and the log applies it again. */
    restart: () => {
      events = new Events(meta, store, caps)
    },
  }
}

const textAt = (revision: number) => `value ${revision}`

// Without it: a member whose history is full reads two old values of 1 MiB from its disk for each put of such
// a value, while everybody waits.
test('events of large values are dropped without reading them, from a batch, from the disk and before both', () => {
  const large = 'x'.repeat(100_000)
  const one = scene({ events: 3_000, eventBytes: 1_000_000 })
  for (let i = 0; i < 8; i++) one.put(large)
  one.begin()
  one.end()
  expect(one.rows.size).toBeGreaterThanOrEqual(8)
  for (let round = 0; round < 6; round++) {
    const before = one.reads
    for (let i = 0; i < 5; i++) one.put(large)
    one.begin()
    for (let i = 0; i < 15; i++) one.put(large)
    one.end()
    expect(one.reads).toBe(before)
    one.begin()
    one.end()
    expect(one.textOf(one.meta.revision)).toBe(large)
  }
  expect(one.meta.events.count).toBe(9)
  expect(one.rows.size).toBeLessThan(15)
})

// Without this law: a watch reads old revisions, and their groups replace one in memory that no batch has
// yet. The next watch that is up to date finds that a row is missing, and the member stops as if its disk
// were damaged.
test('C11: groups that no batch has yet, or that are being written, stay in memory while watches read old revisions', () => {
  const { put, textOf, begin, end, meta } = scene()
  const write = (count: number) => {
    for (let i = 0; i < count; i++) put(textAt(meta.revision + 1))
  }
  const readFarBehind = () => {
    for (let revision = 1; revision <= 60 * GROUP; revision += GROUP)
      expect(textOf(revision)).toBe(textAt(revision))
  }
  write(100 * GROUP)
  begin()
  end()
  readFarBehind()
  for (let round = 0; round < 4; round++) {
    const from = meta.revision + 1
    write(5)
    readFarBehind()
    for (let revision = from; revision <= meta.revision; revision++)
      expect(textOf(revision)).toBe(textAt(revision))
    begin()
    readFarBehind()
    write(3 * GROUP)
    readFarBehind()
    for (let revision = from; revision <= meta.revision; revision++)
      expect(textOf(revision)).toBe(textAt(revision))
    end()
    readFarBehind()
    for (let revision = from; revision <= meta.revision; revision++)
      expect(textOf(revision)).toBe(textAt(revision))
  }
})

test('C11: every revision from the floor on is read as it was written, for any order of writes, batches and reads', () => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = seededRandom(`events ${seed}`)
    const one = scene({ events: random.pick([40, 700, 3_000]), eventBytes: 512 * 1024 })
    const { meta } = one
    const made = new Map<number, string>()
    const look = (revision: number) => {
      const text = one.textOf(revision)
      if (text !== made.get(revision))
        expect(text, `seed ${seed}, revision ${revision}`).toBe(made.get(revision))
    }
    for (let step = 0; step < 250; step++) {
      for (let i = random.between(0, 40); i > 0; i--) {
        const text = `${meta.revision + 1} ${'x'.repeat(random.chance(0.02) ? INLINE_BYTES + 9 : random.between(0, 60))}`
        one.put(text)
        made.set(meta.revision, text)
      }
      const { floor } = meta.events
      for (let i = random.chance(0.1) ? 120 : 3; i > 0 && meta.revision >= floor; i--)
        look(random.between(floor, meta.revision + 1))
      if (one.busy) one.end()
      else if (random.chance(0.5)) one.begin()
      if (meta.revision >= floor) look(meta.revision)
    }
    if (one.busy) one.end()
    one.begin()
    one.end()
    one.restart()
    for (let revision = meta.events.floor; revision <= meta.revision; revision++) look(revision)
    const kept = [...made].filter(([revision]) => revision >= meta.events.floor)
    expect(meta.events.count).toBe(kept.length)
    // Nothing is left of the dropped revisions: there is one row for each group, and one for each large
    // revision.
    const large = kept.filter(([, text]) => text.length > INLINE_BYTES).length
    const groups = new Set(kept.map(([revision]) => Math.floor(revision / GROUP))).size
    expect(one.rows.size).toBe(groups + large)
  }
})

test('a revision of up to 4 KiB is in the row of its group, a larger one has rows of its own', () => {
  for (const [length, rows] of [
    [4 * 1024 - 12, 1],
    [4 * 1024 - 11, 2],
  ] as const) {
    const { put, textOf, begin, end, rows: stored } = scene()
    put('x'.repeat(length))
    begin()
    end()
    expect(stored.size).toBe(rows)
    expect(textOf(1)).toBe('x'.repeat(length))
  }
})
