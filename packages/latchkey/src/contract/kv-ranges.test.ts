// Test: scan and the iterators in the section "Keys and values" of docs/api.md.

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { all, bytes, code, take, utf8 } from './testing/small-test-functions.js'

const as = { as: 'string' } as const

onEveryStore((at) => {
  const fill = (...names: string[]) =>
    at.store.putAll(names.map((name) => ({ key: at.key(name), value: name })))
  const names = (rows: { key: string }[]) => rows.map(({ key }) => key.slice(at.key('').length))
  const scan = async (range: object) => names(await at.store.scan({ prefix: at.key(''), ...range }, as))

  test('scan: an array of { key, value }', async () => {
    await fill('a', 'b')
    expect(await at.store.scan({ prefix: at.key('') })).toEqual([
      { key: utf8(at.key('a')), value: utf8('a') },
      { key: utf8(at.key('b')), value: utf8('b') },
    ])
    expect(await at.store.scan({ prefix: at.key('') }, as)).toEqual([
      { key: at.key('a'), value: 'a' },
      { key: at.key('b'), value: 'b' },
    ])
  })

  test('under json keys are strings', async () => {
    await at.store.put(at.key('a'), '[1]')
    expect(await at.store.scan({ prefix: at.key('') }, { as: 'json' })).toEqual([
      { key: at.key('a'), value: [1] },
    ])
  })

  test('gte, gt, lte, lt, limit, reverse', async () => {
    await fill('a', 'b', 'c', 'd')
    const k = (name: string) => at.key(name)
    expect(await scan({ gte: k('b') })).toEqual(['b', 'c', 'd'])
    expect(await scan({ gt: k('b') })).toEqual(['c', 'd'])
    expect(await scan({ lte: k('b') })).toEqual(['a', 'b'])
    expect(await scan({ lt: k('b') })).toEqual(['a'])
    expect(await scan({ gt: k('a'), lt: k('d') })).toEqual(['b', 'c'])
    expect(await scan({ limit: 2 })).toEqual(['a', 'b'])
    expect(await scan({ limit: 2, reverse: true })).toEqual(['d', 'c'])
    expect(await scan({ gte: k('b'), lte: k('c'), reverse: true })).toEqual(['c', 'b'])
    expect(names(await at.store.scan({ gte: k('c'), lte: k('d') }, as))).toEqual(['c', 'd'])
  })

  test('empty and reversed ranges have no rows', async () => {
    await fill('a', 'b')
    expect(await scan({ gte: at.key('b'), lt: at.key('a') })).toEqual([])
    expect(await scan({ gt: at.key('a'), lt: at.key('a') })).toEqual([])
    expect(await scan({ gte: at.key('x') })).toEqual([])
    expect(await scan({ gte: at.key('a'), lte: at.key('a') })).toEqual(['a'])
  })

  test('unbounded: the whole store, in byte order', async () => {
    await at.store.putAll([
      [bytes(255, 255, ...utf8(at.key())), '1'],
      [bytes(0, ...utf8(at.key())), '2'],
      [at.key('é'), '3'],
      [at.key('z'), '4'],
    ])
    const found = (await at.store.scan()).map(({ key }) => Buffer.from(key))
    expect(found.length).toBeGreaterThanOrEqual(4)
    expect(found).toEqual([...found].sort(Buffer.compare))
    expect(await scan({})).toEqual(['z', 'é'])
    expect((await at.store.scan({})).length).toBe(found.length)
  })

  test('a prefix that ends in 0xff bytes', async () => {
    const prefix = bytes(...utf8(at.key('')), 255, 255)
    await at.store.put(bytes(...prefix, 1), 'in')
    await at.store.put(prefix, 'self')
    await at.store.put(bytes(...utf8(at.key('')), 255, 254), 'out')
    expect((await at.store.scan({ prefix }, as)).map(({ value }) => value)).toEqual(['self', 'in'])
  })

  test('keysOnly: value is undefined', async () => {
    await fill('a')
    expect(await at.store.scan({ prefix: at.key(''), keysOnly: true }, as)).toEqual([
      { key: at.key('a'), value: undefined },
    ])
    expect(await all(at.store.entries({ prefix: at.key(''), keysOnly: true }, as))).toEqual([
      { key: at.key('a'), value: undefined },
    ])
  })

  test('limit 0 is an empty result', async () => {
    await fill('a')
    expect(await scan({ limit: 0 })).toEqual([])
    expect(await all(at.store.entries({ limit: 0 }))).toEqual([])
    expect(await all(at.store.keys({ limit: 0 }))).toEqual([])
  })

  test('gte with gt, lte with lt, and other wrong ranges are TypeErrors; iterators throw at the call', async () => {
    for (const range of [
      { gte: 'a', gt: 'a' },
      { lte: 'a', lt: 'a' },
      { limit: -1 },
      { limit: 1.5 },
      { limit: '1' },
      { reverse: 'yes' },
      { prefix: 7 },
      'abc',
      null,
    ]) {
      await expect(at.store.scan(range as never)).rejects.toThrow(TypeError)
      expect(() => at.store.entries(range as never)).toThrow(TypeError)
      expect(() => at.store.keys(range as never)).toThrow(TypeError)
      expect(() => at.store.values(range as never)).toThrow(TypeError)
    }
    expect(() => at.store.entries({}, { as: 'xml' as never })).toThrow(TypeError)
  })

  test('entries, keys, values', async () => {
    await fill('a', 'b')
    const range = { prefix: at.key('') }
    expect(await all(at.store.entries(range, as))).toEqual(await at.store.scan(range, as))
    expect(await all(at.store.keys(range, as))).toEqual([at.key('a'), at.key('b')])
    expect(await all(at.store.values(range, as))).toEqual(['a', 'b'])
    expect(await all(at.store.keys(range))).toEqual([utf8(at.key('a')), utf8(at.key('b'))])
    expect(await all(at.store.values({ ...range, reverse: true, limit: 1 }, as))).toEqual(['b'])
  })

  test('R9: paged, over one frozen view, while writes go on', async () => {
    const count = 2_500
    const name = (n: number) => at.key(String(n).padStart(5, '0'))
    for (let from = 0; from < count; from += 500)
      await at.store.putAll(Array.from({ length: 500 }, (_, n) => [name(from + n), 'old'] as const))
    const iterator = at.store.entries({ prefix: at.key('') }, as)
    const first = await take(iterator, 1)
    await at.store.put(name(count - 1), 'new')
    await at.store.delete(name(count - 2))
    await at.store.put(name(count), 'new')
    const rows = [...first, ...(await all(iterator))]
    expect(rows).toHaveLength(count)
    expect(new Set(rows.map(({ value }) => value))).toEqual(new Set(['old']))
    expect(rows.map(({ key }) => key)).toEqual(Array.from({ length: count }, (_, n) => name(n)))
    expect((await at.store.scan({ prefix: at.key(''), keysOnly: true })).length).toBe(count)
    const backwards = await all(at.store.keys({ prefix: at.key(''), reverse: true }, as))
    expect(backwards[0]).toBe(name(count))
    expect(backwards).toHaveLength(count)
    expect((await at.store.scan({ prefix: at.key(''), limit: 1_500 }, as)).at(-1)?.key).toBe(name(1_499))
  })

  test('values larger than a page, and an early return', async () => {
    const value = new Uint8Array(700 * 1024)
    for (const name of ['a', 'b', 'c', 'd']) await at.store.put(at.key(name), value)
    const sizes: number[] = []
    for await (const found of at.store.values({ prefix: at.key('') })) sizes.push(found.length)
    expect(sizes).toEqual([value.length, value.length, value.length, value.length])
    for await (const _ of at.store.values({ prefix: at.key('') })) break
    const iterator = at.store.keys({ prefix: at.key('') }, as)
    expect(await iterator.next()).toEqual({ done: false, value: at.key('a') })
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    await at.store.deleteRange(at.key(''), at.key('~'))
  })

  test('an iterator ends with ERR_ABORTED by its signal', async () => {
    await fill('a', 'b')
    const controller = new AbortController()
    const iterator = at.store.keys({ prefix: at.key('') }, { ...as, signal: controller.signal })
    await iterator.next()
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(iterator.next()).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason }))
    await expect(all(at.store.keys({}, { signal: AbortSignal.abort() }))).rejects.toMatchObject(
      code('ERR_ABORTED'),
    )
    await expect(at.store.scan({}, { signal: AbortSignal.abort() })).rejects.toMatchObject(
      code('ERR_ABORTED'),
    )
  })

  test('stale scans and iterators', async () => {
    await fill('a')
    const stale = { ...as, consistency: 'stale' } as const
    for (const rows of [
      await at.store.scan({ prefix: at.key('') }, stale),
      await all(at.store.entries({ prefix: at.key('') }, stale)),
    ])
      expect(rows.length).toBeLessThanOrEqual(1)
  })

  test('a range is copied at the call', async () => {
    await fill('a')
    const prefix = utf8(at.key(''))
    const iterator = at.store.keys({ prefix }, as)
    prefix.fill(0)
    expect(await all(iterator)).toEqual([at.key('a')])
  })
})
