// Test: tryLockWith and releaseLockWith of docs/api.md, and each row of the tables in docs/locks.md, sections
// 2 and 3.

import { KEEP_LEASE_FAIL } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import * as latchkey from '../index.js'
import type { Duration } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { bytes, code, sleep } from './testing/small-test-functions.js'

test('the numbers of RheaKV are exported', () => {
  expect(latchkey).toMatchObject({
    FIRST_TIME_SUCCESS: -1,
    NEW_ACQUIRE_SUCCESS: -2,
    KEEP_LEASE_SUCCESS: -3,
    REENTRANT_SUCCESS: -4,
    KEEP_LEASE_FAIL: Number.MAX_SAFE_INTEGER,
  })
})

onEveryStore((at) => {
  const lock = (id: string, keep = false, more: object = {}, lease: Duration = '10s') =>
    at.store.tryLockWith(at.key(), undefined, keep, { id, lease, ...more })
  /**
   * Acquires twice within the lease. On a slow disk the lease may expire in between; then it begins again.
   */
  const twice = async (lease: number, more: object = {}) => {
    for (;;) {
      const owner = await lock('me', false, more, lease)
      if (owner.acquires === 2) return owner
    }
  }
  const release = (id: string, more: object = {}) =>
    at.store.releaseLockWith(at.key(), { id, lease: '10s', ...more })

  test('no hold, without keepLease: FIRST_TIME', async () => {
    const owner = await lock('me', false, { context: 'why' })
    expect(owner).toEqual({
      id: 'me',
      deadlineMillis: owner.nowMillis + 10_000,
      remainingMillis: -1,
      fencingToken: owner.fencingToken,
      acquires: 1,
      context: 'why',
      success: true,
      code: 'FIRST_TIME',
      nowMillis: owner.nowMillis,
    })
    expect(owner.fencingToken).toBeGreaterThan(0)
    expect(Number.isSafeInteger(owner.deadlineMillis)).toBe(true)
  })

  test('no hold, with keepLease: KEEP_LEASE_FAIL, nothing written (K7)', async () => {
    const owner = await lock('me', true)
    expect(owner).toEqual({
      id: 'me',
      deadlineMillis: 0,
      remainingMillis: KEEP_LEASE_FAIL,
      fencingToken: 0,
      acquires: 0,
      context: undefined,
      success: false,
      code: 'KEEP_LEASE_FAIL',
      nowMillis: owner.nowMillis,
    })
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('an expired hold: KEEP_LEASE_FAIL with its id and context, NEW_ACQUIRE with the next token', async () => {
    const first = await lock('old', false, { context: 'was' }, 200)
    await sleep(300)
    expect(await lock('new', true)).toMatchObject({
      code: 'KEEP_LEASE_FAIL',
      success: false,
      id: 'old',
      context: 'was',
      remainingMillis: KEEP_LEASE_FAIL,
      fencingToken: 0,
      acquires: 0,
    })
    const second = await lock('new')
    expect(second).toMatchObject({
      code: 'NEW_ACQUIRE',
      success: true,
      remainingMillis: -2,
      acquires: 1,
      id: 'new',
    })
    expect(second.context).toBeUndefined()
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken)
  })

  test('an expired hold of the same id: NEW_ACQUIRE too, acquires is 1 again and the token is new (K13)', async () => {
    const before = await twice(200)
    expect(before.code).toBe('REENTRANT')
    await sleep(300)
    const after = await lock('me')
    expect(after).toMatchObject({ code: 'NEW_ACQUIRE', acquires: 1 })
    expect(after.fencingToken).toBeGreaterThan(before.fencingToken)
    expect(await release('me', { fencingToken: before.fencingToken })).toMatchObject({ code: 'NOT_OWNER' })
  })

  test('a hold of the same id, with keepLease: KEEP_LEASE, the deadline never goes back, the context is kept', async () => {
    const first = await lock('me', false, { context: 'why' })
    const kept = await lock('me', true, { context: 'other' })
    expect(kept).toMatchObject({
      code: 'KEEP_LEASE',
      success: true,
      remainingMillis: -3,
      acquires: 1,
      fencingToken: first.fencingToken,
      context: 'why',
    })
    expect(kept.deadlineMillis).toBe(kept.nowMillis + 10_000)
    const shorter = await lock('me', true, {}, '1s')
    expect(shorter.deadlineMillis).toBe(kept.deadlineMillis)
  })

  test('a hold of the same id, without keepLease: REENTRANT, acquires + 1, the context if one is given', async () => {
    const first = await lock('me', false, { context: 'a' })
    expect(await lock('me')).toMatchObject({
      code: 'REENTRANT',
      success: true,
      remainingMillis: -4,
      acquires: 2,
      context: 'a',
      fencingToken: first.fencingToken,
    })
    expect(await lock('me', false, { context: 'b' })).toMatchObject({ acquires: 3, context: 'b' })
    expect(await lock('me', false, { context: '' })).toMatchObject({ acquires: 4, context: '' })
    expect(await lock('me', false, { fencingToken: first.fencingToken })).toMatchObject({ acquires: 5 })
  })

  test('a hold of another id: HELD with the rest of its lease, nothing written', async () => {
    const first = await lock('me', false, { context: 'mine' })
    for (const keep of [false, true]) {
      const owner = await lock('you', keep, { context: 'yours' })
      expect(owner).toEqual({
        id: 'me',
        deadlineMillis: first.deadlineMillis,
        remainingMillis: first.deadlineMillis - owner.nowMillis,
        fencingToken: 0,
        acquires: 0,
        context: 'mine',
        success: false,
        code: 'HELD',
        nowMillis: owner.nowMillis,
      })
      expect(owner.remainingMillis).toBeGreaterThan(0)
      expect(owner.remainingMillis).toBeLessThanOrEqual(10_000)
    }
  })

  test('a token in the request must be the token of the hold (K8)', async () => {
    const { fencingToken } = await lock('me')
    expect(await lock('me', true, { fencingToken: fencingToken + 1 })).toMatchObject({
      code: 'HELD',
      success: false,
    })
    expect(await lock('me', false, { fencingToken: fencingToken + 1 })).toMatchObject({ code: 'HELD' })
    for (const none of [undefined, null, 0])
      expect(await lock('me', true, { fencingToken: none })).toMatchObject({ code: 'KEEP_LEASE' })
  })

  test('release without a hold: NOT_HELD (K12)', async () => {
    const owner = await release('me')
    expect(owner).toEqual({
      id: 'me',
      deadlineMillis: 0,
      remainingMillis: 0,
      fencingToken: 0,
      acquires: 0,
      context: undefined,
      success: false,
      code: 'NOT_HELD',
      nowMillis: owner.nowMillis,
    })
  })

  test('release: DECREMENTED until one is left, then RELEASED', async () => {
    const first = await lock('me', false, { context: 'c' })
    await lock('me')
    const held = await lock('me')
    const carries = {
      id: 'me',
      success: true,
      fencingToken: first.fencingToken,
      context: 'c',
      remainingMillis: 0,
      deadlineMillis: held.deadlineMillis,
    }
    expect(await release('me')).toMatchObject({ ...carries, code: 'DECREMENTED', acquires: 2 })
    expect(await release('me', { fencingToken: first.fencingToken })).toMatchObject({
      code: 'DECREMENTED',
      acquires: 1,
    })
    expect(await release('me')).toMatchObject({ ...carries, code: 'RELEASED', acquires: 0 })
    expect(await release('me')).toMatchObject({ code: 'NOT_HELD', success: false })
    expect(await lock('you')).toMatchObject({ code: 'FIRST_TIME', acquires: 1 })
  })

  test('release of an expired hold of the same id: EXPIRED, and the hold is deleted (K11)', async () => {
    const held = await twice(200, { context: 'c' })
    await sleep(300)
    expect(await release('me')).toMatchObject({
      code: 'EXPIRED',
      success: false,
      acquires: 0,
      id: 'me',
      fencingToken: held.fencingToken,
      context: 'c',
      remainingMillis: 0,
    })
    expect(await release('me')).toMatchObject({ code: 'NOT_HELD' })
    expect(await lock('me')).toMatchObject({ code: 'FIRST_TIME' })
  })

  test('release of a hold of another id: NOT_OWNER with its id, token and context (K9, K10)', async () => {
    const held = await lock('me', false, { context: 'mine' })
    for (const owner of [await release('you'), await release('me', { fencingToken: held.fencingToken + 1 })])
      expect(owner).toMatchObject({
        code: 'NOT_OWNER',
        success: false,
        id: 'me',
        fencingToken: held.fencingToken,
        context: 'mine',
        remainingMillis: 0,
      })
    expect(await lock('me')).toMatchObject({ code: 'REENTRANT', acquires: 2 })
  })

  test('a context is returned as the type that was given', async () => {
    expect((await lock('me', false, { context: bytes(1, 0, 255) })).context).toEqual(bytes(1, 0, 255))
    expect((await lock('you')).context).toEqual(bytes(1, 0, 255))
    expect((await lock('me', false, { context: 'text' })).context).toBe('text')
    expect((await lock('me', false, { context: bytes() })).context).toEqual(bytes())
  })

  test('a context over 4 KiB is ERR_TOO_LARGE', async () => {
    expect((await lock('me', false, { context: 'x'.repeat(4096) })).success).toBe(true)
    await expect(lock('me', false, { context: 'x'.repeat(4097) })).rejects.toMatchObject(
      code('ERR_TOO_LARGE', { outcome: 'not-applied' }),
    )
  })

  test('fencing keys: each has a counter of its own; undefined and null use the counter of the store', async () => {
    const take = async (key: string, fencingKey: string | null | undefined) => {
      const owner = await at.store.tryLockWith(at.key(key), fencingKey, false, { id: 'me', lease: '10s' })
      return owner.fencingToken
    }
    const [own, other] = [at.key('own'), at.key('other')]
    expect([await take('a', own), await take('b', own), await take('c', own)]).toEqual([1, 2, 3])
    expect(await take('d', other)).toBe(1)
    const store = await take('e', undefined)
    expect(await take('f', null)).toBeGreaterThan(store)
    for (const key of ['a', 'b'])
      expect((await at.store.releaseLockWith(at.key(key), { id: 'me', lease: '10s' })).success).toBe(true)
    expect(await take('a', own)).toBe(4)
  })

  test('wrong arguments are TypeErrors, and nothing was sent', async () => {
    const good = { id: 'me', lease: '10s' } as const
    const leases = [
      0,
      -1,
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      49,
      '49ms',
      '721h',
      '1.5s',
      '10',
      ' 1s',
      '1 s',
      '1d',
      '01s',
      '',
      null,
      undefined,
    ]
    const acquirers = [
      undefined,
      null,
      'me',
      { lease: '10s' },
      { ...good, id: '' },
      { ...good, id: 7 },
      ...leases.map((lease) => ({ ...good, lease })),
      ...[-1, 1.5, '1', Number.NaN, 2 ** 53].map((fencingToken) => ({ ...good, fencingToken })),
      { ...good, context: 7 },
    ]
    for (const acquirer of acquirers)
      await expect(at.store.tryLockWith(at.key(), undefined, false, acquirer as never)).rejects.toThrow(
        TypeError,
      )
    for (const fencingKey of ['', 7, {}])
      await expect(at.store.tryLockWith(at.key(), fencingKey as never, false, good)).rejects.toThrow(
        TypeError,
      )
    await expect(at.store.tryLockWith(at.key(), undefined, 'yes' as never, good)).rejects.toThrow(TypeError)
    await expect(at.store.tryLockWith('', undefined, false, good)).rejects.toThrow(TypeError)
    await expect(at.store.tryLockWith('k'.repeat(4097), undefined, false, good)).rejects.toMatchObject(
      code('ERR_TOO_LARGE'),
    )
    await expect(at.store.releaseLockWith(at.key(), { ...good, id: '' })).rejects.toThrow(TypeError)
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('an id may have any content up to 4 KiB', async () => {
    for (const id of ['i'.repeat(4096), 'ß'.repeat(2048), '🔑'.repeat(1024)]) {
      expect(await lock(id)).toMatchObject({ code: 'FIRST_TIME', id })
      expect(await release(id)).toMatchObject({ code: 'RELEASED', id })
      await expect(lock(`${id}.`)).rejects.toMatchObject(code('ERR_TOO_LARGE', { outcome: 'not-applied' }))
    }
  })

  test('a lease is 50 ms to 30 days', async () => {
    expect((await lock('me', false, {}, 50)).success).toBe(true)
    const longest = await lock('me', false, {}, '720h')
    expect(longest.deadlineMillis - longest.nowMillis).toBe(30 * 24 * 3_600_000)
    await at.store.locks.forceRelease(at.key(), longest.fencingToken)
  })
})
