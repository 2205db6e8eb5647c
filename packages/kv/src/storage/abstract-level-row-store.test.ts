// Test: what a view of LevelDB's rows does with its iterators: an iterator is used for the next page, and is
// closed with its last page, with an error and with the view.

import { expect, test } from 'vitest'
import { type Level, LevelRows } from './abstract-level-row-store.js'
import { withChecksum } from './stored-row-checksum.js'

const key = (n: number) => Buffer.from(`k${n}`)
const all = { start: undefined, end: undefined }

/** LevelDB with five rows, which counts its open iterators. The read number `failing` fails. */
function levelOf(failing = Number.POSITIVE_INFINITY) {
  const counts = { open: 0, made: 0, reads: 0 }
  const rows = [1, 2, 3, 4, 5].map((n): [Uint8Array, Uint8Array] => [key(n), withChecksum(key(n), key(n))])
  const iterator = () => {
    counts.open++
    counts.made++
    let at = 0
    let isOpen = true
    return {
      nextv: async (count: number) => {
        if (++counts.reads >= failing)
          throw Object.assign(new Error('a bad block'), { code: 'LEVEL_CORRUPTION' })
        const read = rows.slice(at, at + Math.min(count, 2))
        at += read.length
        return read
      },
      close: async () => {
        if (isOpen) counts.open--
        isOpen = false
      },
    }
  }
  const level: Partial<Level> = { iterator, snapshot: () => ({ close: async () => {} }) }
  return { counts, view: new LevelRows(level as Level).view() }
}

test('one iterator serves all pages of a range, and is closed after the last page', async () => {
  const { counts, view } = levelOf()
  const first = await view.page(all, 2, 1_000)
  expect([first.rows.length, first.end, counts.open]).toEqual([2, false, 1])
  const last = first.rows.at(-1)?.key as Uint8Array
  const rest = await view.page({ ...all, start: Buffer.concat([last, Buffer.alloc(1)]) }, 10, 1_000)
  expect(rest.rows.map((row) => Buffer.from(row.key).toString())).toEqual(['k3', 'k4', 'k5'])
  expect([rest.end, counts.made, counts.open]).toEqual([true, 1, 0])
  view.close()
})

// Without this law: each read of a damaged range keeps an iterator open. The iterator keeps the tables of its
// snapshot on the disk for as long as the member runs.
test('an iterator whose page has failed is closed', async () => {
  for (const failing of [1, 2]) {
    const { counts, view } = levelOf(failing)
    if (failing === 2) await view.page(all, 1, 1_000).catch(() => {})
    await expect(view.page(all, 5, 1_000)).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
    view.close()
    expect(counts.open).toBe(0)
  }
})

test('a view that closes also closes the iterator that it keeps, and an iterator whose page is being read', async () => {
  const kept = levelOf()
  await kept.view.page(all, 1, 1_000)
  expect(kept.counts.open).toBe(1)
  kept.view.close()
  expect(kept.counts.open).toBe(0)
  const reading = levelOf()
  const page = reading.view.page(all, 1, 1_000)
  reading.view.close()
  await page
  expect(reading.counts.open).toBe(0)
})

test('the iterator of a page that another range follows is closed', async () => {
  const { counts, view } = levelOf()
  await view.page(all, 1, 1_000)
  await view.page({ ...all, keysOnly: true }, 1, 1_000)
  expect([counts.made, counts.open]).toEqual([2, 1])
  view.close()
  expect(counts.open).toBe(0)
})
