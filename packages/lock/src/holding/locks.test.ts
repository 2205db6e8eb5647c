// Test: store.locks: acquire, withLock, Hold, query, forceRelease, and the primitive calls (docs/api.md).

import { AsyncResource } from 'node:async_hooks'
import { utf8 } from '@latchkey/base'
import { LatchkeyError, type Owner, READ } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { K } from '../testing/lock-test-commands.js'
import { codeOf, finish, scene, stateOf } from '../testing/store-in-virtual-time.js'
import type { Hold } from './hold.js'

describe('what a store releases when it closes', () => {
  const why = new LatchkeyError('ERR_CLOSED')

  test('K43: a hold whose later attempt was refused', async () => {
    const { world, locking, port, store } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    expect(await finish(world, lock.tryLock())).toBe(true)
    port.fault = () => new LatchkeyError('ERR_FORBIDDEN')
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_FORBIDDEN')
    port.fault = () => undefined
    expect([lock.held, store.tx.hold(K)?.acquires]).toEqual([true, 1])
    await finish(world, locking.releaseForClose(why, 1_000))
    expect([lock.held, store.tx.hold(K)]).toEqual([false, undefined])
  })

  test('K43: a hold of which one of two acquires was unlocked', async () => {
    const { world, locking, store } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    for (let i = 0; i < 2; i++) expect(await finish(world, lock.tryLock())).toBe(true)
    await finish(world, lock.unlock())
    await finish(world, locking.releaseForClose(why, 1_000))
    expect([lock.held, store.tx.hold(K)]).toEqual([false, undefined])
  })

  test('K43: a set whose request is under way', async () => {
    const { world, locking, store } = scene({ delay: 10 })
    const call = locking.locks.tryAcquireAll(['a', 'b'], { lease: '60s' })
    await world.advance(5)
    const released = locking.releaseForClose(why, 1_000)
    expect(await codeOf(world, call)).toBe('ERR_NO_LEADER')
    await finish(world, released)
    expect(store.tx.holds.size).toBe(0)
  })

  test('nothing of a hold that was unlocked, and nothing of a set that was released', async () => {
    const { world, locking, port } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    await finish(world, lock.tryLock())
    await finish(world, lock.unlock())
    await finish(world, (await finish(world, locking.locks.acquireAll(['a', 'b']))).release())
    const before = port.sent.length
    await finish(world, locking.releaseForClose(why, 1_000))
    expect(port.sent.slice(before)).toEqual([])
  })

  test('nothing of the attempts that were refused because others hold the lock', async () => {
    const { world, locking, port, process } = scene()
    await finish(world, process().locking.locks.acquire('k', { lease: '1h' }))
    for (let i = 0; i < 10; i++)
      expect(await finish(world, locking.getDistributedLock('k', '10s').tryLock())).toBe(false)
    const before = port.sent.length
    await finish(world, locking.releaseForClose(why, 1_000))
    expect(port.sent.slice(before)).toEqual([])
  })
})

