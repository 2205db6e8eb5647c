// Test: the section "Locks in the style of RheaKV" of docs/api.md.

import { once } from 'node:events'
import { afterAll, expect, test } from 'vitest'
import { type Duration, type LatchkeyError, Watchdog } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import {
  activeMillis,
  bytes,
  code,
  sleep,
  thrown,
  unlessStalled,
  until,
} from './testing/small-test-functions.js'

const watchdog = new Watchdog()
afterAll(() => watchdog.close())

onEveryStore((at) => {
  const lock = (lease: Duration = '30s', dog?: Watchdog) => at.store.getDistributedLock(at.key(), lease, dog)
  /**
   * On a busy machine a commit may take longer than the lease. Then the grant has expired on arrival, and the
   * wait is repeated.
   */
  const patient = { timeout: '30s' } as const
  const lost = async (lease = 150) => {
    const one = lock(lease)
    expect(await one.tryLock(patient)).toBe(true)
    await until(() => !one.held)
    return one
  }

  test('tryLock, unlock: { acquires } left', async () => {
    const one = lock('30s', watchdog)
    expect(await one.tryLock()).toBe(true)
    expect(one.held).toBe(true)
    expect(one.remainingMillis()).toBeGreaterThan(10_000)
    expect(one.remainingMillis()).toBeLessThanOrEqual(30_000)
    expect(await one.unlock()).toEqual({ acquires: 0 })
    expect(one.held).toBe(false)
    expect(one.remainingMillis()).toBe(0)
  })

  test('one object is reentrant; two objects exclude each other (K31)', async () => {
    const one = lock()
    const two = lock()
    expect(await one.tryLock()).toBe(true)
    const token = one.getFencingToken()
    expect(await one.tryLock()).toBe(true)
    await one.lock()
    expect(one.getFencingToken()).toBe(token)
    expect(await two.tryLock()).toBe(false)
    expect(await one.unlock()).toEqual({ acquires: 2 })
    expect(await one.unlock()).toEqual({ acquires: 1 })
    expect(await two.tryLock()).toBe(false)
    expect(await one.unlock()).toEqual({ acquires: 0 })
    expect(await two.tryLock()).toBe(true)
    expect(two.getFencingToken()).toBeGreaterThan(token)
    await two.unlock()
  })

  test('unlock with nothing held since the last complete unlock: ERR_NOT_OWNER', async () => {
    const one = lock()
    await expect(one.unlock()).rejects.toMatchObject(code('ERR_NOT_OWNER'))
    await one.tryLock()
    await one.unlock()
    await expect(one.unlock()).rejects.toMatchObject(code('ERR_NOT_OWNER'))
  })

  test('unlock after a loss: ERR_LOCK_LOST, then free for a new attempt', async () => {
    const one = await lost()
    await expect(one.unlock()).rejects.toMatchObject(code('ERR_LOCK_LOST'))
    await expect(one.unlock()).rejects.toMatchObject(code('ERR_NOT_OWNER'))
    expect(await one.tryLock(patient)).toBe(true)
    expect(one.getOwner()).toMatchObject({ acquires: 1 })
    // The lease is short, so the new hold may be lost too before it is released.
    await one[Symbol.asyncDispose]()
  })

  test('unlock while another one holds the lock: ERR_NOT_OWNER with error.owner', async () => {
    const one = await lost()
    const two = at.store.getDistributedLock(at.key(), '10s', undefined, { context: 'two' })
    expect(await two.tryLock(patient)).toBe(true)
    const error = (await one.unlock().catch((error: unknown) => error)) as LatchkeyError
    expect(error).toMatchObject(code('ERR_NOT_OWNER'))
    expect(error.owner).toMatchObject({ id: two.getOwner()?.id, context: 'two', code: 'NOT_OWNER' })
    expect(two.held).toBe(true)
    expect(await two.unlock()).toEqual({ acquires: 0 })
  })

  test('unlock after a forced release: ERR_LOCK_LOST', async () => {
    const one = lock()
    await one.tryLock()
    expect(await at.other.locks.forceRelease(at.key(), one.getFencingToken())).toBe(true)
    await expect(one.unlock()).rejects.toMatchObject(code('ERR_LOCK_LOST'))
    expect(one.held).toBe(false)
    expect(one.signal.aborted).toBe(true)
  })

  test('getFencingToken: the token of the current hold; throws without a hold', async () => {
    const one = await lost()
    expect(thrown(() => one.getFencingToken())).toMatchObject(code('ERR_LOCK_LOST'))
    const two = lock()
    expect(thrown(() => two.getFencingToken())).toMatchObject(code('ERR_NOT_OWNER'))
    await two.tryLock(patient)
    expect(Number.isSafeInteger(two.getFencingToken())).toBe(true)
    await two.unlock()
    expect(thrown(() => two.getFencingToken())).toMatchObject(code('ERR_NOT_OWNER'))
  })

  test('getOwner and getOwnerContext: the Owner of the last answer', async () => {
    const one = at.store.getDistributedLock(at.key(), '10s', undefined, { context: 'standing' })
    expect(one.getOwner()).toBeUndefined()
    expect(one.getOwnerContext()).toBeUndefined()
    await one.tryLock()
    expect(one.getOwner()).toMatchObject({
      success: true,
      code: 'FIRST_TIME',
      acquires: 1,
      context: 'standing',
    })
    const two = lock()
    expect(await two.tryLock()).toBe(false)
    expect(two.getOwner()).toMatchObject({ id: one.getOwner()?.id, success: false, code: 'HELD' })
    expect(two.getOwnerContext()).toBe('standing')
    await one.tryLock({ context: bytes(1, 2) })
    expect(one.getOwnerContext()).toEqual(bytes(1, 2))
    await two.tryLock()
    expect(two.getOwnerContext()).toEqual(bytes(1, 2))
    await one[Symbol.asyncDispose]()
  })

  test('signal: that of the current hold; aborted if there is no hold; a complete unlock does not abort it', async () => {
    const one = lock()
    expect(one.signal).toBeInstanceOf(AbortSignal)
    expect(one.signal.aborted).toBe(true)
    expect(one.signal.reason).toMatchObject(code('ERR_NOT_OWNER'))
    await one.tryLock()
    const { signal } = one
    expect(signal.aborted).toBe(false)
    expect(one.signal).toBe(signal)
    await one.unlock()
    expect(signal.aborted).toBe(false)
    expect(one.signal).not.toBe(signal)
    expect(one.signal.aborted).toBe(true)
    expect(one.signal.reason).toMatchObject(code('ERR_NOT_OWNER'))
  })

  test('signal: aborts with ERR_LOCK_LOST when the lease may have expired', async () => {
    const one = lock(200)
    await one.tryLock(patient)
    const { signal } = one
    await until(() => signal.aborted)
    expect(signal.reason).toMatchObject(code('ERR_LOCK_LOST'))
    expect(one.held).toBe(false)
    expect(one.signal.aborted).toBe(true)
    expect(one.signal.reason).toMatchObject(code('ERR_LOCK_LOST'))
  })

  test('without a watchdog the lock expires with its lease; with one it is renewed (K26, K27)', async () => {
    const dog = new Watchdog()
    const events: unknown[] = []
    dog.on('lost', (event) => events.push(event))
    const renewed = lock(1_200, dog)
    await renewed.tryLock()
    await renewed.unlock()
    await unlessStalled(400, async () => {
      events.length = 0
      expect(await renewed.tryLock(patient)).toBe(true)
      const token = renewed.getFencingToken()
      await sleep(1_400)
      expect(renewed.held).toBe(true)
      expect(renewed.getFencingToken()).toBe(token)
      await renewed.unlock()
      expect(events).toEqual([])
    })
    dog.close()
  })

  test('Watchdog: on lost { lock, error }', async () => {
    const dog = new Watchdog()
    const one = lock('5s', dog)
    await one.tryLock(patient)
    const told = new Promise<{ lock: unknown; error: LatchkeyError }>((resolve) => dog.on('lost', resolve))
    await at.other.locks.forceRelease(at.key(), one.getFencingToken())
    const { lock: which, error } = await told
    expect(which).toBe(one)
    expect(error).toMatchObject(code('ERR_LOCK_LOST'))
    dog.close()
  })

  test('Watchdog: once, also that of node:events', async () => {
    const dog = new Watchdog()
    const one = lock('5s', dog)
    const events: unknown[] = []
    dog.once('lost', (event) => events.push(event))
    const never = (event: unknown) => events.push(event)
    expect(dog.addListener('lost', never).removeListener('lost', never)).toBe(dog)
    const waiting = once(dog as never, 'lost')
    for (let round = 0; round < 2; round++) {
      await one.tryLock(patient)
      const { signal } = one
      await at.other.locks.forceRelease(at.key(), one.getFencingToken())
      await until(() => signal.aborted)
    }
    expect(await waiting).toMatchObject([{ lock: one, error: code('ERR_LOCK_LOST') }])
    expect(events).toHaveLength(1)
    dog.close()
  })

  test('Watchdog.close: synchronous, idempotent; holds last until their leases expire; tryLock is ERR_CLOSED', async () => {
    const dog = new Watchdog()
    const one = lock('4s', dog)
    await one.tryLock(patient)
    expect(dog.close()).toBeUndefined()
    dog.close()
    dog[Symbol.dispose]()
    expect(one.held).toBe(true)
    await expect(lock('1s', dog).tryLock()).rejects.toMatchObject(
      code('ERR_CLOSED', { outcome: 'not-applied' }),
    )
    await expect(lock('1s', dog).lock()).rejects.toMatchObject(code('ERR_CLOSED'))
    await until(() => !one.held)
    expect(one.signal.reason).toMatchObject(code('ERR_LOCK_LOST'))
  })

  test('asyncDispose: unlocks all acquires; resolves also for a lost hold and without a hold', async () => {
    const one = lock()
    await one.tryLock()
    await one.tryLock()
    await one[Symbol.asyncDispose]()
    expect(one.held).toBe(false)
    const two = lock()
    expect(await two.tryLock()).toBe(true)
    await two.unlock()
    await (await lost())[Symbol.asyncDispose]()
    await lock()[Symbol.asyncDispose]()
  })

  test('a wait resolves to false after its timeout; without a timeout there is one attempt', async () => {
    const one = lock()
    await one.tryLock()
    const attempt = async () => expect(await lock().tryLock()).toBe(false)
    expect(await activeMillis(attempt)).toBeLessThan(4_000)
    const began = performance.now()
    const wait = async () => expect(await lock().tryLock({ timeout: 200 })).toBe(false)
    expect(await activeMillis(wait)).toBeLessThan(4_000)
    expect(performance.now() - began).toBeGreaterThanOrEqual(195)
    expect((await at.store.locks.query(at.key()))[0]?.waiters).toBe(0)
    await one.unlock()
  })

  test('a wait may be as long as the largest number of milliseconds', async () => {
    const [one, patient] = [lock(), lock()]
    await one.tryLock()
    const waiting = patient.tryLock({ timeout: Number.MAX_SAFE_INTEGER })
    await until(async () => (await at.store.locks.query(at.key()))[0]?.waiters === 1)
    await one.unlock()
    expect(await waiting).toBe(true)
    await patient.unlock()
  })

  test('the queue is fair, and a grant is pushed to its waiter', async () => {
    const holder = lock()
    await holder.tryLock()
    const order: number[] = []
    const waiters = [0, 1, 2].map((n) => (n === 1 ? at.other : at.store).getDistributedLock(at.key(), '10s'))
    const waits: Promise<void>[] = []
    for (const [n, waiter] of waiters.entries()) {
      waits.push(
        waiter.lock().then(async () => {
          order.push(n)
          await waiter.unlock()
        }),
      )
      await until(async () => (await at.store.locks.query(at.key()))[0]?.waiters === n + 1)
    }
    await holder.unlock()
    await Promise.all(waits)
    expect(order).toEqual([0, 1, 2])
  })

  test('a waiter that ends its wait leaves the queue, and is never granted (K28, K33)', async () => {
    const holder = lock()
    await holder.tryLock()
    const reason = new Error('enough')
    const controller = new AbortController()
    const impatient = lock()
    const waiting = impatient.lock({ signal: controller.signal })
    await until(async () => (await at.store.locks.query(at.key()))[0]?.waiters === 1)
    controller.abort(reason)
    await expect(waiting).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason }))
    await until(async () => (await at.store.locks.query(at.key()))[0]?.waiters === 0)
    await holder.unlock()
    expect(await at.store.locks.query(at.key())).toEqual([])
    expect(impatient.held).toBe(false)
    await expect(impatient.tryLock({ signal: AbortSignal.abort(reason) })).rejects.toMatchObject(
      code('ERR_ABORTED', { cause: reason, outcome: 'not-applied' }),
    )
  })

  test('waiting attempts of one object share one place in the queue, and each is one acquire', async () => {
    const holder = lock()
    await holder.tryLock()
    const shared = lock()
    const waits = [shared.tryLock(patient), shared.lock().then(() => true), shared.tryLock(patient)]
    const gaveUp = shared.tryLock({ timeout: 100 })
    await until(async () => (await at.store.locks.query(at.key()))[0]?.waiters === 1)
    expect(await gaveUp).toBe(false)
    expect((await at.store.locks.query(at.key()))[0]?.waiters).toBe(1)
    await holder.unlock()
    expect(await Promise.all(waits)).toEqual([true, true, true])
    expect(await shared.unlock()).toEqual({ acquires: 2 })
    await shared[Symbol.asyncDispose]()
  })

  test('attempts and unlocks of one object at the same time run one after the other (K29)', async () => {
    const one = lock()
    expect(await Promise.all([one.tryLock(), one.tryLock(), one.lock().then(() => true)])).toEqual([
      true,
      true,
      true,
    ])
    const left = await Promise.all([one.unlock(), one.unlock(), one.unlock()])
    expect(left.map(({ acquires }) => acquires)).toEqual([2, 1, 0])
    expect(one.held).toBe(false)
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('a waiter granted after an expiry gets NEW_ACQUIRE', async () => {
    await at.store.tryLockWith(at.key(), undefined, false, { id: 'gone', lease: 100 })
    const one = lock()
    expect(await one.tryLock(patient)).toBe(true)
    expect(one.getOwner()).toMatchObject({ code: 'NEW_ACQUIRE', success: true, acquires: 1 })
    await one.unlock()
  })

  test('a waiter granted after a release gets FIRST_TIME', async () => {
    const one = lock()
    await one.tryLock()
    const two = lock()
    const waiting = two.tryLock(patient)
    await until(async () => (await at.store.locks.query(at.key()))[0]?.waiters === 1)
    await one.unlock()
    expect(await waiting).toBe(true)
    expect(two.getOwner()).toMatchObject({ code: 'FIRST_TIME', success: true, acquires: 1 })
    await two.unlock()
  })

  test('contexts: of the object or of the attempt; kept at re-entrance; an empty context counts', async () => {
    const one = at.store.getDistributedLock(at.key(), '10s', undefined, { context: 'object' })
    await one.tryLock({ context: 'attempt' })
    expect(one.getOwnerContext()).toBe('attempt')
    await one.tryLock({ context: '' })
    expect(one.getOwnerContext()).toBe('')
    await one[Symbol.asyncDispose]()
    await expect(one.tryLock({ context: 'x'.repeat(4097) })).rejects.toMatchObject(code('ERR_TOO_LARGE'))
    await expect(one.tryLock({ context: 7 as never })).rejects.toThrow(TypeError)
  })

  test('a fencing key of its own', async () => {
    const one = at.store.getDistributedLock(at.key(), '10s', undefined, { fencingKey: at.key('fence') })
    await one.tryLock()
    expect(one.getFencingToken()).toBe(1)
    await one.unlock()
    await one.tryLock()
    expect(one.getFencingToken()).toBe(2)
    await one.unlock()
  })

  test('getDistributedLock throws a TypeError at the call', () => {
    const get = at.store.getDistributedLock.bind(at.store) as (...args: unknown[]) => unknown
    for (const args of [
      [],
      ['', '10s'],
      [7, '10s'],
      [at.key()],
      [at.key(), 0],
      [at.key(), 49],
      [at.key(), '31d'],
      [at.key(), '721h'],
      [at.key(), 1.5],
      [at.key(), '10s', {}],
      [at.key(), '10s', undefined, { fencingKey: '' }],
      [at.key(), '10s', undefined, { context: 7 }],
      [at.key(), '10s', undefined, 'options'],
    ])
      expect([args, thrown(() => get(...args))]).toEqual([args, expect.any(TypeError)])
  })

  test('tryLock: wrong arguments reject with a TypeError', async () => {
    const one = lock()
    for (const timeout of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', '1d'])
      await expect(one.tryLock({ timeout: timeout as Duration })).rejects.toThrow(TypeError)
    await expect(one.tryLock({ signal: {} as never })).rejects.toThrow(TypeError)
    await expect(one.unlock({ timeout: 0 })).rejects.toThrow(TypeError)
    expect(one.getOwner()).toBeUndefined()
  })
})
