// Test: the lock object with RheaKV's interface (docs/api.md, and docs/locks.md, sections 5 and 7).

import { type Duration, LatchkeyError, OP } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { K } from '../testing/lock-test-commands.js'
import { codeOf, finish, scene } from '../testing/store-in-virtual-time.js'
import { Watchdog } from './renewing-watchdog.js'

describe('acquire and release', () => {
  test('a hold has a token, remaining time and a signal; unlock ends it and does not abort its signal', async () => {
    const { world, locking } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    expect([lock.held, lock.remainingMillis(), lock.getOwner()]).toEqual([false, 0, undefined])
    expect(await finish(world, lock.tryLock({ context: 'me' }))).toBe(true)
    expect([lock.held, lock.getFencingToken()]).toEqual([true, 1])
    expect(lock.remainingMillis()).toBeGreaterThan(9_800)
    expect(lock.remainingMillis()).toBeLessThanOrEqual(10_000)
    expect(lock.getOwner()).toMatchObject({
      code: 'FIRST_TIME',
      remainingMillis: -1,
      acquires: 1,
      context: 'me',
    })
    const { signal } = lock
    expect(await finish(world, lock.unlock())).toEqual({ acquires: 0 })
    expect([lock.held, lock.remainingMillis(), signal.aborted, lock.signal.aborted]).toEqual([
      false,
      0,
      false,
      true,
    ])
    expect(lock.signal.reason).toMatchObject({ code: 'ERR_NOT_OWNER' })
    expect(() => lock.getFencingToken()).toThrow(expect.objectContaining({ code: 'ERR_NOT_OWNER' }))
  })

  test('reentrancy: two callers of one object hold the lock twice and unlock it one acquire at a time', async () => {
    const { world, locking, store } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    expect(await finish(world, Promise.all([lock.tryLock(), lock.tryLock({ context: 'second' })]))).toEqual([
      true,
      true,
    ])
    expect(lock.getOwner()).toMatchObject({
      code: 'REENTRANT',
      remainingMillis: -4,
      acquires: 2,
      context: 'second',
    })
    expect(await finish(world, lock.unlock())).toEqual({ acquires: 1 })
    expect([lock.held, store.tx.hold(K)?.acquires]).toEqual([true, 1])
    expect(await finish(world, lock.unlock())).toEqual({ acquires: 0 })
    expect(store.tx.hold(K)).toBeUndefined()
  })

  test('a caller that has got the lock still holds the lock when it continues, although a release waits', async () => {
    const { world, locking } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    await finish(world, lock.lock())
    const again = async () => {
      await lock.lock()
      return lock.held
    }
    const seen = again()
    const released = lock[Symbol.asyncDispose]()
    expect(await finish(world, seen)).toBe(true)
    await finish(world, released)
    expect(lock.held).toBe(false)
  })

  test('a failed unlock that nobody awaits is no unhandled rejection', async () => {
    const { world, locking, port } = scene()
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', note)
    try {
      const lock = locking.getDistributedLock('k', '10s')
      await finish(world, lock.lock())
      port.fault = () => new LatchkeyError('ERR_TIMEOUT')
      void lock.unlock()
      await world.advance(20_000)
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', note)
    }
  })

  test("a refusal carries the holder's id and context", async () => {
    const { world, locking } = scene()
    const [a, b] = [locking.getDistributedLock('k', '10s'), locking.getDistributedLock('k', '10s')]
    await finish(world, a.tryLock({ context: 'the one' }))
    expect(await finish(world, b.tryLock())).toBe(false)
    expect(b.getOwner()).toMatchObject({
      success: false,
      code: 'HELD',
      id: a.getOwner()?.id,
      fencingToken: 0,
    })
    expect(b.getOwnerContext()).toBe('the one')
  })

  test('K31: two objects for the same key exclude each other in one process', async () => {
    const { world, locking } = scene()
    const [a, b] = [locking.getDistributedLock('k', '10s'), locking.getDistributedLock('k', '10s')]
    expect(await finish(world, Promise.all([a.tryLock(), b.tryLock()]))).toEqual([true, false])
  })

  test('a new id after every complete release and after every loss', async () => {
    const { world, locking } = scene()
    const lock = locking.getDistributedLock('k', 100)
    const ids = new Set<string | undefined>()
    for (let i = 0; i < 2; i++) {
      await finish(world, lock.tryLock())
      ids.add(lock.getOwner()?.id)
      await finish(world, lock.unlock())
    }
    await finish(world, lock.tryLock())
    ids.add(lock.getOwner()?.id)
    await world.advance(200)
    await finish(world, lock.tryLock())
    ids.add(lock.getOwner()?.id)
    expect(ids.size).toBe(4)
  })

  test('dispose unlocks all acquires in one request; without a hold it sends nothing', async () => {
    const { world, locking, port, store } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    await finish(world, lock[Symbol.asyncDispose]())
    expect(port.sent).toEqual([])
    for (let i = 0; i < 3; i++) await finish(world, lock.tryLock())
    port.sent.length = 0
    await finish(world, lock[Symbol.asyncDispose]())
    expect(port.sent.map(([op]) => op)).toEqual([OP.release])
    expect(store.tx.hold(K)).toBeUndefined()
    await finish(world, lock[Symbol.asyncDispose]())
  })

  test('unlock of a lock that was never held or is already unlocked rejects with ERR_NOT_OWNER, without a request (K10)', async () => {
    const { world, locking, port } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    expect(await codeOf(world, lock.unlock())).toBe('ERR_NOT_OWNER')
    expect(port.sent).toEqual([])
    await finish(world, lock.tryLock())
    await finish(world, lock.unlock())
    port.sent.length = 0
    expect(await codeOf(world, lock.unlock())).toBe('ERR_NOT_OWNER')
    expect(port.sent).toEqual([])
  })

  test('an attempt has a context of its own, or the one of the lock', async () => {
    const { world, locking } = scene()
    const lock = locking.getDistributedLock('k', '10s', undefined, { context: new Uint8Array([1]) })
    await finish(world, lock.tryLock())
    expect(lock.getOwnerContext()).toEqual(new Uint8Array([1]))
    await finish(world, lock.tryLock({ context: '' }))
    expect(lock.getOwnerContext()).toBe('')
  })
})