describe('acquire and Hold', () => {
  test('a hold has key, token, signal, held and remaining time; release may be called again', async () => {
    const { world, locking, store } = scene()
    const hold = await finish(world, locking.locks.acquire('k', { lease: '10s', context: 'c' }))
    expect([hold.key, hold.token, hold.held, hold.signal.aborted]).toEqual(['k', 1, true, false])
    expect(hold.remainingMillis()).toBeGreaterThan(9_800)
    hold.assertHeld()
    await finish(world, Promise.all([hold.release(), hold.release()]))
    expect([hold.held, hold.remainingMillis(), hold.signal.aborted]).toEqual([false, 0, false])
    expect(() => hold.assertHeld()).toThrow(expect.objectContaining({ code: 'ERR_NOT_OWNER' }))
    expect(store.tx.hold(K)).toBeUndefined()
  })

  test('a hold is renewed at 2/3 of its lease by default; with renew: false it ends with its lease', async () => {
    const { world, locking } = scene()
    const kept = await finish(world, locking.locks.acquire('k'))
    const short = await finish(world, locking.locks.acquire('other', { renew: false, lease: '10s' }))
    await world.advance(60_000)
    expect([kept.held, short.held]).toEqual([true, false])
    expect(() => short.assertHeld()).toThrow(expect.objectContaining({ code: 'ERR_LOCK_LOST' }))
    await finish(world, short.release())
    await finish(world, short[Symbol.asyncDispose]())
  })

  test('acquire is never reentrant; a wait that is over rejects with ERR_TIMEOUT; tryAcquire gives undefined when the lock is held', async () => {
    const { world, locking } = scene()
    const hold = await finish(world, locking.locks.acquire('k'))
    expect(await codeOf(world, locking.locks.acquire('k', { wait: 100 }))).toBe('ERR_TIMEOUT')
    expect(await finish(world, locking.locks.tryAcquire('k'))).toBeUndefined()
    expect(await finish(world, locking.locks.tryAcquire('k', { wait: 50 }))).toBeUndefined()
    const next = locking.locks.acquire('k')
    await finish(world, hold.release())
    expect((await finish(world, next)).token).toBe(2)
  })

  test('a wait that ends without a leader rejects with ERR_NO_LEADER; both errors carry the key and the time waited', async () => {
    const { world, locking, port } = scene()
    await finish(world, locking.locks.acquire('k'))
    const ended = () =>
      finish(
        world,
        locking.locks.acquire('k', { wait: 100 }).catch((error: LatchkeyError) => error),
      )
    expect(await ended()).toMatchObject({ code: 'ERR_TIMEOUT', key: 'k', waitedMillis: 100 })
    port.leaderless = new LatchkeyError('ERR_NO_LEADER', 'Nobody leads: c is not reached.', {
      missing: ['c'],
    })
    expect(await ended()).toMatchObject({
      ...{ code: 'ERR_NO_LEADER', message: 'Nobody leads: c is not reached.' },
      ...{ key: 'k', waitedMillis: 100, missing: ['c'], retryable: true, outcome: 'not-applied' },
    })
    port.leaderless = undefined
    expect((await ended()) as LatchkeyError).not.toHaveProperty('missing')
  })

  test('assertHeld throws before any I/O after a pause (K6)', async () => {
    const { world, locking, port } = scene()
    const hold = await finish(world, locking.locks.acquire('k', { lease: 1_000 }))
    const sent = port.sent.length
    world.stall(5_000)
    expect(() => hold.assertHeld()).toThrow(expect.objectContaining({ code: 'ERR_LOCK_LOST' }))
    expect([port.sent.length, hold.signal.aborted]).toEqual([sent, true])
  })

  test('hold.kv sends key and token with each write, and after a loss or release rejects without a request', async () => {
    const { world, locking } = scene()
    const hold = await finish(world, locking.locks.acquire('k'))
    const { guarded } = hold.kv as unknown as {
      guarded: { guard: () => unknown; knownLost: () => boolean }
    }
    expect(hold.kv).toBe(hold.kv)
    expect([guarded.guard(), guarded.knownLost()]).toEqual([[Buffer.from(K), 1], false])
    await finish(world, hold.release())
    expect(guarded.knownLost()).toBe(true)
  })

  test('a release with unknown outcome rejects, and goes on in the background', async () => {
    const { world, locking, port, store } = scene()
    const hold = await finish(world, locking.locks.acquire('k', { lease: '60s' }))
    port.fault = () => 'lose request'
    const released = hold.release()
    expect(hold.held).toBe(false)
    expect(await codeOf(world, released)).toBe('ERR_OUTCOME_UNKNOWN')
    port.fault = () => undefined
    await world.advance(10_000)
    expect(store.tx.hold(K)).toBeUndefined()
  })

  test('a signal ends the wait, and so does close', async () => {
    const { world, locking, port } = scene()
    await finish(world, locking.locks.acquire('k'))
    const controller = new AbortController()
    const both = [locking.locks.acquire('k', { signal: controller.signal }), locking.locks.acquire('k')]
    const codes = both.map((waiting) => codeOf(world, waiting))
    controller.abort()
    expect(await codes[0]).toBe('ERR_ABORTED')
    port.close()
    expect(await codes[1]).toBe('ERR_CLOSED')
  })

  test('wrong arguments reject with a TypeError', async () => {
    const { locking } = scene()
    for (const options of [
      { lease: 10 },
      { wait: 0 },
      { renew: 1 },
      { fencingKey: '' },
      { signal: 1 },
      5,
      null,
    ])
      await expect(locking.locks.acquire('k', options as never)).rejects.toThrow(TypeError)
    await expect(locking.locks.acquire('')).rejects.toThrow(TypeError)
    await expect(locking.locks.withLock('k', undefined as never)).rejects.toThrow(TypeError)
  })
})

