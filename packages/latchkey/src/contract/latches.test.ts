// Test: docs/latches.md: latches and barriers on every kind of store.

import { beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { code, TOLD_WITHIN, unlessStalled, until } from './testing/small-test-functions.js'

onEveryStore((at) => {
  /** Until that many calls wait at latches and barriers of the whole store. */
  const waiting = (count: number) =>
    until(async () => {
      const sessions = await at.store.sessions.list()
      return sessions.reduce((sum, { waiters }) => sum + waiters, 0) === count
    })
  beforeEach(() => waiting(0))

  describe('latches', () => {
    const stores = (): [Store, Store] => [at.store, at.other]

    test('opens for all who wait, here and elsewhere, and stays open', async () => {
      const [store, other] = stores()
      const name = at.key()
      expect(await store.latches.create(name, 2)).toBe(true)
      const all = Promise.all([store.latches.wait(name), other.latches.wait(name), store.latches.wait(name)])
      await waiting(3)
      expect(await other.latches.countDown(name)).toBe(1)
      await waiting(3)
      expect(await store.latches.countDown(name)).toBe(0)
      expect(await all).toEqual([undefined, undefined, undefined])
      await other.latches.wait(name)
    })

    test('query lists latches below a prefix by name, with what they have to count and who waits', async () => {
      const [store, other] = stores()
      await store.latches.create(at.key('b'), 2)
      await store.latches.create(at.key('a'), 0)
      const wait = other.latches.wait(at.key('b'))
      await waiting(1)
      const prefix = at.key('')
      expect(await store.latches.query(prefix, { as: 'string' })).toEqual([
        { name: `${prefix}a`, count: 0, waiters: 0 },
        { name: `${prefix}b`, count: 2, waiters: 1 },
      ])
      expect(await store.latches.query(at.key('none'))).toEqual([])
      expect(await store.sub(prefix).latches.query(undefined, { as: 'string' })).toMatchObject([
        { name: 'a' },
        { name: 'b' },
      ])
      await store.latches.countDown(at.key('b'), 2)
      await wait
      await expect(store.latches.query(prefix, { queue: true } as never)).rejects.toThrow(TypeError)
    })

    test('create: false where there is one, which stays as it is; with 0 it is open at once', async () => {
      const { store } = at
      expect(await store.latches.create(at.key(), 3)).toBe(true)
      expect(await store.latches.create(at.key(), 1)).toBe(false)
      expect(await store.latches.countDown(at.key(), 2)).toBe(1)
      expect(await store.latches.create(at.key('open'), 0)).toBe(true)
      await store.latches.wait(at.key('open'))
    })

    test('countDown never goes below 0; of a latch that is not there it is ERR_MISMATCH', async () => {
      const { store } = at
      await store.latches.create(at.key(), 2)
      expect(await store.latches.countDown(at.key(), 5)).toBe(0)
      expect(await store.latches.countDown(at.key())).toBe(0)
      await expect(store.latches.countDown(at.key('none'))).rejects.toMatchObject(
        code('ERR_MISMATCH', { key: at.key('none'), outcome: 'not-applied' }),
      )
    })

    test('a wait for a latch that is not there is ERR_MISMATCH, and so is one whose latch is removed', async () => {
      const [store, other] = stores()
      await expect(store.latches.wait(at.key())).rejects.toMatchObject(code('ERR_MISMATCH'))
      await store.latches.create(at.key(), 1)
      const refused = expect(store.latches.wait(at.key())).rejects.toMatchObject(
        code('ERR_MISMATCH', { message: /was removed/ }),
      )
      await waiting(1)
      expect(await other.latches.remove(at.key())).toBe(true)
      await refused
      expect(await store.latches.remove(at.key())).toBe(false)
      expect(await store.latches.create(at.key(), 1)).toBe(true)
    })

    test('a wait that is over is ERR_TIMEOUT with what is missing; a signal ends it with ERR_ABORTED', async () => {
      const { store } = at
      await store.latches.create(at.key(), 3)
      await unlessStalled(TOLD_WITHIN, () =>
        expect(store.latches.wait(at.key(), { timeout: 500 })).rejects.toMatchObject(
          code('ERR_TIMEOUT', { key: at.key(), message: /still to count down by 3/, outcome: 'not-applied' }),
        ),
      )
      const controller = new AbortController()
      const refused = expect(
        store.latches.wait(at.key(), { signal: controller.signal }),
      ).rejects.toMatchObject(code('ERR_ABORTED', { cause: 'enough' }))
      await waiting(1)
      controller.abort('enough')
      await refused
      const aborted = { signal: AbortSignal.abort() }
      await expect(store.latches.wait(at.key(), aborted)).rejects.toMatchObject(code('ERR_ABORTED'))
      expect(await store.latches.countDown(at.key())).toBe(2)
    })

    test('a mistake is a TypeError', async () => {
      const { latches } = at.store
      for (const count of [-1, 1.5, Number.NaN, '1', undefined])
        await expect(latches.create(at.key(), count as number)).rejects.toThrow(TypeError)
      for (const by of [0, -1, 0.5, '1'])
        await expect(latches.countDown(at.key(), by as number)).rejects.toThrow(TypeError)
      await expect(latches.create('', 1)).rejects.toThrow(TypeError)
      await expect(latches.create('n'.repeat(4_097), 1)).rejects.toMatchObject(code('ERR_TOO_LARGE'))
      await expect(latches.wait(at.key(), { timeout: 0 })).rejects.toThrow(TypeError)
    })
  })

  describe('barriers', () => {
    test('all go on together, with one generation and the indexes of their arrival; then again', async () => {
      const name = at.key()
      for (const generation of [1, 2]) {
        const first = at.store.barriers.enter(name, { parties: 3 })
        await waiting(1)
        const second = at.other.barriers.enter(name, { parties: 3 })
        await waiting(2)
        const third = at.store.barriers.enter(name, { parties: 3 })
        expect(await Promise.all([first, second, third])).toEqual([
          { generation, index: 0 },
          { generation, index: 1 },
          { generation, index: 2 },
        ])
      }
    })

    test('query lists the barriers that somebody waits at', async () => {
      const { store, other } = at
      await store.barriers.enter(at.key('over'), { parties: 1 })
      const first = store.barriers.enter(at.key('round'), { parties: 2 })
      await waiting(1)
      expect(await other.barriers.query(at.key(''), { as: 'string' })).toEqual([
        { name: at.key('round'), generation: 1, parties: 2, waiters: 1 },
      ])
      await other.barriers.enter(at.key('round'), { parties: 2 })
      await first
      expect(await other.barriers.query(at.key(''))).toEqual([])
    })

    test('one party passes at once; each pass is a generation', async () => {
      const alone = () => at.store.barriers.enter(at.key(), { parties: 1 })
      expect([await alone(), await alone()]).toEqual([
        { generation: 1, index: 0 },
        { generation: 2, index: 0 },
      ])
    })

    test('another number of parties than those who wait for is ERR_MISMATCH, with theirs', async () => {
      const name = at.key()
      const first = at.store.barriers.enter(name, { parties: 2 })
      await waiting(1)
      await expect(at.other.barriers.enter(name, { parties: 3 })).rejects.toMatchObject(
        code('ERR_MISMATCH', { present: 2, key: name }),
      )
      await at.other.barriers.enter(name, { parties: 2 })
      await first
      expect(await at.store.barriers.enter(name, { parties: 1 })).toEqual({ generation: 2, index: 0 })
    })

    test('who gives up leaves its place to another: ERR_TIMEOUT with how many are missing, ERR_ABORTED', async () => {
      const name = at.key()
      const first = at.store.barriers.enter(name, { parties: 3 })
      await unlessStalled(TOLD_WITHIN, async () => {
        // A party that gave up during a standstill leaves the barrier a moment later.
        await waiting(1)
        await expect(at.other.barriers.enter(name, { parties: 3, wait: 500 })).rejects.toMatchObject(
          code('ERR_TIMEOUT', { key: name, outcome: 'not-applied', message: /: 1 of the 3 parties/ }),
        )
      })
      const controller = new AbortController()
      const aborted = at.other.barriers.enter(name, { parties: 3, signal: controller.signal })
      const refused = expect(aborted).rejects.toMatchObject(code('ERR_ABORTED', { outcome: 'unknown' }))
      await waiting(2)
      controller.abort()
      await refused
      const second = at.other.barriers.enter(name, { parties: 3 })
      await waiting(2)
      const third = at.store.barriers.enter(name, { parties: 3 })
      expect(await Promise.all([first, second, third])).toMatchObject([
        { index: 0 },
        { index: 1 },
        { index: 2 },
      ])
    })

    test('a mistake is a TypeError', async () => {
      const { barriers } = at.store
      for (const parties of [0, -1, 1.5, '2', undefined, 10_001])
        await expect(barriers.enter(at.key(), { parties: parties as number })).rejects.toThrow(TypeError)
      await expect(barriers.enter(at.key(), undefined as never)).rejects.toThrow(TypeError)
      await expect(barriers.enter(at.key(), { parties: 2, wait: -1 })).rejects.toThrow(TypeError)
      await expect(barriers.enter('', { parties: 2 })).rejects.toThrow(TypeError)
    })
  })

  test('a latch, a barrier, a lock and a key of one name are four things', async () => {
    const name = at.key()
    const { store } = at
    await store.latches.create(name, 1)
    expect(await store.barriers.enter(name, { parties: 1 })).toEqual({ generation: 1, index: 0 })
    await using hold = await store.locks.acquire(name)
    await store.put(name, 'v')
    expect([hold.held, await store.latches.countDown(name)]).toEqual([true, 0])
    expect(await store.get(name, { as: 'string' })).toBe('v')
  })

  test('SV1, SV2: a latch and a barrier of a sub are below its prefix, and its errors do not show it', async () => {
    const sub = at.store.sub(at.key('v/'))
    expect(await sub.latches.create('l', 2)).toBe(true)
    expect(await at.other.latches.countDown(at.key('v/l'))).toBe(1)
    const open = sub.latches.wait('l')
    await waiting(1)
    await at.other.latches.countDown(at.key('v/l'))
    await open
    await expect(sub.latches.wait('none')).rejects.toMatchObject(
      code('ERR_MISMATCH', { key: 'none', message: /no latch "none"/ }),
    )
    const first = sub.barriers.enter('b', { parties: 2 })
    await waiting(1)
    await at.other.barriers.enter(at.key('v/b'), { parties: 2 })
    expect(await first).toEqual({ generation: 1, index: 0 })
  })
})
