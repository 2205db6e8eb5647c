// Test: docs/keys.md: keys with a ttl, touch, and keys that belong to the store that put them.

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { code, sleep, take, until } from './testing/small-test-functions.js'

const as = { as: 'string' } as const

onEveryStore((at) => {
  const gone = (key: string) => until(async () => !(await at.store.containsKey(key)))

  test('A19: a key with a ttl exists until its end and is then deleted, and the watch names the reason', async () => {
    const key = at.key()
    const watch = at.other.watch({ key }, as)
    // A write of the same store is applied after the watch has begun. A write of another store might come first.
    await at.other.put(at.key('begin'), '')
    const began = performance.now()
    const { revision } = await at.store.put(key, 'v', { ttl: '400ms' })
    await gone(key)
    // Cluster time may be faster than this process's clock by twice the drift, and never by more.
    expect(performance.now() - began).toBeGreaterThanOrEqual(400 * 0.98)
    const [put, removed] = await take(watch, 2)
    expect(put).toEqual({ revision, type: 'put', key, value: 'v', previous: undefined })
    expect(removed).toMatchObject({ type: 'delete', reason: 'expired', key, value: undefined, previous: 'v' })
    expect(removed?.revision).toBeGreaterThan(revision)
    await watch.return?.()
  })

  test('a delete by a call has no reason', async () => {
    const key = at.key()
    const watch = at.store.watch({ key }, as)
    await at.store.put(key, 'v', { ttl: '1h' })
    await at.store.delete(key)
    const [, removed] = await take(watch, 2)
    expect(Object.keys(removed as object)).not.toContain('reason')
    await watch.return?.()
  })

  test('A20: a put without a ttl ends the ttl of the previous value', async () => {
    const [stays, goes] = [at.key('stays'), at.key('goes')]
    await at.store.put(stays, '1', { ttl: 300 })
    await at.store.put(goes, '1', { ttl: 300 })
    await at.other.put(stays, '2')
    expect(await at.store.getEntry(stays, as)).not.toHaveProperty('remainingMillis')
    await gone(goes)
    expect(await at.store.get(stays, as)).toBe('2')
  })

  test('touch: true if the key exists, which then has the new ttl in place of the former one', async () => {
    const key = at.key()
    expect(await at.store.touch(key, '1h')).toBe(false)
    const { revision } = await at.store.put(key, 'v', { ttl: '1m' })
    expect(await at.other.touch(key, '1h')).toBe(true)
    const entry = await at.store.getEntry(key, as)
    expect(entry).toMatchObject({ value: 'v', version: 1, modRevision: revision })
    expect(entry?.remainingMillis).toBeGreaterThan(3_000_000)
    await at.store.put(key, 'w')
    expect(await at.store.touch(key, 100)).toBe(true)
    await gone(key)
  })

  test('ttl in putAll (for all entries or for one), batch and txn', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e'].map((name) => at.key(name)) as [
      string,
      string,
      string,
      string,
      string,
    ]
    const [a, b, c, d, e] = keys
    await at.store.putAll(
      [
        { key: a, value: '1' },
        { key: b, value: '1', ttl: '1h' },
      ],
      { ttl: 200 },
    )
    await at.store.putAll(new Map([[c, '1']]), { ttl: 200 })
    await at.store.batch([{ type: 'put', key: d, value: '1', ttl: 200 }])
    const { results } = await at.store.txn({
      then: [
        { type: 'put', key: e, value: '1', ttl: 200 },
        { type: 'get', key: e },
      ],
    })
    expect(results[1]).toMatchObject({ remainingMillis: 200 })
    for (const key of [a, c, d, e]) await gone(key)
    expect(await at.store.containsKey(b)).toBe(true)
    const told = await at.store.txn({ then: [{ type: 'get', key: b }] })
    expect(told.results[0]).toHaveProperty('remainingMillis')
  })

  test('a wrong ttl is a TypeError before any request is sent', async () => {
    const key = at.key()
    for (const ttl of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', '5 s', '', {}, null]) {
      const life = { ttl: ttl as never }
      await expect(at.store.put(key, 'v', life)).rejects.toThrow(TypeError)
      await expect(at.store.putAll([{ key, value: 'v', ...life }])).rejects.toThrow(TypeError)
      await expect(at.store.batch([{ type: 'put', key, value: 'v', ...life }])).rejects.toThrow(TypeError)
      await expect(at.store.touch(key, ttl as never)).rejects.toThrow(TypeError)
    }
    const both = { ttl: '1s', ephemeral: true } as const
    await expect(at.store.put(key, 'v', both)).rejects.toThrow('ttl and ephemeral cannot be given together')
    await expect(at.store.putAll([{ key, value: 'v', ...both }])).rejects.toThrow('entries[0].ttl')
    await expect(at.store.txn({ then: [{ type: 'put', key, value: 'v', ...both }] })).rejects.toThrow(
      'then[0].ttl',
    )
    await expect(at.store.put(key, 'v', { ephemeral: 1 as never })).rejects.toThrow(
      'ephemeral must be true or false',
    )
    expect(await at.store.containsKey(key)).toBe(false)
    await at.store.put(key, 'v', { ttl: Number.MAX_SAFE_INTEGER })
    await at.store.put(key, 'v', { ephemeral: false })
    expect(await at.store.getEntry(key, as)).not.toHaveProperty('remainingMillis')
  })

  test('an ephemeral key exists while its store is open; a put by another store makes it permanent', async () => {
    const key = at.key()
    await at.store.put(key, 'v', { ephemeral: true })
    await sleep(250)
    expect(await at.other.getEntry(key, as)).toMatchObject({ value: 'v', version: 1 })
    await at.other.put(key, 'w')
    expect(await at.store.get(key, as)).toBe('w')
  })

  test('with a guard whose lock is not held, touch changes nothing', async () => {
    const guard = { key: at.key('lock'), token: 99 }
    await at.store.put(at.key(), 'v')
    await expect(at.store.touch(at.key(), 1, { guard })).rejects.toMatchObject(code('ERR_FENCED'))
    await expect(at.store.put(at.key(), 'w', { guard, ttl: 1 })).rejects.toMatchObject(code('ERR_FENCED'))
    expect(await at.store.getEntry(at.key(), as)).toMatchObject({ value: 'v' })
  })
})