describe('a lost hold, and how the row decides the error of unlock', () => {
  test('after the lease held is false, the signal has aborted, unlock rejects with ERR_LOCK_LOST once, and then the object is free', async () => {
    const { world, locking } = scene()
    const lock = locking.getDistributedLock('k', 100)
    await finish(world, lock.tryLock())
    const { signal } = lock
    await world.advance(150)
    expect([lock.held, signal.aborted]).toEqual([false, true])
    expect(signal.reason).toMatchObject({ code: 'ERR_LOCK_LOST' })
    expect(lock.signal).toBe(signal)
    expect(() => lock.getFencingToken()).toThrow(expect.objectContaining({ code: 'ERR_LOCK_LOST' }))
    expect(await codeOf(world, lock.unlock())).toBe('ERR_LOCK_LOST')
    expect(await codeOf(world, lock.unlock())).toBe('ERR_NOT_OWNER')
    expect(await finish(world, lock.tryLock())).toBe(true)
    expect([lock.held, lock.signal.aborted]).toEqual([true, false])
  })

  test('of two unlocks at the same time after a loss, one reports the loss', async () => {
    const { world, locking } = scene()
    const lock = locking.getDistributedLock('k', 100)
    await finish(world, lock.tryLock())
    await world.advance(150)
    const codes = [lock.unlock(), lock.unlock()].map((unlocking) => codeOf(world, unlocking))
    expect(await Promise.all(codes)).toEqual(['ERR_LOCK_LOST', 'ERR_NOT_OWNER'])
  })

  test('another acquirer holds the lock: unlock rejects with ERR_NOT_OWNER and its owner', async () => {
    const { world, locking } = scene()
    const [a, b] = [locking.getDistributedLock('k', 100), locking.getDistributedLock('k', '10s')]
    await finish(world, a.tryLock())
    await world.advance(150)
    await finish(world, b.tryLock({ context: 'b' }))
    const error = await finish(world, a.unlock()).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'ERR_NOT_OWNER', owner: { id: b.getOwner()?.id, context: 'b' } })
    expect(b.held).toBe(true)
  })

  test('unlock of a hold that was released by force finds the loss', async () => {
    const { world, locking } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    await finish(world, lock.tryLock())
    const { signal } = lock
    expect(await finish(world, locking.locks.forceRelease('k', 1))).toBe(true)
    expect(await codeOf(world, lock.unlock())).toBe('ERR_LOCK_LOST')
    expect(signal.reason).toMatchObject({ code: 'ERR_LOCK_LOST' })
  })

  test('K13: a hold that was lost at reentry becomes one acquire with a new token, and the old signal aborts', async () => {
    const { world, locking } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    await finish(world, lock.tryLock())
    await finish(world, lock.tryLock())
    const { signal } = lock
    await finish(world, locking.locks.forceRelease('k', 1))
    expect(await finish(world, lock.tryLock())).toBe(true)
    expect(signal.aborted).toBe(true)
    expect(lock.signal.aborted).toBe(false)
    expect(lock.getFencingToken()).toBeGreaterThan(1)
    expect(await finish(world, lock.unlock())).toEqual({ acquires: 0 })
  })

  test('a lost hold is released in the background, so the next acquirer does not wait for the lease', async () => {
    const { world, locking, port, store } = scene()
    const lock = locking.getDistributedLock('k', 1000)
    await finish(world, lock.tryLock())
    port.clock.offset.wall += 5_000
    expect(lock.held).toBe(false)
    await world.advance(1)
    expect(store.tx.hold(K)).toBeUndefined()
    expect(port.sent.at(-1)?.[0]).toBe(OP.cancelWait)
  })

  test('another cluster id in a handshake drops the bound and all holds', async () => {
    const { world, locking, port } = scene()
    const locks = ['x', 'y'].map((key) => locking.getDistributedLock(key, '10s'))
    for (const lock of locks) await finish(world, lock.tryLock())
    const signals = locks.map(({ signal }) => signal)
    port.bound.setCluster('cluster')
    expect(locks.map(({ held }) => held)).toEqual([true, true])
    port.bound.setCluster('another')
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
    expect(locks.map(({ held }) => held)).toEqual([false, false])
  })
})

