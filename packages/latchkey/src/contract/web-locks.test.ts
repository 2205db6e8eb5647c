// Test: store.webLocks behaves like navigator.locks, on every kind of store. The tests repeat those tests of
// the web platform that need no document, frame or worker (docs/web-locks.md).

import { expect, test } from 'vitest'
import type { Store, WebLock, WebLockOptions } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { until } from './testing/small-test-functions.js'

/** A callback that holds its lock until it is let go. */
function keeper() {
  let release: () => void = () => {}
  const released = new Promise<string>((resolve) => {
    release = () => resolve('done')
  })
  let got: (lock: WebLock | null) => void = () => {}
  const lock = new Promise<WebLock | null>((resolve) => {
    got = resolve
  })
  const callback = (given: WebLock | null) => {
    got(given)
    return released
  }
  return { callback, release: () => release(), lock }
}

async function keep(store: Store, name: string, options: WebLockOptions = {}) {
  const { callback, release, lock } = keeper()
  const done = store.webLocks.request(name, options, callback)
  done.catch(() => {})
  return { done, release, lock: await lock }
}

onEveryStore((at) => {
  const of = async () => {
    const { held, pending } = await at.store.webLocks.query()
    const mine = (list: typeof held) => list.filter(({ name }) => name === at.key()).map(({ mode }) => mode)
    return [mine(held), mine(pending)]
  }

  test('the callback gets a lock with name and mode, and its result is the request’s', async () => {
    const seen: (WebLock | null)[] = []
    expect(
      await at.store.webLocks.request(at.key(), (lock) => {
        seen.push(lock)
        return 123
      }),
    ).toBe(123)
    await at.store.webLocks.request(at.key(), { mode: 'shared' }, async (lock) => void seen.push(lock))
    expect(seen.map((lock) => [lock?.name, lock?.mode])).toEqual([
      [at.key(), 'exclusive'],
      [at.key(), 'shared'],
    ])
    expect(await of()).toEqual([[], []])
  })

  test('a callback that throws or rejects: so does the request, and the lock is free', async () => {
    const fault = new Error('fault')
    const throwing = () => {
      throw fault
    }
    await expect(at.store.webLocks.request(at.key(), throwing)).rejects.toBe(fault)
    await expect(at.store.webLocks.request(at.key(), () => Promise.reject(fault))).rejects.toBe(fault)
    expect(await at.store.webLocks.request(at.key(), { ifAvailable: true }, (lock) => lock !== null)).toBe(
      true,
    )
  })

  test('a lock is held until the callback’s promise settles; requests are served in their order', async () => {
    const first = await keep(at.store, at.key())
    const order: number[] = []
    const rest = []
    for (const n of [1, 2, 3]) {
      rest.push(at.other.webLocks.request(at.key(), async () => void order.push(n)))
      await until(async () => (await of())[1]?.length === n)
    }
    expect(order).toEqual([])
    first.release()
    expect(await first.done).toBe('done')
    await Promise.all(rest)
    expect(order).toEqual([1, 2, 3])
  })

  test('shared locks stand beside each other, an exclusive one waits, and nobody overtakes it', async () => {
    const [one, two] = [
      await keep(at.store, at.key(), { mode: 'shared' }),
      await keep(at.other, at.key(), { mode: 'shared' }),
    ]
    const writer = keeper()
    const wrote = at.other.webLocks.request(at.key(), writer.callback)
    await until(async () => (await of())[1]?.length === 1)
    expect(await of()).toEqual([['shared', 'shared'], ['exclusive']])
    const late = { mode: 'shared', ifAvailable: true } as const
    expect(await at.store.webLocks.request(at.key(), late, (lock) => lock)).toBeNull()
    one.release()
    two.release()
    expect((await writer.lock)?.mode).toBe('exclusive')
    writer.release()
    await wrote
  })

  test('names do not meet, neither each other nor those of store.locks', async () => {
    const one = await keep(at.store, at.key('a'))
    const two = await keep(at.store, at.key('b'))
    await using lock = await at.store.locks.acquire(at.key('a'))
    expect([lock.held, one.lock?.signal.aborted]).toEqual([true, false])
    one.release()
    two.release()
    await Promise.all([one.done, two.done])
  })

  test('ifAvailable: null where it is held, the lock where it is free, and its holder is not disturbed', async () => {
    const first = await keep(at.store, at.key())
    const ask = (mode: 'exclusive' | 'shared') =>
      at.other.webLocks.request(at.key(), { ifAvailable: true, mode }, (lock) => lock?.mode ?? null)
    expect([await ask('exclusive'), await ask('shared')]).toEqual([null, null])
    const fault = new Error('in the callback')
    await expect(
      at.other.webLocks.request(at.key(), { ifAvailable: true }, () => Promise.reject(fault)),
    ).rejects.toBe(fault)
    first.release()
    await first.done
    expect([await ask('exclusive'), await ask('shared')]).toEqual(['exclusive', 'shared'])
  })

  test('signal: aborted before, the reason; while it waits, it leaves the queue; while it holds, nothing', async () => {
    const reason = new Error('not wanted any more')
    const never = () => expect.unreachable()
    const before = { signal: AbortSignal.abort(reason) }
    await expect(at.store.webLocks.request(at.key(), before, never)).rejects.toBe(reason)
    const plain = { signal: AbortSignal.abort() }
    await expect(at.store.webLocks.request(at.key(), plain, never)).rejects.toMatchObject({
      name: 'AbortError',
    })

    const first = await keep(at.store, at.key())
    const abort = new AbortController()
    const waiting = at.other.webLocks.request(at.key(), { signal: abort.signal }, never)
    await until(async () => (await of())[1]?.length === 1)
    abort.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await until(async () => (await of())[1]?.length === 0)
    first.release()
    await first.done

    const late = new AbortController()
    const holding = await keep(at.store, at.key(), { signal: late.signal })
    late.abort()
    holding.release()
    expect(await holding.done).toBe('done')
  })

  test('K66: steal takes the lock before all who wait; the request that held it rejects with an AbortError', async () => {
    const first = await keep(at.store, at.key())
    const waiting = keeper()
    const waited = at.store.webLocks.request(at.key(), waiting.callback)
    await until(async () => (await of())[1]?.length === 1)
    const thief = await keep(at.other, at.key(), { steal: true })
    expect(thief.lock?.mode).toBe('exclusive')
    await expect(first.done).rejects.toMatchObject({ name: 'AbortError' })
    expect(first.lock?.signal.aborted).toBe(true)
    expect(await of()).toEqual([['exclusive'], ['exclusive']])
    const again = await keep(at.other, at.key(), { steal: true })
    await expect(thief.done).rejects.toMatchObject({ name: 'AbortError' })
    again.release()
    await again.done
    await waiting.lock
    waiting.release()
    await waited
    for (const kept of [first, thief]) kept.release()
  })

  test('K66: steal takes it from all who share it, and where it is free it is as any request', async () => {
    const shared = [
      await keep(at.store, at.key(), { mode: 'shared' }),
      await keep(at.other, at.key(), { mode: 'shared' }),
    ]
    const thief = await keep(at.store, at.key(), { steal: true })
    for (const { done } of shared) await expect(done).rejects.toMatchObject({ name: 'AbortError' })
    thief.release()
    expect(await thief.done).toBe('done')
    expect(await at.store.webLocks.request(at.key(), { steal: true }, () => 'free')).toBe('free')
    for (const { release } of shared) release()
  })

  test('options that exclude each other, names with a dash, wrong modes and callbacks', async () => {
    const request = (name: string, options: object) => at.store.webLocks.request(name, options, () => 1)
    const notSupported = { name: 'NotSupportedError' }
    await expect(request('-x', {})).rejects.toMatchObject(notSupported)
    await expect(request('x', { steal: true, ifAvailable: true })).rejects.toMatchObject(notSupported)
    await expect(request('x', { steal: true, mode: 'shared' })).rejects.toMatchObject(notSupported)
    const { signal } = new AbortController()
    await expect(request('x', { signal, steal: true })).rejects.toMatchObject(notSupported)
    await expect(request('x', { signal, ifAvailable: true })).rejects.toMatchObject(notSupported)
    await expect(request('x', { mode: 'upgrade' })).rejects.toThrow(TypeError)
    await expect(request('x', { signal: 'now' })).rejects.toThrow(TypeError)
    await expect(at.store.webLocks.request('x', 7 as never)).rejects.toThrow(TypeError)
    await expect(at.store.webLocks.request('x', {}, undefined as never)).rejects.toThrow(TypeError)
  })
})
