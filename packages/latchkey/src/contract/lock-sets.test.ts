// Test: docs/locks.md, section 12: several locks in one step, on every kind of store.

import { expect, test } from 'vitest'
import { HoldSet } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { code, sleep, TOLD_WITHIN, unlessStalled, until } from './testing/small-test-functions.js'

onEveryStore((at) => {
  const two = (): [string, string] => [at.key('1'), at.key('2')]
  const waiting = async (key: string) => {
    const [row] = await at.store.locks.query(key, { queue: true })
    return row?.queue?.length ?? 0
  }

  test('K80: acquireAll: one hold of all, a token for each key, one release', async () => {
    const [a, b] = two()
    const set = await at.store.locks.acquireAll([b, a], { lease: '30s' })
    expect(set).toBeInstanceOf(HoldSet)
    expect([...set.tokens.keys()]).toEqual([b, a])
    expect(new Set(set.tokens.values()).size).toBe(2)
    expect([set.held, set.signal.aborted, set.remainingMillis() > 10_000]).toEqual([true, false, true])
    set.assertHeld()
    for (const key of [a, b]) {
      expect(await at.other.locks.tryAcquire(key)).toBeUndefined()
      const [row] = await at.store.locks.query(key)
      expect(row?.fencingToken).toBe(set.tokens.get(key))
    }
    await set.release()
    await set.release()
    expect([set.held, set.signal.aborted]).toEqual([false, false])
    expect(() => set.assertHeld()).toThrow(expect.objectContaining(code('ERR_NOT_OWNER')))
    for (const key of [a, b]) await (await at.other.locks.acquire(key, { wait: '20s' })).release()
  })

  test('K80: tryAcquireAll: undefined if one is not free, and nothing is held then', async () => {
    const [a, b] = two()
    const other = await at.other.locks.acquire(b)
    expect(await at.store.locks.tryAcquireAll([a, b])).toBeUndefined()
    await using first = await at.other.locks.tryAcquire(a)
    expect(first?.held).toBe(true)
    await first?.release()
    await other.release()
    await using set = await at.store.locks.tryAcquireAll([a, b])
    expect(set?.held).toBe(true)
  })

  test('K81: a set that waits keeps nobody from the key that it cannot use, and is served in its turn', async () => {
    const [a, b] = two()
    const blocker = await at.other.locks.acquire(b)
    const waits = at.store.locks.acquireAll([a, b], { wait: '30s' })
    await until(async () => (await waiting(b)) === 1)
    const passing = await at.other.locks.tryAcquire(a)
    expect(passing?.held).toBe(true)
    await blocker.release()
    expect(await at.other.locks.tryAcquire(b)).toBeUndefined()
    await passing?.release()
    await using set = await waits
    expect(set.held).toBe(true)
  })

  test('two callers that name the keys in other orders never wait for each other', async () => {
    const [a, b] = two()
    let most = 0
    let inside = 0
    const work = async (store: typeof at.store, keys: string[]) => {
      for (let i = 0; i < 5; i++) {
        await using set = await store.locks.acquireAll(keys, { wait: '60s' })
        most = Math.max(most, ++inside)
        await set.kv.put(at.key('v'), `${i}`)
        inside--
      }
    }
    await Promise.all([work(at.store, [a, b]), work(at.other, [b, a]), work(at.other, [a, b])])
    expect(most).toBe(1)
  })

  test('modes: a shared key stands beside other readers', async () => {
    const [a, b] = two()
    await using reader = await at.other.locks.acquire(a, { mode: 'shared' })
    await using set = await at.store.locks.acquireAll([{ key: a, mode: 'shared' }, { key: b }], {
      wait: '20s',
    })
    expect([reader.held, set.held]).toEqual([true, true])
    await set.kv.put(at.key('v'), '1')
    expect(await at.other.locks.tryAcquire(b, { mode: 'shared' })).toBeUndefined()
    await using only = await at.store.locks.acquireAll([{ key: a, mode: 'shared' }])
    await expect(only.kv.put(at.key('v'), '2')).rejects.toMatchObject(code('ERR_FENCED'))
  })

  test('kv: every write is guarded by all of the locks', async () => {
    const [a, b] = two()
    const set = await at.store.locks.acquireAll([a, b])
    await set.kv.put(at.key('v'), 'guarded')
    expect(await at.other.locks.forceRelease(b, set.tokens.get(b) ?? 0)).toBe(true)
    await expect(set.kv.put(at.key('v'), 'late')).rejects.toMatchObject(code('ERR_FENCED'))
    expect(await at.store.get(at.key('v'), { as: 'string' })).toBe('guarded')
    await set.release()
  })

  test('the loss of one lock is the loss of all: the signal aborts, and the others are released', async () => {
    const [a, b] = two()
    const set = await at.store.locks.acquireAll([a, b], { lease: '4s' })
    const { signal } = set
    await at.other.locks.forceRelease(b, set.tokens.get(b) ?? 0)
    await until(() => signal.aborted)
    expect(signal.reason).toMatchObject(code('ERR_LOCK_LOST'))
    expect(set.held).toBe(false)
    expect(() => set.assertHeld()).toThrow(expect.objectContaining(code('ERR_LOCK_LOST')))
    await using next = await at.other.locks.acquire(a, { wait: '20s' })
    expect(next.held).toBe(true)
  })

  test('a wait that ends: ERR_TIMEOUT with the holder; aborted: ERR_ABORTED; nothing is left behind', async () => {
    const [a, b] = two()
    await using _ = await at.other.locks.acquire(b, { context: 'me' })
    await unlessStalled(TOLD_WITHIN, () =>
      expect(at.store.locks.acquireAll([a, b], { wait: 100 })).rejects.toMatchObject(
        code('ERR_TIMEOUT', { key: b, holder: expect.objectContaining({ context: 'me' }) }),
      ),
    )
    expect(await at.store.locks.tryAcquireAll([a, b], { wait: 50 })).toBeUndefined()
    const abort = new AbortController()
    const waits = at.store.locks.acquireAll([a, b], { signal: abort.signal })
    waits.catch(() => {})
    await until(async () => (await waiting(b)) === 1)
    abort.abort(new Error('enough'))
    await expect(waits).rejects.toMatchObject(code('ERR_ABORTED'))
    await until(async () => (await waiting(b)) === 0)
  })

  test('renewed together, and released by releaseAll', async () => {
    const [a, b] = two()
    await unlessStalled(400, async () => {
      await using set = await at.store.locks.acquireAll([a, b], { lease: 1_200 })
      await sleep(1_800)
      expect(set.held).toBe(true)
      expect(await at.store.locks.releaseAll()).toBeGreaterThanOrEqual(2)
      expect([set.held, set.signal.aborted]).toEqual([false, true])
    })
    await using next = await at.other.locks.acquireAll([b, a], { wait: '20s' })
    expect(next.held).toBe(true)
  })

  test('within withLock of one of the keys, and without a wait: ERR_DEADLOCK', async () => {
    const [a, b] = two()
    await at.store.locks.withLock(a, async () => {
      await expect(at.store.locks.acquireAll([a, b])).rejects.toMatchObject(code('ERR_DEADLOCK'))
    })
  })

  test.each([
    ['no keys', []],
    ['a key twice', ['k', { key: 'k', mode: 'shared' as const }]],
    ['65 keys', Array.from({ length: 65 }, (_, i) => `k${i}`)],
    ['an unknown mode', [{ key: 'k', mode: 'both' as never }]],
    ['an unknown field', [{ key: 'k', mod: 'shared' } as never]],
    ['a word', 'k' as never],
  ])('%s is a TypeError', async (_, keys) => {
    await expect(at.store.locks.acquireAll(keys)).rejects.toThrow(TypeError)
    await expect(at.store.locks.tryAcquireAll(keys)).rejects.toThrow(TypeError)
  })

  test('64 keys', async () => {
    const keys = Array.from({ length: 64 }, (_, i) => at.key(`many/${i}`))
    await using set = await at.store.locks.acquireAll(keys)
    expect(set.tokens.size).toBe(64)
  })
})
