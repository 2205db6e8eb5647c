// Test: the rules for all calls of docs/api.md: timeouts, signals, wrong arguments, errors.

import { expect, test } from 'vitest'
import { ERRORS, LatchkeyError } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { code } from './testing/small-test-functions.js'

test('Errors: the codes of the table, each with retryable, outcome and a message', () => {
  expect(Object.keys(ERRORS)).toEqual([
    'ERR_NO_LEADER',
    'ERR_BUSY',
    'ERR_TIMEOUT',
    'ERR_OUTCOME_UNKNOWN',
    'ERR_ABORTED',
    'ERR_CLOSED',
    'ERR_TOO_LARGE',
    'ERR_COMPACTED',
    'ERR_NOT_OWNER',
    'ERR_LOCK_LOST',
    'ERR_FENCED',
    'ERR_UNAUTHORIZED',
    'ERR_FORBIDDEN',
    'ERR_WRONG_CLUSTER',
    'ERR_DIR_LOCKED',
    'ERR_CORRUPT',
    'ERR_STORAGE_FAILED',
    'ERR_PROTOCOL',
    'ERR_CONFIG_CHANGE_IN_PROGRESS',
    'ERR_DEADLOCK',
    'ERR_NOT_A_NUMBER',
    'ERR_MISMATCH',
    'ERR_UNDECODABLE',
    'ERR_BARRIER_BROKEN',
  ])
  const error = new LatchkeyError('ERR_BUSY')
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({ name: 'LatchkeyError', retryable: true, outcome: 'not-applied' })
})

const BAD_TIMEOUTS = [
  0,
  -1,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '5',
  '5 s',
  '1.5s',
  '0s',
  '01s',
  '1d',
  '-1s',
  '',
  {},
  null,
  2 ** 53,
]

