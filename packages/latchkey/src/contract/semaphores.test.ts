// Test: docs/semaphores.md: permits, the queue, and the number of permits, on every kind of store.

import { expect, test } from 'vitest'
import { Permit } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { code, TOLD_WITHIN, unlessStalled, until } from './testing/small-test-functions.js'

onEveryStore((at) => {
  const out = async () => (await at.store.semaphores.query(at.key())).map(({ permits }) => permits)
  const waiting = async () => {
    const [row] = await at.store.semaphores.query(at.key(), { queue: true })
    return row?.queue?.map(({ permits }) => permits) ?? []
  }

  test('acquire: a permit as a hold, with permits, name, token, signal and release', async () => {
    const permit = await at.store.semaphores.acquire(at.key(), { of: 2, lease: '30s' })
    expect(permit).toBeInstanceOf(Permit)
    expect([permit.name, permit.permits, permit.held, permit.signal.aborted]).toEqual([
      at.key(),
      1,
      true,
      false,
    ])
    expect(permit.remainingMillis()).toBeGreaterThan(10_000)
    permit.assertHeld()
    await permit.kv.put(at.key('a'), '1')
    await permit.release()
    expect(permit.held).toBe(false)
    await expect(permit.kv.put(at.key('a'), '2')).rejects.toMatchObject(code('ERR_FENCED'))
  })

  test('K63: never more permits out than there are; a large request is not starved by small ones', async () => {
    const held = await at.store.semaphores.acquire(at.key(), { of: 3, permits: 2 })
    const large = at.other.semaphores.acquire(at.key(), { of: 3, permits: 3, wait: '20s' })
    await until(async () => (await waiting()).length === 1)
    expect(await at.other.semaphores.tryAcquire(at.key(), { of: 3 })).toBeUndefined()
    const small = at.store.semaphores.acquire(at.key(), { of: 3, wait: '20s' })
    await until(async () => (await waiting()).length === 2)
    expect([await out(), await waiting()]).toEqual([[2], [3, 1]])
    await held.release()
    const got = await large
    expect([await out(), await waiting()]).toEqual([[3], [1]])
    await got.release()
    await (await small).release()
  })

  test('K63: another number of permits is ERR_MISMATCH with the present one', async () => {
    await using _ = await at.store.semaphores.acquire(at.key(), { of: 3 })
    await expect(at.other.semaphores.acquire(at.key(), { of: 4 })).rejects.toMatchObject(
      code('ERR_MISMATCH', { present: 3 }),
    )
    await expect(at.other.semaphores.tryAcquire(at.key(), { of: 2 })).rejects.toMatchObject({ present: 3 })
  })

  test('locks.query lists holds of each kind and of all, and locks alone without a kind', async () => {
    const { store } = at
    const name = at.key('kinds')
    const lock = await store.locks.acquire(name)
    const permit = await store.semaphores.acquire(name, { of: 3, permits: 2 })
    const leadership = await store.elections.campaign(name)
    const wait = store.semaphores.acquire(name, { of: 3, permits: 3 })
    await until(async () => (await store.semaphores.query(name))[0]?.waiters === 1)
    const asked = async (kind: 'lock' | 'semaphore' | 'election' | 'webLock' | 'all') =>
      (await store.locks.query(name, { kind, as: 'string' })).map((row) => [row.kind, row.key, row.permits])
    expect(await store.locks.query(name)).toMatchObject([{ fencingToken: lock.token }])
    expect((await store.locks.query(name))[0]).not.toHaveProperty('kind')
    expect(await asked('lock')).toEqual([['lock', name, undefined]])
    expect(await asked('election')).toEqual([['election', name, undefined]])
    await store.webLocks.request(name, async () => {
      expect(await asked('all')).toEqual([
        ['lock', name, undefined],
        ['semaphore', name, 2],
        ['election', name, undefined],
        ['webLock', name, undefined],
      ])
    })
    expect(await store.locks.query(name, { kind: 'semaphore', queue: true })).toMatchObject([
      { kind: 'semaphore', mode: 'shared', permits: 2, waiters: 1, queue: [{ permits: 3 }] },
    ])
    await expect(store.locks.query(name, { kind: 'latch' as never })).rejects.toThrow(
      "kind must be 'lock', 'semaphore', 'election', 'webLock' or 'all'",
    )
    await Promise.all([lock.release(), leadership.resign(), permit.release()])
    await (await wait).release()
  })

  test('resize: more permits are granted at once, fewer take nothing back', async () => {
    await using first = await at.store.semaphores.acquire(at.key(), { of: 1 })
    const second = at.other.semaphores.acquire(at.key(), { of: 1, wait: '20s' })
    await until(async () => (await waiting()).length === 1)
    await at.store.semaphores.resize(at.key(), 2)
    await using got = await second
    await at.store.semaphores.resize(at.key(), 1)
    expect([first.held, got.held]).toEqual([true, true])
    expect(await at.store.semaphores.tryAcquire(at.key(), { of: 1 })).toBeUndefined()
  })

  test('tryAcquire: undefined where none is free; a wait that is over is ERR_TIMEOUT with the holder', async () => {
    await using held = await at.store.semaphores.acquire(at.key(), { of: 1, context: 'report 7' })
    expect(await at.other.semaphores.tryAcquire(at.key(), { of: 1 })).toBeUndefined()
    await unlessStalled(TOLD_WITHIN, () =>
      expect(at.other.semaphores.acquire(at.key(), { of: 1, wait: 50 })).rejects.toMatchObject(
        code('ERR_TIMEOUT', { holder: { context: 'report 7', fencingToken: held.token } }),
      ),
    )
  })

  test('a semaphore and a lock of one name have nothing to do with each other', async () => {
    await using lock = await at.store.locks.acquire(at.key())
    await using permit = await at.store.semaphores.acquire(at.key(), { of: 1 })
    expect([lock.held, permit.held]).toEqual([true, true])
    expect((await at.store.locks.query(at.key())).length).toBe(1)
    const [row] = await at.store.semaphores.query(at.key(), { as: 'string' })
    expect(row).toMatchObject({ name: at.key(), permits: 1, fencingToken: permit.token, waiters: 0 })
  })

  test('the lease of a permit ends, and its permits go to the next', async () => {
    await at.store.semaphores.acquire(at.key(), { of: 1, lease: 300, renew: false })
    await using next = await at.other.semaphores.acquire(at.key(), { of: 1, wait: '20s' })
    expect(next.held).toBe(true)
  })

  test('wrong numbers and unknown options are TypeErrors that name them', async () => {
    const acquire = (options: object) => at.store.semaphores.acquire(at.key(), options as { of: number })
    await expect(acquire({})).rejects.toThrow(/of must be a whole number from 1/)
    await expect(acquire({ of: 2, permits: 3 })).rejects.toThrow(/permits must be at most of, which is 2/)
    await expect(acquire({ of: 2, permits: 0 })).rejects.toThrow(/permits must be a whole number/)
    await expect(acquire({ of: 2, permit: 1 })).rejects.toThrow(
      /unknown option "permit".*did you mean "permits"/,
    )
    await expect(at.store.semaphores.resize(at.key(), 0)).rejects.toThrow(TypeError)
  })
})
