// Rule: what every RowHome and RowStore must do. Each driver's test runs it.

import { seededRandom } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import type { Row, RowHome, RowRange, RowStore, RowView } from '../rows/port.js'

const b = (text: string) => Buffer.from(text)
const put = (key: string, value: string) => ({ key: b(key), value: b(value) })
const del = (key: string) => ({ key: b(key), value: undefined })
const shown = (rows: readonly Row[]) =>
  rows.map(({ key, value }) => `${Buffer.from(key).toString()}=${Buffer.from(value).toString()}`)

/** `make`: a place with nothing in it. `durable`: what is closed is there when it is opened again. */
export function rowConformance(make: () => Promise<RowHome>): void {
  const opened = async (home: RowHome): Promise<RowStore> => {
    const builder = await home.build()
    await builder.commit()
    return (await home.open()) as RowStore
  }
  const all = async (view: RowView, range: Partial<RowRange> = {}) =>
    shown((await view.page({ start: undefined, end: undefined, ...range }, 1_000, 1_000_000)).rows)

  describe('store', () => {
    test('there is none before one was built', async () => {
      expect(await (await make()).open()).toBeUndefined()
    })

    test('R1: a batch is written whole, a later change in it wins over none before', async () => {
      const store = await opened(await make())
      await store.write([put('a', '1'), put('b', '2')])
      await store.write([del('a'), put('c', ''), del('never-there')])
      expect(store.get(b('a'))).toBeUndefined()
      expect(Buffer.from(store.get(b('c')) as Uint8Array).toString()).toBe('')
      expect(await all(store.view())).toEqual(['b=2', 'c='])
      await store.close()
    })

    test('R4: a view does not change', async () => {
      const store = await opened(await make())
      await store.write([put('a', '1'), put('b', '1')])
      const view = store.view()
      await store.write([put('a', '2'), del('b'), put('c', '2')])
      expect(await all(view)).toEqual(['a=1', 'b=1'])
      expect(await all(store.view())).toEqual(['a=2', 'c=2'])
      view.close()
      await store.close()
    })

    test('pages: ranges, both directions, by rows and by bytes, keys only', async () => {
      const store = await opened(await make())
      await store.write(['a', 'b', 'c', 'd'].map((key) => put(key, key.repeat(100))))
      const view = store.view()
      const keys = async (range: Partial<RowRange>, rows = 1_000, bytes = 1_000_000) => {
        const page = await view.page({ start: undefined, end: undefined, ...range }, rows, bytes)
        return [page.rows.map(({ key }) => Buffer.from(key).toString()).join(''), page.end]
      }
      expect(await keys({})).toEqual(['abcd', true])
      expect(await keys({ start: b('b'), end: b('d') })).toEqual(['bc', true])
      expect(await keys({ start: b('b'), end: b('d'), reverse: true })).toEqual(['cb', true])
      expect(await keys({ start: b('bb'), end: b('c') })).toEqual(['', true])
      expect(await keys({ start: b('d'), end: b('a') })).toEqual(['', true])
      expect(await keys({ reverse: true }, 2)).toEqual(['dc', false])
      expect((await keys({}, 1_000, 150))[0]).toMatch(/^ab?$/)
      expect((await keys({}, 1_000, 1))[0]).toBe('a')
      expect(await all(view, { keysOnly: true, end: b('c') })).toEqual(['a=', 'b='])
      view.close()
      await store.close()
    })

    test('keys are ordered by bytes, and may hold any', async () => {
      const store = await opened(await make())
      const keys = [[1], [1, 0], [1, 0, 0], [1, 255], [2], [127], [128], [200, 1], [255], [255, 255]]
      await store.write(
        [...keys].reverse().map((key) => ({ key: Uint8Array.from(key), value: Uint8Array.from(key) })),
      )
      const { rows } = await store.view().page({ start: undefined, end: undefined }, 100, 100_000)
      expect(rows.map(({ key }) => [...key])).toEqual(keys)
      expect(rows.map(({ value }) => [...value])).toEqual(keys)
      await store.close()
    })

    test('random batches against a plain map', async () => {
      const random = seededRandom('rows')
      const store = await opened(await make())
      const model = new Map<string, string>()
      for (let round = 0; round < 60; round++) {
        const batch = new Map(
          Array.from({ length: random.between(1, 20) }, () => [
            `k${random.between(0, 50)}`,
            random.chance(0.3) ? undefined : `${round}`,
          ]),
        )
        await store.write(
          [...batch].map(([key, value]) => (value === undefined ? del(key) : put(key, value))),
        )
        for (const [key, value] of batch) value === undefined ? model.delete(key) : model.set(key, value)
        const view = store.view()
        expect(await all(view)).toEqual(
          [...model].sort(([x], [y]) => (x < y ? -1 : 1)).map((row) => row.join('=')),
        )
        view.close()
      }
      await store.close()
    })
  })

  describe('build', () => {
    test('nothing of it is seen before commit, nothing of the old one after it', async () => {
      const home = await make()
      const first = await opened(home)
      await first.write([put('old', '1')])
      const builder = await home.build()
      await builder.write([put('new', '1')])
      await builder.write([put('new2', '2')])
      expect(await all(first.view())).toEqual(['old=1'])
      await builder.commit()
      const second = (await home.open()) as RowStore
      expect(await all(second.view())).toEqual(['new=1', 'new2=2'])
      await first.close()
      await home.sweep()
      await second.write([put('more', '3')])
      expect(await all(second.view())).toEqual(['more=3', 'new=1', 'new2=2'])
      await second.close()
    })

    test('given up, it leaves nothing', async () => {
      const home = await make()
      const store = await opened(home)
      const builder = await home.build()
      await builder.write([put('new', '1')])
      await builder.abort()
      expect(await all(store.view())).toEqual([])
      await store.close()
    })

    test('discard removes all', async () => {
      const home = await make()
      await (await opened(home)).close()
      await home.discard()
      expect(await home.open()).toBeUndefined()
    })
  })
}