onEveryStore((at) => {
  const calls = (options: object): Record<string, () => Promise<unknown>> => {
    const { store } = at
    const key = at.key()
    const op = options as never
    return {
      get: () => store.get(key, op),
      multiGet: () => store.multiGet([key], op),
      multiGetNone: () => store.multiGet([], op),
      containsKey: () => store.containsKey(key, op),
      getEntry: () => store.getEntry(key, op),
      put: () => store.put(key, 'v', op),
      putAll: () => store.putAll([{ key, value: 'v' }], op),
      putIfAbsent: () => store.putIfAbsent(key, 'v', op),
      getAndPut: () => store.getAndPut(key, 'v', op),
      compareAndPut: () => store.compareAndPut(key, undefined, 'v', op),
      compareAndPutAll: () => store.compareAndPutAll([{ key, update: 'v' }], op),
      merge: () => store.merge(key, 'v', op),
      touch: () => store.touch(key, '1h', op),
      increment: () => store.increment(key, 1, op),
      delete: () => store.delete(key, op),
      deleteAll: () => store.deleteAll([key], op),
      deleteRange: () => store.deleteRange(key, `${key}~`, op),
      batch: () => store.batch([{ type: 'put', key, value: 'v' }], op),
      txn: () => store.txn({ then: [{ type: 'put', key, value: 'v' }] }, op),
      scan: () => store.scan({ prefix: key }, op),
      getSequence: () => store.getSequence(key, 1, op),
      getLatestSequence: () => store.getLatestSequence(key, op),
      resetSequence: () => store.resetSequence(key, op),
      tryLockWith: () => store.tryLockWith(key, null, false, { id: 'i', lease: '10s' }, op),
      releaseLockWith: () => store.releaseLockWith(key, { id: 'i', lease: '10s' }, op),
      query: () => store.locks.query(key, op),
      forceRelease: () => store.locks.forceRelease(key, 1, op),
      ready: () => store.ready(op),
      status: () => store.status(op),
      snapshot: () => store.snapshot(op),
      transferLeadership: () => store.transferLeadership(undefined, op),
      backup: () => store.backup('/nowhere/at/all', op),
      add: () => store.members.add('x', 'ws://127.0.0.1:1', op),
      promote: () => store.members.promote('x', op),
      update: () => store.members.update('x', 'ws://127.0.0.1:1', op),
      remove: () => store.members.remove('x', op),
      rebuild: () => store.members.rebuild('x', op),
    }
  }
  const untouched = async () => {
    expect(await at.store.containsKey(at.key())).toBe(false)
    expect(await at.store.getLatestSequence(at.key())).toBe(0)
    expect(await at.store.locks.query(at.key())).toEqual([])
  }

  test('timeout is a Duration; zero, negative, NaN, fractions, unknown units, Infinity are a TypeError', async () => {
    for (const timeout of BAD_TIMEOUTS)
      for (const [name, call] of Object.entries(calls({ timeout })))
        await expect([name, timeout, await call().catch((error: unknown) => error)]).toEqual([
          name,
          timeout,
          expect.any(TypeError),
        ])
    await untouched()
  })

  test('durations as numbers and strings', async () => {
    for (const timeout of [5_000, '5000ms', '5s', '2m', '1h'] as const)
      expect(await at.store.get(at.key(), { timeout })).toBeUndefined()
  })

  test('a signal that is aborted already: ERR_ABORTED, not applied, with its reason as the cause', async () => {
    const reason = new Error('mine')
    const signal = AbortSignal.abort(reason)
    for (const [name, call] of Object.entries(calls({ signal }))) {
      const error = await call().catch((error: unknown) => error)
      expect([name, error]).toEqual([name, expect.any(LatchkeyError)])
      expect({ ...(error as LatchkeyError), call: name, cause: (error as Error).cause }).toMatchObject({
        code: 'ERR_ABORTED',
        outcome: 'not-applied',
        cause: reason,
      })
    }
    await untouched()
  })

  test('a signal and options of the wrong type are TypeErrors', async () => {
    for (const options of [{ signal: {} }, { signal: 'x' }, { signal: null }, 'options', 7, []])
      for (const [name, call] of Object.entries(calls(options as object)))
        expect([name, options, await call().catch((error: unknown) => error)]).toEqual([
          name,
          options,
          expect.any(TypeError),
        ])
    await untouched()
  })

  test('a TypeError has no code; nothing is thrown synchronously', async () => {
    const { store } = at
    const wrong: (() => Promise<unknown>)[] = [
      () => store.get(undefined as never),
      () => store.put(undefined as never, undefined as never),
      () => store.putAll(undefined as never),
      () => store.multiGet(undefined as never),
      () => store.compareAndPutAll(undefined as never),
      () => store.deleteAll(undefined as never),
      () => store.batch(undefined as never),
      () => store.txn(undefined as never),
      () => store.scan(7 as never),
      () => store.getSequence('k', 0),
      () => store.tryLockWith('k', null, false, undefined as never),
      () => store.releaseLockWith('k', undefined as never),
      () => store.locks.acquire(undefined as never),
      () => store.locks.tryAcquire(undefined as never),
      () => store.locks.withLock(undefined as never, undefined as never),
      () => store.locks.forceRelease('k', undefined as never),
      () => store.members.add(undefined as never, undefined as never),
      () => store.members.promote(7 as never),
      () => store.backup(undefined as never),
      () => store.transferLeadership(7 as never),
      () => store.getDistributedLock('k', '1s').tryLock({ timeout: 0 }),
      () => store.getDistributedLock('k', '1s').lock(7 as never),
    ]
    for (const [n, call] of wrong.entries()) {
      const error = (await call().catch((error: unknown) => error)) as TypeError
      expect([n, error]).toEqual([n, expect.any(TypeError)])
      expect(error).not.toHaveProperty('code')
    }
  })

  test('options may be undefined, and keys of options too', async () => {
    await at.store.put(at.key(), 'v', undefined)
    expect(
      await at.store.get(at.key(), { as: undefined, timeout: undefined, signal: undefined }),
    ).toHaveLength(1)
    await at.store.put(at.key(), 'v', { guard: undefined, timeout: undefined })
  })

  test('a signal that aborts after sending keeps no listener, and does not affect a finished call', async () => {
    const controller = new AbortController()
    await at.store.put(at.key(), 'v', { signal: controller.signal })
    controller.abort()
    expect(await at.store.get(at.key(), { as: 'string' })).toBe('v')
    await expect(at.store.get(at.key(), { signal: controller.signal })).rejects.toMatchObject(
      code('ERR_ABORTED'),
    )
  })
})