describe('arguments', () => {
  const { locking, world } = scene()
  const bad: readonly [string, () => unknown][] = [
    ['an empty key', () => locking.getDistributedLock('', '10s')],
    ['a key of another type', () => locking.getDistributedLock(7 as never, '10s')],
    ['an empty fencing key', () => locking.getDistributedLock('k', '10s', undefined, { fencingKey: '' })],
    ['a watchdog of another type', () => locking.getDistributedLock('k', '10s', {} as Watchdog)],
    ...[0, -1, Number.NaN, 1, 49, 1.5, '49ms', '0s', '1 s', '721h', Number.POSITIVE_INFINITY].map(
      (lease) =>
        [`K34, T4: a lease of ${lease}`, () => locking.getDistributedLock('k', lease as Duration)] as [
          string,
          () => unknown,
        ],
    ),
  ]
  test.each(bad)('%s is a TypeError at the call', (_, call) => {
    expect(call).toThrow(TypeError)
  })

  test('T4: a lease of 30 days works', async () => {
    const lock = locking.getDistributedLock('long', '720h')
    expect(await finish(world, lock.tryLock())).toBe(true)
    expect(lock.remainingMillis()).toBeGreaterThan(29 * 24 * 3_600_000)
    await finish(world, lock.unlock())
  })

  test('wrong options reject with a TypeError, too many bytes with ERR_TOO_LARGE, before anything is sent', async () => {
    const { locking, world, port } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    for (const timeout of [0, -5, Number.POSITIVE_INFINITY, '5 s', 'x']) {
      await expect(lock.tryLock({ timeout: timeout as Duration })).rejects.toThrow(TypeError)
      await expect(lock.unlock({ timeout: timeout as Duration })).rejects.toThrow(TypeError)
    }
    await expect(lock.tryLock({ signal: {} as AbortSignal })).rejects.toThrow(TypeError)
    await expect(lock.tryLock({ context: 5 as never })).rejects.toThrow(TypeError)
    expect(await codeOf(world, lock.tryLock({ context: 'x'.repeat(4097) }))).toBe('ERR_TOO_LARGE')
    expect(() => locking.getDistributedLock('x'.repeat(4097), '10s')).toThrow(
      expect.objectContaining({ code: 'ERR_TOO_LARGE' }),
    )
    expect(port.sent).toEqual([])
  })

  test('arguments are copied at the call', async () => {
    const key = new Uint8Array([107])
    const lock = locking.getDistributedLock(key, '10s')
    key[0] = 0
    await finish(world, lock.tryLock())
    expect((await finish(world, locking.locks.query())).map((info) => info.key)).toEqual([K])
    await finish(world, lock.unlock())
  })

  test('an attempt with a closed watchdog rejects with ERR_CLOSED before anything is sent', async () => {
    const { locking, world, port } = scene()
    const watchdog = new Watchdog()
    const lock = locking.getDistributedLock('k', '10s', watchdog)
    watchdog.close()
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_CLOSED')
    expect(port.sent).toEqual([])
  })
})
