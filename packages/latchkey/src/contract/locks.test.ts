// Test: the section "Locks in the style of Node" of docs/api.md.

import { expect, test } from 'vitest'
import { FenceGuard, type Hold } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import {
  activeMillis,
  bytes,
  code,
  sleep,
  thrown,
  unlessStalled,
  until,
  utf8,
} from './testing/small-test-functions.js'

onEveryStore((at) => {
  const waiters = async () => (await at.store.locks.query(at.key()))[0]?.waiters

  test('acquire: key, token, signal, held, remainingMillis, assertHeld, release', async () => {
    const asked = performance.now()
    const hold = await at.store.locks.acquire(at.key())
    expect(hold.key).toBe(at.key())
    expect(Number.isSafeInteger(hold.token)).toBe(true)
    expect(hold.signal.aborted).toBe(false)
    expect(hold.held).toBe(true)
    const remaining = hold.remainingMillis()
    expect(remaining).toBeGreaterThan(5_000 - (performance.now() - asked))
    expect(remaining).toBeLessThanOrEqual(10_000)
    hold.assertHeld()
    expect(await hold.release()).toBeUndefined()
    expect(await hold.release()).toBeUndefined()
    expect(hold.held).toBe(false)
    expect(hold.remainingMillis()).toBe(0)
    expect(hold.signal.aborted).toBe(false)
    expect(thrown(() => hold.assertHeld())).toMatchObject(code('ERR_NOT_OWNER'))
  })

  test('await using releases', async () => {
    let kept: Hold | undefined
    {
      await using hold = await at.store.locks.acquire(at.key(), { lease: '30s', wait: '20s' })
      kept = hold
      expect(hold.held).toBe(true)
    }
    expect(kept.held).toBe(false)
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('acquire is never reentrant; a wait ends with ERR_TIMEOUT', async () => {
    await using _ = await at.store.locks.acquire(at.key())
    await expect(at.store.locks.acquire(at.key(), { wait: 100 })).rejects.toMatchObject(
      code('ERR_TIMEOUT', { outcome: 'not-applied', retryable: true }),
    )
    expect(await waiters()).toBe(0)
  })

  test('tryAcquire resolves to undefined if the lock is held', async () => {
    const hold = await at.store.locks.tryAcquire(at.key())
    expect(hold?.held).toBe(true)
    expect(await at.store.locks.tryAcquire(at.key())).toBeUndefined()
    expect(await at.other.locks.tryAcquire(at.key(), { wait: 50 })).toBeUndefined()
    await hold?.release()
    await (await at.other.locks.tryAcquire(at.key()))?.release()
  })

  test('renews by default, not with renew: false', async () => {
    const lapsing = await at.store.locks.acquire(at.key('b'), { lease: 300, renew: false })
    await unlessStalled(400, async () => {
      await using renewed = await at.store.locks.acquire(at.key('a'), { lease: 1_200 })
      await sleep(1_400)
      expect(renewed.held).toBe(true)
    })
    expect(lapsing.held).toBe(false)
    expect(lapsing.signal.reason).toMatchObject(code('ERR_LOCK_LOST'))
    expect(thrown(() => lapsing.assertHeld())).toMatchObject(code('ERR_LOCK_LOST'))
    expect(await lapsing.release()).toBeUndefined()
  })

  test('acquire: ERR_ABORTED by its signal, and it leaves the queue', async () => {
    await using _ = await at.store.locks.acquire(at.key())
    const controller = new AbortController()
    const reason = { enough: true }
    const waiting = at.store.locks.acquire(at.key(), { signal: controller.signal })
    await until(async () => (await waiters()) === 1)
    controller.abort(reason)
    await expect(waiting).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason }))
    await until(async () => (await waiters()) === 0)
    await expect(
      at.store.locks.acquire(at.key(), { signal: AbortSignal.abort(reason) }),
    ).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason, outcome: 'not-applied' }))
  })

  test('wrong arguments reject with a TypeError', async () => {
    const acquire = at.store.locks.acquire.bind(at.store.locks) as (...args: unknown[]) => Promise<unknown>
    for (const args of [
      [],
      [''],
      [7],
      [at.key(), null],
      [at.key(), 'options'],
      [at.key(), { lease: 49 }],
      [at.key(), { lease: '721h' }],
      [at.key(), { lease: 0 }],
      [at.key(), { lease: null as never }],
      [at.key(), { wait: 0 }],
      [at.key(), { wait: Number.POSITIVE_INFINITY }],
      [at.key(), { wait: '1 s' }],
      [at.key(), { renew: 'yes' }],
      [at.key(), { signal: {} }],
      [at.key(), { fencingKey: '' }],
      [at.key(), { context: 7 }],
    ]) {
      await expect(acquire(...args)).rejects.toThrow(TypeError)
    }
    await expect(at.store.locks.withLock(at.key(), {}, undefined as never)).rejects.toThrow(TypeError)
    await expect(at.store.locks.forceRelease(at.key(), 0)).rejects.toThrow(TypeError)
    await expect(at.store.locks.query(7 as never)).rejects.toThrow(TypeError)
    await expect(at.store.locks.acquire('k'.repeat(4097))).rejects.toMatchObject(code('ERR_TOO_LARGE'))
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('withLock returns fn’s result, and releases', async () => {
    const result = await at.store.locks.withLock(at.key(), { lease: '10s' }, async (hold) => {
      expect(hold.held).toBe(true)
      return 42
    })
    expect(result).toBe(42)
    expect(await at.store.locks.query(at.key())).toEqual([])
    expect(await at.store.locks.withLock(at.key(), undefined, () => 'sync' as never)).toBe('sync')
  })

  test('withLock: fn’s own error, also a synchronous one; the lock is released', async () => {
    const mine = new Error('mine')
    for (const fn of [
      async () => Promise.reject(mine),
      () => {
        throw mine
      },
    ])
      await expect(at.store.locks.withLock(at.key(), {}, fn)).rejects.toBe(mine)
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('withLock: ERR_LOCK_LOST if the hold is lost before fn settles, unless fn fails with its own error', async () => {
    const options = { lease: 150, renew: false }
    await expect(at.store.locks.withLock(at.key(), options, () => sleep(400))).rejects.toMatchObject(
      code('ERR_LOCK_LOST'),
    )
    const mine = new Error('mine')
    const failing = at.store.locks.withLock(at.key(), options, async () => {
      await sleep(400)
      throw mine
    })
    await expect(failing).rejects.toBe(mine)
    const forced = at.store.locks.withLock(at.key(), { lease: '10s' }, async (hold) => {
      await at.other.locks.forceRelease(at.key(), hold.token)
    })
    await expect(forced).rejects.toMatchObject(code('ERR_LOCK_LOST'))
  })

  test('withLock or acquire of the same key inside of withLock, without wait: ERR_DEADLOCK', async () => {
    const { locks } = at.store
    await locks.withLock(at.key(), {}, async () => {
      await expect(locks.withLock(at.key(), {}, async () => {})).rejects.toMatchObject(code('ERR_DEADLOCK'))
      await expect(locks.acquire(at.key())).rejects.toMatchObject(
        code('ERR_DEADLOCK', { outcome: 'not-applied', retryable: false }),
      )
      await expect(locks.acquire(utf8(at.key()))).rejects.toMatchObject(code('ERR_DEADLOCK'))
      await expect(locks.acquire(at.key(), { wait: 50 })).rejects.toMatchObject(code('ERR_TIMEOUT'))
      expect(await locks.tryAcquire(at.key())).toBeUndefined()
      await locks.withLock(at.key('inner'), {}, async () => {
        await expect(locks.acquire(at.key())).rejects.toMatchObject(code('ERR_DEADLOCK'))
      })
    })
    await locks.withLock(at.key(), {}, async () => {})
  })

  test('a withLock of the same key outside of the first one waits, and is no deadlock', async () => {
    const order: string[] = []
    const flow = (name: string) =>
      at.store.locks.withLock(at.key(), {}, async () => {
        order.push(`${name} in`)
        await sleep(20)
        order.push(`${name} out`)
      })
    await Promise.all([flow('a'), flow('b')])
    expect(order.map((step) => step.slice(2))).toEqual(['in', 'out', 'in', 'out'])
  })

  test('query: { key, mode, id, context, fencingToken, acquires, remainingMillis, sinceMillis, waiters }, in key order', async () => {
    const b = await at.store.locks.acquire(at.key('b'), { context: 'why' })
    const a = await at.other.locks.acquire(at.key('a'), { context: bytes(1) })
    const over = await at.store.locks.acquire(at.key('c'), { lease: 150, renew: false })
    const waiting = at.store.locks.acquire(at.key('b'), { wait: '30s' }).catch(() => {})
    await until(() => !over.held)
    // The holder may count the hold as expired earlier than the members do, because of the drift.
    await until(async () => (await at.store.locks.query(at.key('c'))).length === 0)
    await until(async () => (await at.store.locks.query(at.key('b')))[0]?.waiters === 1)
    const infos = await at.store.locks.query(at.key(''))
    expect(infos).toEqual([
      {
        key: utf8(at.key('a')),
        mode: 'exclusive',
        id: expect.any(String),
        context: bytes(1),
        fencingToken: a.token,
        acquires: 1,
        remainingMillis: expect.any(Number),
        sinceMillis: expect.any(Number),
        waiters: 0,
      },
      {
        key: utf8(at.key('b')),
        mode: 'exclusive',
        id: expect.any(String),
        context: 'why',
        fencingToken: b.token,
        acquires: 1,
        remainingMillis: expect.any(Number),
        sinceMillis: expect.any(Number),
        waiters: 1,
      },
    ])
    expect(infos[0]?.remainingMillis).toBeGreaterThan(0)
    expect(infos[0]?.remainingMillis).toBeLessThanOrEqual(10_000)
    expect((await at.store.locks.query()).length).toBeGreaterThanOrEqual(2)
    await b.release()
    await (await waiting)?.release()
    await a.release()
    expect(await at.store.locks.query(at.key(''))).toEqual([])
  })

  test('query: wrong arguments are TypeErrors', async () => {
    for (const prefix of [7, null, {}, []])
      await expect(at.store.locks.query(prefix as never)).rejects.toThrow(/prefix must be/)
    for (const options of [{ as: 'xml' }, { consistency: 'soon' }, { timeout: 0 }, 7])
      await expect(at.store.locks.query('', options as never)).rejects.toThrow(TypeError)
  })

  test('forceRelease frees exactly that hold with all its acquires; the next waiter is granted', async () => {
    const lock = at.store.getDistributedLock(at.key(), '1m')
    await lock.tryLock()
    await lock.tryLock()
    const token = lock.getFencingToken()
    expect(await at.other.locks.forceRelease(at.key(), token + 1)).toBe(false)
    expect(await at.other.locks.forceRelease(at.key('none'), token)).toBe(false)
    const waiting = at.store.locks.acquire(at.key(), { wait: '30s' })
    await until(async () => (await waiters()) === 1)
    expect(await at.other.locks.forceRelease(at.key(), token)).toBe(true)
    const next = await waiting
    expect(next.token).toBeGreaterThan(token)
    expect(await at.other.locks.forceRelease(at.key(), token)).toBe(false)
    await next.release()
  })

  test('hold.kv: every write carries the guard, reads do not', async () => {
    const hold = await at.store.locks.acquire(at.key('lock'))
    await hold.kv.put(at.key('a'), '1')
    expect(await hold.kv.putIfAbsent(at.key('a'), '2', { as: 'string' })).toBe('1')
    await hold.kv.merge(at.key('a'), '2')
    expect(await hold.kv.get(at.key('a'), { as: 'string' })).toBe('1,2')
    expect(await hold.kv.scan({ prefix: at.key('a') }, { as: 'string' })).toHaveLength(1)
    await at.other.locks.forceRelease(at.key('lock'), hold.token)
    await expect(hold.kv.put(at.key('a'), '3')).rejects.toMatchObject(
      code('ERR_FENCED', { outcome: 'not-applied' }),
    )
    expect(await hold.kv.get(at.key('a'), { as: 'string' })).toBe('1,2')
    await hold.release()
  })

  test('hold.kv after release or loss: a write is ERR_FENCED (K6)', async () => {
    const released = await at.store.locks.acquire(at.key('a'))
    await released.release()
    await expect(released.kv.put(at.key('x'), '1')).rejects.toMatchObject(code('ERR_FENCED'))
    await expect(released.kv.batch([])).rejects.toMatchObject(code('ERR_FENCED'))
    const lost = await at.store.locks.acquire(at.key('b'), { lease: 150, renew: false })
    await until(() => !lost.held)
    await expect(lost.kv.delete(at.key('x'))).rejects.toMatchObject(code('ERR_FENCED'))
    expect(await lost.kv.get(at.key('x'))).toBeUndefined()
    await expect(lost.kv.put('', '1')).rejects.toThrow(TypeError)
  })

  test('a grant wakes the next waiter at once, not at a poll (K23, K24)', async () => {
    const first = await at.store.locks.acquire(at.key())
    const waiting = Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        (n % 2 ? at.other : at.store).locks.withLock(at.key(), { wait: '50s' }, async (hold) => hold.token),
      ),
    )
    await until(async () => (await waiters()) === 10)
    const took = await activeMillis(async () => {
      await first.release()
      expect(new Set(await waiting).size).toBe(10)
    })
    expect(took).toBeLessThan(5_000)
  })

  test('FenceGuard protects a resource outside of the store', async () => {
    const guard = new FenceGuard()
    const old = await at.store.locks.acquire(at.key())
    await guard.check('file', old.token)
    await old.release()
    const next = await at.store.locks.acquire(at.key())
    await guard.check('file', next.token)
    await expect(guard.check('file', old.token)).rejects.toMatchObject(code('ERR_FENCED'))
    await guard.check('other', old.token)
    for (const port of [7, {}, null, { get: () => 1 }])
      expect(() => new FenceGuard(port as never)).toThrow(/port must have/)
    await next.release()
    const kept = new Map<string, number>()
    const ported = new FenceGuard({
      get: (name) => kept.get(name),
      set: (name, token) => void kept.set(name, token),
    })
    await ported.check('r', 5)
    expect(kept.get('r')).toBe(5)
    await expect(ported.check('r', 4)).rejects.toMatchObject(code('ERR_FENCED'))
  })
})
