// Rule: the tests that each implementation of RowStorage and RowStore must pass.

import { keyAfter, seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { RowKeys } from '../storage/compact-list-of-keys.js'
import type { Row, RowStorage, RowRange, RowStore, RowView } from '../storage/row-store-interface.js'
import { CHECKSUM_BYTES, withChecksum } from '../storage/stored-row-checksum.js'

const b = (text: string) => Buffer.from(text)
const put = (key: string, value: string) => ({ key: b(key), value: withChecksum(b(key), b(value)) })
const del = (key: string) => ({ key: b(key), value: undefined })
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()
const body = (value: Uint8Array | undefined) => text((value as Uint8Array).subarray(CHECKSUM_BYTES))
const shown = (rows: readonly Row[]) => rows.map(({ key, value }) => `${text(key)}=${body(value)}`)

async function opened(storage: RowStorage): Promise<RowStore> {
  const builder = await storage.build()
  await builder.commit()
  return (await storage.open()) as RowStore
}

async function all(view: RowView, range: Partial<RowRange> = {}): Promise<string[]> {
  const page = await view.page({ start: undefined, end: undefined, ...range }, 1_000, 1_000_000)
  expect(page.end).toBe(true)
  return shown(page.rows)
}

/** `make` returns an empty storage. */
export function rowConformance(make: () => Promise<RowStorage>): void {
  test.each(Object.entries(LAWS))('%s', async (_, law) => law(await make()))
}

const LAWS: Record<string, (storage: RowStorage) => Promise<void>> = {
  'there is no store before one was built': async (storage) => {
    expect(await storage.open()).toBeUndefined()
  },
  'RW1: a batch is written as a whole': async (storage) => {
    const store = await opened(storage)
    await store.write([put('a', '1'), put('b', '2')])
    await store.write([del('a'), put('c', ''), del('never-there')])
    expect(store.get(b('a'))).toBeUndefined()
    expect(body(store.get(b('c')))).toBe('')
    expect(await all(store.view())).toEqual(['b=2', 'c='])
    await store.close()
  },
  'RW1: a row of events in several parts is one row, also after a start': async (storage) => {
    const store = await opened(storage)
    const whole = put('e1', 'begin, middle, end')
    const [first, second, third] = [
      whole.value.subarray(0, 9),
      whole.value.subarray(9, 17),
      whole.value.subarray(17),
    ]
    await store.write([
      { key: whole.key, value: first, rest: [second, b(''), third] },
      put('e2', 'small'),
      put('f', '1'),
    ])
    const check = async (rows: RowStore) => {
      expect(body(rows.get(b('e1')))).toBe('begin, middle, end')
      expect(await all(rows.view())).toEqual(['e1=begin, middle, end', 'e2=small', 'f=1'])
    }
    await check(store)
    await store.close()
    const again = (await storage.open()) as RowStore
    await check(again)
    await again.write([del('e1')])
    expect(again.get(b('e1'))).toBeUndefined()
    await again.close()
  },
  'RW1: a batch of very many rows, or one that removes them, is written as a whole; a view in between has all or none':
    async (storage) => {
      const store = await opened(storage)
      const keys = Array.from({ length: 51_000 }, (_, i) => String(100_000 + i))
      const writing = store.write(keys.map((key) => put(key, 'v')))
      const early = await store.view().page({ start: undefined, end: undefined, keysOnly: true }, 60_000, 1e9)
      expect([0, keys.length]).toContain(early.rows.length)
      await writing
      expect(body(store.get(b('150999')))).toBe('v')
      await store.write([...keys.map(del), put('100007', 'again')])
      await store.close()
      const again = (await storage.open()) as RowStore
      expect(await all(again.view())).toEqual(['100007=again'])
      await again.close()
    },
  'RW1: a batch that removes very many rows by one change is written as a whole; rows that it puts after that change stay':
    async (storage) => {
      const store = await opened(storage)
      const keys = Array.from({ length: 12_000 }, (_, i) => String(100_000 + i))
      await store.write([...keys.map((key) => put(key, 'v')), put('a', 'v')])
      const others = new RowKeys()
      for (const key of [...keys, 'never there']) others.add(b(key))
      await store.write([{ key: b('0'), value: undefined, others }, put('100007', 'again')])
      expect(await all(store.view())).toEqual(['100007=again', 'a=v'])
      await store.close()
      const again = (await storage.open()) as RowStore
      expect(await all(again.view())).toEqual(['100007=again', 'a=v'])
      await again.close()
    },
  'RW2: rows that were written are there after the store is opened again': async (storage) => {
    const store = await opened(storage)
    await store.write([put('a', '1')])
    await store.close()
    const again = (await storage.open()) as RowStore
    expect(await all(again.view())).toEqual(['a=1'])
    await again.close()
  },
  'RW4: a view does not change': async (storage) => {
    const store = await opened(storage)
    await store.write([put('a', '1'), put('b', '1')])
    const view = store.view()
    await store.write([put('a', '2'), del('b'), put('c', '2')])
    expect(await all(view)).toEqual(['a=1', 'b=1'])
    expect(await all(store.view())).toEqual(['a=2', 'c=2'])
    view.close()
    await store.close()
  },
  'RW4: a batch over several spaces is in a view whole or not at all, also while it is being written':
    severalSpaces,
  'RW7: written rows stay the same when the bytes of their batch are changed': async (storage) => {
    const store = await opened(storage)
    const batch = [put('d', 'data'), put('e', 'event')]
    await store.write(batch)
    const view = store.view()
    for (const { value } of batch) value.fill(0)
    for (const rows of [view, store.view()]) expect(await all(rows)).toEqual(['d=data', 'e=event'])
    expect(body(store.get(b('e')))).toBe('event')
    await store.close()
    const again = (await storage.open()) as RowStore
    expect(await all(again.view())).toEqual(['d=data', 'e=event'])
    await again.close()
  },
  'pages: ranges, both directions, by rows and by bytes, keys only': pages,
  'pages that follow each other contain every row once, also with pages of other ranges in between':
    followingPages,
  'keys are in the order of their bytes, and may contain any byte': byteOrder,
  'random batches give the same rows as a plain map': randomBatches,
  'before commit the new store cannot be read, after commit the old one cannot': swap,
  'a build that is aborted leaves nothing': async (storage) => {
    const store = await opened(storage)
    const builder = await storage.build()
    await builder.write([put('new', '1')])
    await builder.abort()
    expect(await all(store.view())).toEqual([])
    await store.close()
  },
  'discard removes every store': async (storage) => {
    await (await opened(storage)).close()
    await storage.discard()
    expect(await storage.open()).toBeUndefined()
  },
}

/**
 * Each page of a range begins after the last row of the page before. The test reads a page of each range,
 * then the next page of each range, and so on.
 */
async function followingPages(storage: RowStorage): Promise<void> {
  const store = await opened(storage)
  const names = Array.from({ length: 60 }, (_, i) => `k${String(i).padStart(3, '0')}`)
  await store.write(names.map((key) => put(key, key.repeat(30))))
  const view = store.view()
  // These rows are written after the view was taken, so the view does not show them.
  await store.write([del('k003'), put('k0035', 'late')])
  const walk = async function* (reverse: boolean, keysOnly: boolean, rows: number, bytes: number) {
    let range: RowRange = { start: b('k'), end: b('l'), reverse, keysOnly }
    for (let end = false; !end; ) {
      const page = await view.page(range, rows, bytes)
      for (const { key, value } of page.rows)
        yield [text(key), keysOnly ? value.length === 0 : value.length > 0]
      const last = page.rows.at(-1)?.key
      end = page.end
      if (last !== undefined) range = reverse ? { ...range, end: last } : { ...range, start: keyAfter(last) }
    }
  }
  const told = names.map((key) => [key, true])
  const walks = [
    { seen: [] as unknown[], of: walk(false, false, 7, 1_000_000), expected: told },
    { seen: [] as unknown[], of: walk(true, false, 5, 1_000_000), expected: told.toReversed() },
    { seen: [] as unknown[], of: walk(false, true, 4, 1_000_000), expected: told },
    { seen: [] as unknown[], of: walk(false, false, 1_000, 500), expected: told },
  ]
  for (let open = walks; open.length > 0; ) {
    const steps = await Promise.all(open.map(({ of }) => of.next()))
    steps.forEach((step, i) => step.done === true || open[i]?.seen.push(step.value))
    open = open.filter((_, i) => steps[i]?.done !== true)
  }
  for (const { seen, expected } of walks) expect(seen).toEqual(expected)
  view.close()
  await store.close()
}

async function pages(storage: RowStorage): Promise<void> {
  const store = await opened(storage)
  await store.write(['a', 'b', 'c', 'd'].map((key) => put(key, key.repeat(100))))
  const view = store.view()
  const keys = async (range: Partial<RowRange>, rows = 1_000, bytes = 1_000_000) => {
    const page = await view.page({ start: undefined, end: undefined, ...range }, rows, bytes)
    return [page.rows.map(({ key }) => text(key)).join(''), page.end]
  }
  expect(await keys({})).toEqual(['abcd', true])
  expect(await keys({ start: b('b'), end: b('d') })).toEqual(['bc', true])
  expect(await keys({ start: b('b'), end: b('d'), reverse: true })).toEqual(['cb', true])
  expect(await keys({ start: b('bb'), end: b('c') })).toEqual(['', true])
  expect(await keys({ start: b('d'), end: b('a') })).toEqual(['', true])
  // After a page, the rest of the range is read in the other direction.
  expect(await keys({}, 2)).toEqual(['ab', false])
  expect(await keys({ start: keyAfter(b('b')), reverse: true })).toEqual(['dc', true])
  expect(await keys({ reverse: true }, 2)).toEqual(['dc', false])
  expect(await keys({ end: b('c') })).toEqual(['ab', true])
  expect((await keys({}, 1_000, 150))[0]).toMatch(/^ab?$/)
  expect((await keys({}, 1_000, 1))[0]).toBe('a')
  expect(await all(view, { keysOnly: true, end: b('c') })).toEqual(['a=', 'b='])
  view.close()
  await store.close()
}

async function byteOrder(storage: RowStorage): Promise<void> {
  const store = await opened(storage)
  const keys = [[1], [1, 0], [1, 0, 0], [1, 255], [2], [127], [128], [200, 1], [255], [255, 255]]
  const rows = keys.map((key) => ({ key: Uint8Array.from(key), value: Uint8Array.from(key) }))
  await store.write([...rows].reverse())
  const page = await store.view().page({ start: undefined, end: undefined }, 100, 100_000)
  expect(page.rows.map(({ key }) => [...key])).toEqual(keys)
  expect(page.rows.map(({ value }) => [...value])).toEqual(keys)
  await store.close()
}

async function randomBatches(storage: RowStorage): Promise<void> {
  const random = seededRandom('rows')
  const store = await opened(storage)
  const model = new Map<string, string>()
  for (let round = 0; round < 60; round++) {
    const keys = new Set(
      Array.from(
        { length: random.between(1, 20) },
        () => `${random.pick(['d', 'e', 'k'])}${random.between(0, 20)}`,
      ),
    )
    const batch = [...keys].map((key) => (random.chance(0.3) ? del(key) : put(key, String(round))))
    await store.write(batch)
    for (const { key, value } of batch) {
      if (value === undefined) model.delete(text(key))
      else model.set(text(key), body(value))
    }
    const view = store.view()
    const expected = [...model].map((row) => row.join('='))
    expect((await all(view)).sort()).toEqual(expected.sort())
    for (const [key, value] of model) expect(body(store.get(b(key)))).toBe(value)
    view.close()
  }
  await store.close()
  const again = (await storage.open()) as RowStore
  expect((await all(again.view())).sort()).toEqual([...model].map((row) => row.join('=')).sort())
  await again.close()
}

async function severalSpaces(storage: RowStorage): Promise<void> {
  const store = await opened(storage)
  await store.write([put('d', '0'), put('e', '0'), put('k', '0')])
  for (let n = 1; n <= 40; n++) {
    const before = [`d=${n - 1}`, `e=${n - 1}`, `k=${n - 1}`]
    const after = [`d=${n}`, `e=${n}`, `k=${n}`]
    let writing = true
    const written = store.write([put('d', `${n}`), put('e', `${n}`), put('k', `${n}`)]).then(() => {
      writing = false
    })
    while (writing) {
      const view = store.view()
      await new Promise((resolve) => setImmediate(resolve))
      expect([before, after]).toContainEqual(await all(view))
      view.close()
    }
    await written
    expect(await all(store.view(), { reverse: true })).toEqual([...after].reverse())
  }
  await store.close()
}

async function swap(storage: RowStorage): Promise<void> {
  const first = await opened(storage)
  await first.write([put('old', '1')])
  const builder = await storage.build()
  await builder.write([put('new', '1')])
  await builder.write([put('new2', '2')])
  expect(await all(first.view())).toEqual(['old=1'])
  await builder.commit()
  const second = (await storage.open()) as RowStore
  expect(await all(second.view())).toEqual(['new=1', 'new2=2'])
  await first.close()
  await storage.sweep()
  await second.write([put('more', '3')])
  expect(await all(second.view())).toEqual(['more=3', 'new=1', 'new2=2'])
  await second.close()
}