describe('withLock', () => {
  test("withLock resolves to fn's result, and the lock is free afterwards", async () => {
    const { world, locking, store } = scene()
    const work = locking.locks.withLock('k', { lease: '10s' }, async (hold) => {
      hold.assertHeld()
      return hold.token
    })
    expect(await finish(world, work)).toBe(1)
    expect(store.tx.hold(K)).toBeUndefined()
    expect(
      await finish(
        world,
        locking.locks.withLock('k', () => 'short form'),
      ),
    ).toBe('short form')
  })

  test("withLock rejects with fn's own error, and the lock is free", async () => {
    const { world, locking, store } = scene()
    const own = new Error('own')
    const work = locking.locks.withLock('k', {}, async (hold) => {
      world.stall(60_000)
      expect(hold.held).toBe(false)
      throw own
    })
    await expect(finish(world, work)).rejects.toBe(own)
    await world.advance(1)
    expect(store.tx.hold(K)).toBeUndefined()
  })

  test('a hold that was lost before fn settled, by the clocks or by force: ERR_LOCK_LOST', async () => {
    const { world, locking } = scene()
    const slept = locking.locks.withLock('k', { lease: 1_000 }, async () => world.stall(60_000))
    expect(await codeOf(world, slept)).toBe('ERR_LOCK_LOST')
    const forced = locking.locks.withLock('k', {}, async (hold) => {
      await locking.locks.forceRelease('k', hold.token)
    })
    expect(await codeOf(world, forced)).toBe('ERR_LOCK_LOST')
  })

  test("after a release by fn itself, or with unknown outcome, the caller gets fn's result", async () => {
    const { world, locking, port } = scene()
    expect(
      await finish(
        world,
        locking.locks.withLock('k', {}, (hold) => hold.release().then(() => 7)),
      ),
    ).toBe(7)
    const work = locking.locks.withLock('k', {}, async () => {
      port.fault = () => 'lose request'
      return 8
    })
    expect(await finish(world, work)).toBe(8)
  })

  test('acquire or withLock of a key that the same flow holds, without a wait: ERR_DEADLOCK', async () => {
    const { world, locking, port } = scene()
    const { locks } = locking
    const codes: string[] = []
    const note = (call: Promise<unknown>) => call.catch((error: { code: string }) => codes.push(error.code))
    const work = locks.withLock('k', {}, async () => {
      const sent = port.sent.length
      await note(locks.withLock('k', {}, () => {}))
      await note(locks.acquire('k'))
      await locks.withLock('other', {}, async () => note(locks.acquire(K)))
      expect(port.sent.length).toBe(sent + 2)
      await note(locks.acquire('k', { wait: 10 }))
      expect(await locks.tryAcquire('k')).toBeUndefined()
    })
    await finish(world, work)
    expect(codes).toEqual(['ERR_DEADLOCK', 'ERR_DEADLOCK', 'ERR_DEADLOCK', 'ERR_TIMEOUT'])
  })

  test('another flow waits as usual, and a flow that outlives the lock may acquire it', async () => {
    const { world, locking } = scene()
    const { locks } = locking
    let later: (() => Promise<Hold>) | undefined
    let end = () => {}
    const work = locks.withLock('k', {}, async () => {
      later = AsyncResource.bind(() => locks.acquire('k'))
      await new Promise<void>((resolve) => {
        end = resolve
      })
    })
    await world.advance(1)
    const other = locks.acquire('k')
    expect(await stateOf(other)).toBe('pending')
    end()
    await finish(world, work)
    await finish(world, (await finish(world, other)).release())
    expect((await finish(world, later?.() as Promise<Hold>)).token).toBe(3)
  })
})

