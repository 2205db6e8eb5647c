// Test: store.sub: locks, guards and holds below a prefix.

import { Watchdog } from '@latchkey/client'
import { expect, test } from 'vitest'
import { open } from '../open/index.js'
import { onEveryStore } from './testing/every-store.js'
import {
  bytes,
  code,
  take,
  thrown,
  TOLD_WITHIN,
  unlessStalled,
  until,
} from './testing/small-test-functions.js'

const as = { as: 'string' } as const
const HOLD = { lease: '30s', wait: '20s' } as const

onEveryStore((at) => {
  const view = (name = 'v/') => at.store.sub(at.key(name), as)

  test('SV1: a lock of a sub is the lock of the whole key, and no other', async () => {
    const sub = view()
    await using hold = await sub.locks.acquire('l', HOLD)
    expect([hold.key, hold.held]).toEqual(['l', true])
    expect(await at.other.locks.tryAcquire(at.key('v/l'))).toBeUndefined()
    await using root = await at.store.locks.acquire(at.key('l'), HOLD)
    expect(root.token).not.toBe(hold.token)
    const named = await sub.locks.acquire(bytes(0xff), HOLD)
    expect(named.key).toEqual(bytes(0xff))
    await named.release()
    await hold.release()
    const again = await at.other.locks.tryAcquire(at.key('v/l'))
    expect(again?.held).toBe(true)
    expect(await sub.locks.tryAcquire('l')).toBeUndefined()
    await again?.release()
  })

  test('SV1: hold.kv writes below the prefix with the guard of the hold, and refuses once it is over', async () => {
    const sub = view()
    const hold = await sub.locks.acquire('l', HOLD)
    await hold.kv.put('k', '1')
    await hold.kv.batch([{ type: 'put', key: 'b', value: '1' }])
    expect(await at.store.get(at.key('v/k'), as)).toBe('1')
    expect(await hold.kv.get('k')).toBe('1')
    // Another took it meanwhile: the guard is asked by the members, not only here.
    const guard = { key: 'l', token: hold.token }
    await sub.put('k', '2', { guard })
    await at.store.put(at.key('v/k'), '3', { guard: { ...guard, key: at.key('v/l') } })
    expect(await sub.get('k')).toBe('3')
    await expect(at.store.put(at.key('v/k'), '4', { guard })).rejects.toMatchObject(code('ERR_FENCED'))
    await at.store.locks.forceRelease(at.key('v/l'), hold.token)
    await expect(hold.kv.put('k', '4')).rejects.toMatchObject(code('ERR_FENCED'))
    await expect(sub.put('k', '4', { guard })).rejects.toMatchObject(code('ERR_FENCED'))
    await hold.release()
    await expect(hold.kv.put('k', '4')).rejects.toMatchObject(code('ERR_FENCED'))
    expect(await sub.get('k')).toBe('3')
  })

  test('SV1: a hold of the store guards writes of a sub, under its key below the prefix; conditions alike', async () => {
    const sub = view()
    await using hold = await at.store.locks.acquire(at.key('v/l'), HOLD)
    const { token } = hold
    await sub.put('k', '1', { guard: { key: 'l', token } })
    const whole = { key: at.key('v/l'), token }
    await expect(sub.put('k', '2', { guard: whole })).rejects.toMatchObject(code('ERR_FENCED'))
    const then = [{ type: 'put', key: 'k', value: '3' }] as const
    expect(await sub.txn({ when: [{ lock: 'l', token }], then })).toMatchObject({ succeeded: true })
    expect(await sub.txn({ when: [{ lock: at.key('v/l'), token }], then })).toMatchObject({
      succeeded: false,
    })
    await hold.kv.put(at.key('v/k'), '5')
    expect(await sub.get('k')).toBe('5')
  })

  test('withLock of a sub and of the store: the same whole key is the same lock', async () => {
    const sub = view()
    const inner = () => at.store.locks.acquire(at.key('v/l'))
    await expect(sub.locks.withLock('l', HOLD, inner)).rejects.toMatchObject(code('ERR_DEADLOCK'))
    const nested = () => at.store.sub(at.key('')).locks.withLock('v/l', async () => 1)
    await expect(at.store.locks.withLock(at.key('v/l'), HOLD, nested)).rejects.toMatchObject(
      code('ERR_DEADLOCK'),
    )
    const other = () => at.store.locks.withLock(at.key('l'), HOLD, async () => 'both')
    expect(await sub.locks.withLock('l', HOLD, other)).toBe('both')
  })

  test('SV2: query, forceRelease and the holder in an error', async () => {
    const sub = view()
    const outside = await at.store.locks.acquire(at.key('w'), HOLD)
    const hold = await sub.locks.acquire('a', { ...HOLD, context: 'me' })
    const second = await at.other.locks.acquire(at.key('v/b/c'), HOLD)
    const keys = async (prefix?: string) => (await sub.locks.query(prefix)).map(({ key }) => key)
    expect([await keys(), await keys(''), await keys('b'), await keys('x')]).toEqual([
      ['a', 'b/c'],
      ['a', 'b/c'],
      ['b/c'],
      [],
    ])
    expect((await sub.locks.query('a', { as: 'bytes' }))[0]?.key).toEqual(new Uint8Array([97]))
    await unlessStalled(TOLD_WITHIN, () =>
      expect(sub.locks.acquire('a', { wait: 50 })).rejects.toMatchObject(
        code('ERR_TIMEOUT', { key: 'a', holder: { context: 'me', fencingToken: hold.token } }),
      ),
    )
    expect(await sub.locks.forceRelease('w', outside.token)).toBe(false)
    expect(await sub.locks.forceRelease('b/c', second.token)).toBe(true)
    expect(await keys()).toEqual(['a'])
    await Promise.all([hold.release(), second.release(), outside.release()])
  })

  test('SV2: a hold that is lost names its key without the prefix', async () => {
    const hold = await view().locks.acquire('l', { lease: '200ms', renew: false })
    await until(() => !hold.held)
    expect(hold.signal.reason).toMatchObject(code('ERR_LOCK_LOST', { key: 'l', token: hold.token }))
  })

  test('SV2: errors of guards, holds and numbers name their key without the prefix', async () => {
    const sub = view()
    const hold = await sub.locks.acquire('l', HOLD)
    const { token } = hold
    const inner = () => sub.locks.acquire('w')
    await expect(sub.locks.withLock('w', HOLD, inner)).rejects.toMatchObject(
      code('ERR_DEADLOCK', { key: 'w' }),
    )
    const wrong = { guard: { key: 'l', token: token + 1000 } }
    const refused = await sub.put('k', 'v', wrong).catch((error: unknown) => error as Error)
    expect(refused).toMatchObject(code('ERR_FENCED', { key: 'l', token: token + 1000 }))
    expect((refused as Error).message).not.toContain('v/')
    await sub.put('text', 'abc')
    const add = await sub.increment('text').catch((error: unknown) => error as Error)
    expect(add).toMatchObject(code('ERR_NOT_A_NUMBER', { key: 'text' }))
    expect((add as Error).message).not.toContain('v/')
    await hold.release()
    await expect(hold.kv.put('k', 'v')).rejects.toMatchObject(code('ERR_FENCED', { key: 'l', token }))
    expect(thrown(() => hold.assertHeld())).toMatchObject(code('ERR_NOT_OWNER', { key: 'l', token }))
    const lock = sub.getDistributedLock('d', '30s')
    await expect(lock.unlock()).rejects.toMatchObject(code('ERR_NOT_OWNER', { key: 'd' }))
    const bad = await sub.semaphores.acquire('s', { of: 1 })
    await expect(sub.semaphores.acquire('s', { of: 2 })).rejects.toMatchObject(
      code('ERR_MISMATCH', { present: 1 }),
    )
    await bad.release()
  })

  test('SV1, SV2: a watch of locks, of one and of all below the prefix', async () => {
    const sub = view()
    const [every, one] = [sub.locks.watch({ prefix: '' }), sub.locks.watch('b')]
    await using _ = await at.store.locks.acquire(at.key('w'), HOLD)
    for (const key of ['a', 'b']) await (await sub.locks.acquire(key, HOLD)).release()
    const told = (events: readonly { type: string; key: unknown }[]) =>
      events.map(({ type, key }) => [type, key])
    expect(told(await take(every, 4))).toEqual([
      ['acquired', 'a'],
      ['released', 'a'],
      ['acquired', 'b'],
      ['released', 'b'],
    ])
    expect(told(await take(one, 2))).toEqual([
      ['acquired', 'b'],
      ['released', 'b'],
    ])
    await Promise.all([every.return?.(), one.return?.()])
  })

  test('SV1: releaseAll of a sub ends the holds below its prefix alone, whoever of this store acquired them', async () => {
    const sub = view()
    const watchdog = new Watchdog()
    const lock = sub.getDistributedLock('d', '30s', watchdog)
    expect(await lock.tryLock()).toBe(true)
    const holds = await Promise.all([
      sub.locks.acquire('a', HOLD),
      sub.sub('w/').locks.acquire('a', HOLD),
      at.store.locks.acquire(at.key('v/b'), HOLD),
      at.store.locks.acquire(at.key('v'), HOLD),
      at.store.locks.acquire(at.key('w'), HOLD),
    ])
    expect(await sub.locks.releaseAll()).toBe(4)
    expect([lock.held, ...holds.map(({ held }) => held)]).toEqual([false, false, false, false, true, true])
    expect(await sub.locks.query()).toEqual([])
    expect(await sub.locks.releaseAll()).toBe(0)
    await Promise.all(holds.map((hold) => hold.release()))
    watchdog.close()
  })

  test('SV1, SV2: semaphores; shared holds, and their guards', async () => {
    const sub = view()
    const permit = await sub.semaphores.acquire('s', { of: 1, lease: '30s' })
    expect([permit.name, permit.permits]).toEqual(['s', 1])
    expect(await at.store.semaphores.tryAcquire(at.key('v/s'), { of: 1 })).toBeUndefined()
    const root = await at.store.semaphores.tryAcquire(at.key('s'), { of: 1 })
    expect(root?.held).toBe(true)
    expect((await sub.semaphores.query()).map(({ name }) => name)).toEqual(['s'])
    await permit.kv.put('k', '1')
    expect(await at.store.get(at.key('v/k'), as)).toBe('1')
    await at.store.semaphores.resize(at.key('v/s'), 2)
    await sub.semaphores.resize('s', 3)
    const more = await at.other.semaphores.acquire(at.key('v/s'), { of: 3, permits: 2, lease: '30s' })
    await Promise.all([permit.release(), root?.release(), more.release()])
    await expect(permit.kv.put('k', '2')).rejects.toMatchObject(code('ERR_FENCED'))
    await using one = await sub.locks.acquire(bytes(0xff, 1), { ...HOLD, mode: 'shared' })
    await using two = await sub.locks.acquire(bytes(0xff, 1), { ...HOLD, mode: 'shared' })
    await expect(one.kv.put('k', '3')).rejects.toMatchObject(code('ERR_FENCED'))
    await sub.put('k', '4', { guard: { key: bytes(0xff, 1), token: two.token, shared: true } })
    expect(await sub.get('k')).toBe('4')
  })

  test('SV1, SV2: elections', async () => {
    const sub = view()
    const leadership = await sub.elections.campaign('e', { value: 'one', lease: '30s' })
    expect(await at.other.elections.leader(at.key('v/e'))).toMatchObject({ token: leadership.token })
    expect(await at.store.elections.leader(at.key('e'))).toBeUndefined()
    expect(await sub.elections.leader('e')).toMatchObject({ value: 'one', token: leadership.token })
    // It stands beside the locks, and is ended with them.
    expect(await sub.locks.releaseAll()).toBe(1)
    expect([leadership.held, await sub.elections.leader('e')]).toEqual([false, undefined])
    await leadership.resign()
  })

  test('SV1: a prefix of bytes 0xff, which the keys of other kinds begin with in the store', async () => {
    const sub = at.store.sub(Buffer.concat([bytes(0xff), Buffer.from(at.key(''))]))
    await using hold = await sub.locks.acquire('l', HOLD)
    await sub.put('k', '1', { guard: { key: 'l', token: hold.token } })
    await hold.kv.put('k', '2')
    expect((await sub.locks.query('', as)).map(({ key }) => key)).toEqual(['l'])
    const [permits, all] = await Promise.all([
      sub.semaphores.query(),
      at.store.sub(bytes(0xff)).locks.query(),
    ])
    expect([permits.length, all.length]).toEqual([0, 1])
    expect(await sub.locks.releaseAll()).toBe(1)
    expect(hold.held).toBe(false)
  })

  test('SV1: getDistributedLock, with a fencing key: both below the prefix', async () => {
    const sub = view()
    const options = { fencingKey: 'counter' }
    const lock = sub.getDistributedLock('l', '30s', undefined, options)
    expect([await lock.tryLock(), lock.getFencingToken()]).toEqual([true, 1])
    expect(await at.store.getDistributedLock(at.key('v/l'), '30s').tryLock()).toBe(false)
    await lock.unlock()
    const whole = { fencingKey: at.key('v/counter') }
    const again = at.store.getDistributedLock(at.key('v/l'), '30s', undefined, whole)
    expect([await again.tryLock(), again.getFencingToken()]).toEqual([true, 2])
    await again.unlock()
    const long = 'k'.repeat(4096)
    await expect(sub.locks.acquire(long)).rejects.toThrow(/bytes with the \d+ of the prefix of this sub/)
    await expect(sub.locks.query(long)).rejects.toMatchObject(code('ERR_TOO_LARGE'))
  })
})

test('SV3: the store renews the holds of its subs, and its close releases them', async () => {
  const store = await open({ id: 'a', memory: true })
  const sub = store.sub('v/', as)
  await unlessStalled(400, async () => {
    const watch = sub.locks.watch('l', { renewals: true })
    await using _ = await sub.locks.acquire('l', { lease: '1s' })
    expect((await take(watch, 2)).map(({ type, key }) => [type, key])).toEqual([
      ['acquired', 'l'],
      ['renewed', 'l'],
    ])
    await watch.return?.()
  })
  const holds = await Promise.all([sub.locks.acquire('a', HOLD), sub.sub('w/').locks.acquire('a', HOLD)])
  await store.close()
  for (const hold of holds) expect(hold.signal.reason).toMatchObject(code('ERR_CLOSED'))
  await expect(sub.get('k')).rejects.toMatchObject(code('ERR_CLOSED'))
  await expect(sub.locks.acquire('b')).rejects.toMatchObject(code('ERR_CLOSED'))
  await expect(store.sub('late/').put('k', 'v')).rejects.toMatchObject(code('ERR_CLOSED'))
})
