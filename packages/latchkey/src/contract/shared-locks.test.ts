// Test: docs/locks.md, section 10: shared and exclusive holds of one lock, on every kind of store.

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { code, until } from './testing/small-test-functions.js'

onEveryStore((at) => {
  const waiters = async () => {
    const [row] = await at.store.locks.query(at.key(), { queue: true })
    return row?.queue?.map(({ mode }) => mode) ?? []
  }

  test('K61: shared holds stand beside each other; the next exclusive one waits for all and has a higher token', async () => {
    const first = await at.store.locks.acquire(at.key(), { mode: 'shared' })
    const second = await at.other.locks.acquire(at.key(), { mode: 'shared' })
    expect([first.mode, second.mode, second.token > first.token]).toEqual(['shared', 'shared', true])
    expect((await at.store.locks.query(at.key())).map(({ mode, waiters }) => [mode, waiters])).toEqual([
      ['shared', 0],
      ['shared', 0],
    ])
    expect(await at.store.locks.tryAcquire(at.key())).toBeUndefined()
    const writer = at.other.locks.acquire(at.key(), { wait: '20s' })
    await until(async () => (await waiters()).length === 1)
    await first.release()
    expect(await waiters()).toEqual(['exclusive'])
    await second.release()
    await using hold = await writer
    expect([hold.mode, hold.token > second.token]).toEqual(['exclusive', true])
  })

  test('K62: a reader behind a waiting writer waits, and readers in a row are granted together', async () => {
    const writer = await at.store.locks.acquire(at.key())
    const queued = ['shared', 'shared', 'exclusive', 'shared'] as const
    const granted: number[] = []
    const holds = []
    for (const [i, mode] of queued.entries()) {
      const asked = at.other.locks.acquire(at.key(), { mode, wait: '20s' })
      holds.push(asked.finally(() => granted.push(i)))
      await until(async () => (await waiters()).length === i + 1)
    }
    expect(await at.store.locks.tryAcquire(at.key(), { mode: 'shared' })).toBeUndefined()
    await writer.release()
    const [one, two] = [await holds[0], await holds[1]]
    expect(await waiters()).toEqual(['exclusive', 'shared'])
    await one?.release()
    await two?.release()
    await (await holds[2])?.release()
    await (await holds[3])?.release()
    expect([...granted.slice(0, 2).sort(), ...granted.slice(2)]).toEqual([0, 1, 2, 3])
  })

  test('downgrade: keeps the token, lets waiting readers in, and a write is then refused', async () => {
    await using hold = await at.store.locks.acquire(at.key())
    const { token } = hold
    await hold.kv.put(at.key('a'), '1')
    const reader = at.other.locks.acquire(at.key(), { mode: 'shared', wait: '20s' })
    await until(async () => (await waiters()).length === 1)
    await hold.downgrade()
    await hold.downgrade()
    await using other = await reader
    expect([hold.mode, hold.token, hold.held, other.held]).toEqual(['shared', token, true, true])
    await expect(hold.kv.put(at.key('a'), '2')).rejects.toMatchObject(code('ERR_FENCED'))
  })

  test('downgrade of a hold that was released is ERR_NOT_OWNER', async () => {
    const hold = await at.store.locks.acquire(at.key())
    await hold.release()
    await expect(hold.downgrade()).rejects.toMatchObject(code('ERR_NOT_OWNER'))
  })

  test('guards: the token of a shared hold writes only where the guard says so, and only while it is held', async () => {
    const hold = await at.store.locks.acquire(at.key(), { mode: 'shared' })
    const guard = { key: at.key(), token: hold.token }
    await expect(at.store.put(at.key('a'), '1', { guard })).rejects.toMatchObject(code('ERR_FENCED'))
    await expect(hold.kv.put(at.key('a'), '1')).rejects.toMatchObject(code('ERR_FENCED'))
    await at.other.put(at.key('a'), '1', { guard: { ...guard, shared: true } })
    await hold.release()
    await expect(at.other.put(at.key('a'), '2', { guard: { ...guard, shared: true } })).rejects.toMatchObject(
      code('ERR_FENCED'),
    )
    await using exclusive = await at.store.locks.acquire(at.key())
    await at.other.put(at.key('a'), '3', { guard: { key: at.key(), token: exclusive.token, shared: true } })
    expect(await at.store.get(at.key('a'), { as: 'string' })).toBe('3')
  })

  test('a hold is a guard as it stands', async () => {
    const hold = await at.store.locks.acquire(at.key())
    await at.other.put(at.key('a'), '1', { guard: hold })
    await hold.release()
    await expect(at.other.put(at.key('a'), '2', { guard: hold })).rejects.toMatchObject(code('ERR_FENCED'))
  })

  test('forceRelease ends one of several shared holds; its owner hears it', async () => {
    await using kept = await at.store.locks.acquire(at.key(), { mode: 'shared' })
    const taken = await at.store.locks.acquire(at.key(), { mode: 'shared', lease: '5s' })
    expect(await at.other.locks.forceRelease(at.key(), taken.token)).toBe(true)
    await until(() => taken.signal.aborted)
    expect([kept.held, taken.held]).toEqual([true, false])
    await expect(taken.release()).resolves.toBeUndefined()
  })

  test('getDistributedLock: shared locks of two objects, reentrant within the mode, one unlock each', async () => {
    const lock = at.store.getDistributedLock(at.key(), '10s', undefined, { mode: 'shared' })
    const other = at.other.getDistributedLock(at.key(), '10s', undefined, { mode: 'shared' })
    expect([await lock.tryLock(), await other.tryLock(), await lock.tryLock()]).toEqual([true, true, true])
    expect(await at.other.getDistributedLock(at.key(), '10s').tryLock()).toBe(false)
    expect([await lock.unlock(), await lock.unlock(), await other.unlock()]).toEqual([
      { acquires: 1 },
      { acquires: 0 },
      { acquires: 0 },
    ])
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('releaseAll gives shared holds back too', async () => {
    const holds = [at.key('a'), at.key('a'), at.key('b')].map((key) =>
      at.store.locks.acquire(key, { mode: 'shared' }),
    )
    await Promise.all(holds)
    expect(await at.store.locks.releaseAll()).toBe(3)
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('another mode is a TypeError, also for getDistributedLock and in a guard', async () => {
    const mode = 'read' as 'shared'
    await expect(at.store.locks.acquire(at.key(), { mode })).rejects.toThrow(
      /mode must be 'exclusive' or 'shared'/,
    )
    expect(() => at.store.getDistributedLock(at.key(), '1s', undefined, { mode })).toThrow(TypeError)
    const guard = { key: at.key(), token: 1, shared: 1 as unknown as boolean }
    await expect(at.store.put(at.key(), 'v', { guard })).rejects.toThrow(/guard.shared must be true or false/)
  })
})