describe('query, force, primitives', () => {
  test('query lists holds in force in key order, with their waiters; keys have the type that was asked for', async () => {
    const { world, locking, port } = scene()
    for (const key of ['b', 'a/2', 'a/1']) await finish(world, locking.locks.acquire(key, { context: key }))
    await finish(world, locking.locks.acquire('gone', { lease: 50, renew: false }))
    void locking.locks.acquire('b').catch(() => {})
    await world.advance(1_000)
    const all = await finish(world, locking.locks.query(undefined, { as: 'string' }))
    expect(
      all.map(({ key, context, fencingToken, acquires, waiters }) => [
        key,
        context,
        fencingToken,
        acquires,
        waiters,
      ]),
    ).toEqual([
      ['a/1', 'a/1', 3, 1, 0],
      ['a/2', 'a/2', 2, 1, 0],
      ['b', 'b', 1, 1, 1],
    ])
    expect(all[0]?.remainingMillis).toBeLessThanOrEqual(9_000)
    expect(
      (await finish(world, locking.locks.query('a/'))).map(({ key }) => Buffer.from(key).toString()),
    ).toEqual(['a/1', 'a/2'])
    expect(port.reads.at(-1)?.[0]).toBe(READ.lockQuery)
  })

  test('forceRelease ends exactly that hold', async () => {
    const { world, locking } = scene()
    await finish(world, locking.locks.acquire('k'))
    expect(await finish(world, locking.locks.forceRelease('k', 2))).toBe(false)
    expect(await finish(world, locking.locks.forceRelease('k', 1))).toBe(true)
    expect(await finish(world, locking.locks.forceRelease('k', 1))).toBe(false)
    await expect(locking.locks.forceRelease('k', 0)).rejects.toThrow(TypeError)
  })

  test('tryLockWith and releaseLockWith return the owners of the tables', async () => {
    const { world, locking, store } = scene()
    const acquirer = { id: 'x', lease: '1s', context: new Uint8Array([7]) } as const
    const now = store.time
    expect(await finish(world, locking.tryLockWith('k', undefined, false, acquirer))).toEqual({
      id: 'x',
      deadlineMillis: now + 1_000,
      remainingMillis: -1,
      fencingToken: 1,
      acquires: 1,
      context: new Uint8Array([7]),
      success: true,
      code: 'FIRST_TIME',
      nowMillis: now,
    })
    const stranger = { id: 'y', lease: 1_000, fencingToken: 0 }
    expect(await finish(world, locking.tryLockWith('k', null, true, stranger))).toMatchObject({
      success: false,
      code: 'HELD',
    })
    expect(await finish(world, locking.releaseLockWith('k', stranger))).toMatchObject({
      success: false,
      code: 'NOT_OWNER',
      id: 'x',
    })
    const own = { ...acquirer, fencingToken: 1 } as const
    expect(await finish(world, locking.releaseLockWith('k', own))).toMatchObject({
      success: true,
      code: 'RELEASED',
      acquires: 0,
    })
    expect(await finish(world, locking.releaseLockWith('k', own))).toEqual({
      id: 'x',
      deadlineMillis: 0,
      remainingMillis: 0,
      fencingToken: 0,
      acquires: 0,
      context: undefined,
      success: false,
      code: 'NOT_HELD',
      nowMillis: now,
    })
  })

  test('acquirers with missing or wrong fields are TypeErrors', async () => {
    const { locking, port } = scene()
    const good = { id: 'x', lease: '1s' } as const
    for (const bad of [
      undefined,
      {},
      { ...good, id: '' },
      { ...good, lease: 1 },
      { ...good, fencingToken: -1 },
      { ...good, fencingToken: 1.5 },
    ]) {
      await expect(locking.tryLockWith('k', null, false, bad as never)).rejects.toThrow(TypeError)
      await expect(locking.releaseLockWith('k', bad as never)).rejects.toThrow(TypeError)
    }
    await expect(locking.tryLockWith('k', '', false, good)).rejects.toThrow(TypeError)
    await expect(locking.tryLockWith('k', null, 1 as never, good)).rejects.toThrow(TypeError)
    expect(port.sent).toEqual([])
  })
})

test('callers may change the bytes of the keys and contexts that they get', async () => {
  const { world, store, locking } = scene()
  const key = utf8('mine')
  const hold = (await finish(world, locking.locks.acquire(key, { context: utf8('ctx') }))) as Hold
  expect(hold.key).toEqual(key)
  ;(hold.key as Uint8Array).fill(0)
  await finish(world, hold.release())
  expect(store.tx.hold(utf8('mine'))).toBeUndefined()
  const lock = locking.getDistributedLock('l', '10s', undefined, { context: utf8('ctx') })
  await finish(world, lock.tryLock())
  ;(lock.getOwnerContext() as Uint8Array).fill(0)
  const owner = lock.getOwner() as Owner
  ;(owner.context as Uint8Array).fill(0)
  expect([lock.getOwnerContext(), lock.getOwner()?.context]).toEqual([utf8('ctx'), utf8('ctx')])
})
