// Test: how the option `as` encodes and decodes values, and the errors for values that it cannot encode or
// decode (docs/values.md).

import { expect, test } from 'vitest'
import { LatchkeyError } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { bytes, code, sleep, take, utf8 } from './testing/small-test-functions.js'

const JSON_TEXT = { as: 'json' } as const
const PACKED = { as: 'msgpack' } as const

onEveryStore((at) => {
  for (const as of ['json', 'msgpack'] as const) {
    test(`${as}: every call that writes a value stores it, and reads return it`, async () => {
      const values = [
        null,
        0,
        '',
        false,
        [],
        {},
        'text',
        '"quoted"',
        { name: 'Ada', tags: ['x', { n: 1.5 }] },
      ]
      for (const value of values) {
        const key = at.key('value')
        await at.store.put(key, value, { as })
        expect(await at.other.get(key, { as })).toEqual(value)
      }
      const key = at.key('calls')
      const user = { name: 'Ada' }
      expect(await at.store.putIfAbsent(key, user, { as })).toBeUndefined()
      expect(await at.store.putIfAbsent(key, { name: 'Eve' }, { as })).toEqual(user)
      expect(await at.store.getAndPut<{ name: string }>(key, [1], { as })).toEqual(user)
      expect(await at.store.compareAndPut(key, [2], [3], { as })).toBe(false)
      expect(await at.store.compareAndPut(key, [1], { n: 2 }, { as })).toBe(true)
      expect(await at.store.compareAndPutAll([{ key, expect: { n: 2 }, update: null }], { as })).toBe(true)
      expect(await at.store.compareAndPut(key, null, { n: 3 }, { as })).toBe(true)
      await at.store.putAll([{ key: at.key('a'), value: { n: 1 } }], { as })
      await at.store.putAll(new Map([[at.key('b'), [2]]]), { as })
      await at.store.batch([{ type: 'put', key: at.key('c'), value: 3 }], { as })
      expect(await at.store.multiGet([at.key('a'), at.key('b'), at.key('c'), at.key('d')], { as })).toEqual([
        { n: 1 },
        [2],
        3,
        undefined,
      ])
    })

    test(`${as}: txn, scan, entries, values, keys, getEntry and watch`, async () => {
      const watch = at.store.watch<{ n: number }>({ prefix: at.key('w') }, { as })
      await at.store.put(at.key('w1'), { n: 1 }, { as })
      const { succeeded, results } = await at.store.txn(
        {
          when: [
            { key: at.key('w1'), value: { n: 1 } },
            { key: at.key('w2') },
            { key: at.key('w1'), field: 'version', value: 1 },
          ],
          then: [
            { type: 'put', key: at.key('w1'), value: { n: 2 } },
            { type: 'get', key: at.key('w1') },
          ],
        },
        { as },
      )
      expect([succeeded, results]).toMatchObject([true, [true, { value: { n: 2 }, version: 2 }]])
      expect((await at.other.getEntry(at.key('w1'), { as }))?.value).toEqual({ n: 2 })
      const row = { key: at.key('w1'), value: { n: 2 } }
      expect(await at.store.scan({ prefix: at.key('w') }, { as })).toEqual([row])
      for await (const found of at.store.entries({ prefix: at.key('w') }, { as })) expect(found).toEqual(row)
      for await (const found of at.store.values({ prefix: at.key('w') }, { as }))
        expect(found).toEqual({ n: 2 })
      for await (const key of at.store.keys({ prefix: at.key('w') }, { as })) expect(key).toBe(row.key)
      const [first, second] = await take(watch, 2)
      expect(first).toMatchObject({ key: row.key, value: { n: 1 }, previous: undefined })
      expect(second).toMatchObject({ key: row.key, value: { n: 2 }, previous: { n: 1 } })
      await watch.return?.()
    })

    test(`${as}: a value that it cannot represent is a TypeError before any request is sent`, async () => {
      const key = at.key()
      const circle: unknown[] = []
      circle.push(circle)
      for (const value of [undefined, () => 1, Symbol('x'), circle, { deep: { run() {} } }])
        await expect(at.store.put(key, value as never, { as })).rejects.toThrow(TypeError)
      await expect(at.store.put(key, undefined as never, { as })).rejects.toThrow(/undefined/)
      await expect(at.store.putAll([[key, undefined as never]], { as })).rejects.toThrow(/undefined/)
      await expect(at.store.merge(key, 'x', { as } as never)).rejects.toThrow(/merge appends text or bytes/)
      const ordered = { when: [{ key, is: '<', value: 1 }] } as const
      await expect(at.store.txn(ordered, { as })).rejects.toThrow(/as: 'number'/)
      expect(await at.store.containsKey(key)).toBe(false)
    })
  }

  test('json: a bigint is a TypeError that names it; msgpack stores bigints, dates, Maps and bytes', async () => {
    const key = at.key()
    await expect(at.store.put(key, { total: 5n }, JSON_TEXT)).rejects.toThrow(/"total" is a bigint/)
    const value = {
      total: 5n,
      at: new Date(1_700_000_000_123),
      items: new Map([['x', new Set([1])]]),
      raw: bytes(1, 2),
      wide: new Float64Array([0.5]),
    }
    await at.store.put(key, value, PACKED)
    expect(await at.other.get(key, PACKED)).toEqual(value)
    expect((await at.other.get<typeof value>(key, PACKED))?.raw).toBeInstanceOf(Uint8Array)
  })

  test('json: numbers work with increment and with conditions on numbers', async () => {
    const key = at.key()
    await at.store.put(key, 41, JSON_TEXT)
    expect(await at.store.increment(key)).toMatchObject({ value: 42 })
    expect(await at.store.get(key, JSON_TEXT)).toBe(42)
    const when = [{ key, is: '>', value: 9, as: 'number' }] as const
    expect(await at.store.txn({ when }, JSON_TEXT)).toMatchObject({ succeeded: true })
  })

  test('bytes and string: text and bytes are accepted, anything else is a TypeError', async () => {
    for (const as of [undefined, 'bytes', 'string'] as const)
      for (const value of [1, null, {}, undefined])
        await expect(at.store.put(at.key(), value as never, { as })).rejects.toThrow(TypeError)
  })

  test('VA3: get of a value that cannot be decoded: ERR_UNDECODABLE with key and revision, or its bytes', async () => {
    const key = at.key()
    const { revision } = await at.store.put(key, '{no json')
    for (const options of [JSON_TEXT, PACKED]) {
      const bad = code('ERR_UNDECODABLE', { key, revision, retryable: false, outcome: 'not-applied' })
      await expect(at.store.get(key, options)).rejects.toMatchObject(bad)
      await expect(at.store.multiGet([key], options)).rejects.toMatchObject(bad)
      await expect(at.store.getEntry(key, options)).rejects.toMatchObject(bad)
      await expect(at.store.putIfAbsent(key, 1, options)).rejects.toMatchObject(
        code('ERR_UNDECODABLE', { key }),
      )
      const then = [{ type: 'get', key }] as const
      await expect(at.store.txn({ then }, options)).rejects.toMatchObject({ ...bad, outcome: 'unknown' })
      const lenient = { ...options, onUndecodable: 'bytes' } as const
      expect(await at.store.get(key, lenient)).toEqual(utf8('{no json'))
      expect((await at.store.getEntry(key, lenient))?.value).toEqual(utf8('{no json'))
    }
    await expect(at.store.getAndPut(key, { n: 1 }, JSON_TEXT)).rejects.toMatchObject(
      code('ERR_UNDECODABLE', { key, outcome: 'unknown' }),
    )
    expect(await at.store.get(key, JSON_TEXT)).toEqual({ n: 1 })
  })

  test('VA3: a scan or an iteration fails with the key of a wrong value, or returns its bytes and goes on', async () => {
    await at.store.put(at.key('r1'), '1')
    const { revision } = await at.store.put(at.key('r2'), '{')
    await at.store.put(at.key('r3'), '3')
    const range = { prefix: at.key('r') }
    const bad = code('ERR_UNDECODABLE', { key: at.key('r2'), revision })
    await expect(at.store.scan(range, JSON_TEXT)).rejects.toMatchObject(bad)
    const seen: unknown[] = []
    const all = (async () => {
      for await (const { value } of at.store.entries(range, JSON_TEXT)) seen.push(value)
    })()
    await expect(all).rejects.toMatchObject(bad)
    expect(seen).toEqual([1])
    const lenient = { ...JSON_TEXT, onUndecodable: 'bytes' } as const
    expect((await at.store.scan(range, lenient)).map(({ value }) => value)).toEqual([1, utf8('{'), 3])
  })

  test('VA3: a watch fails with the key of a wrong value and can continue after it, or returns its bytes', async () => {
    const range = { prefix: at.key('w') }
    const strict = at.store.watch(range, JSON_TEXT)
    const lenient = at.store.watch(range, { ...JSON_TEXT, onUndecodable: 'bytes' })
    await sleep(50)
    await at.store.put(at.key('w1'), '1')
    const { revision } = await at.store.put(at.key('w2'), '{')
    await at.store.put(at.key('w3'), '3')
    expect((await take(strict, 1))[0]?.value).toBe(1)
    const error = await strict.next().then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(LatchkeyError)
    expect(error).toMatchObject(code('ERR_UNDECODABLE', { key: at.key('w2'), revision }))
    const rest = at.store.watch({ ...range, from: ((error as LatchkeyError).revision ?? 0) + 1 }, JSON_TEXT)
    expect((await take(rest, 1))[0]).toMatchObject({ key: at.key('w3'), value: 3 })
    expect((await take(lenient, 3)).map(({ value }) => value)).toEqual([1, utf8('{'), 3])
    for (const watch of [strict, lenient, rest]) await watch.return?.()
  })

  test('as and onUndecodable: a value outside their lists is a TypeError that names them', async () => {
    const get = at.store.get as (...args: unknown[]) => Promise<unknown>
    await expect(get.call(at.store, 'k', { as: 'xml' })).rejects.toThrow(
      /as must be 'bytes', 'string', 'json'/,
    )
    await expect(get.call(at.store, 'k', { onUndecodable: 'null' })).rejects.toThrow(/onUndecodable must be/)
  })

  test('a caller may change the bytes of a result; the store keeps its own bytes', async () => {
    const key = at.key('changed')
    const value = bytes(1, 2, 3)
    const watch = at.store.watch({ key })
    await at.store.put(key, value)
    const results = async () => [
      await at.store.get(key),
      (await at.store.getEntry(key))?.value,
      (await at.store.multiGet([key]))[0],
      await at.store.getAndPut(key, value),
      (await take(at.store.entries({ prefix: key }), 1))[0]?.value,
      (await at.store.scan({ prefix: key }))[0]?.value,
    ]
    const told = await take(watch, 1)
    for (const result of [...(await results()), told[0]?.value]) (result as Uint8Array).fill(9)
    for (const result of await results()) expect(result).toEqual(value)
  })
})
