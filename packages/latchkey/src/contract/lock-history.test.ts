// Test: store.locks.history returns the changes of a lock from before the call.

import { expect, test } from 'vitest'
import { open } from '../open/index.js'
import { onEveryStore } from './testing/every-store.js'
import { tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { code, until } from './testing/small-test-functions.js'

const folder = tempFolders()

onEveryStore((at) => {
  test('K67: what happened before somebody looked, in order, with who, which token and how long ago', async () => {
    const key = at.key('lock')
    const first = await at.store.locks.acquire(key, { context: 'one' })
    const stop = new AbortController()
    const second = at.other.locks.acquire(key, { context: 'two', wait: '30s' })
    await until(async () => (await at.store.locks.query(key))[0]?.waiters === 1)
    const third = at.store.locks.acquire(key, { context: 'three', wait: '30s', signal: stop.signal })
    await until(async () => (await at.store.locks.query(key))[0]?.waiters === 2)
    stop.abort()
    await expect(third).rejects.toMatchObject(code('ERR_ABORTED'))
    await until(async () => (await at.store.locks.query(key))[0]?.waiters === 1)
    await at.store.locks.acquire(`${key}/other`).then((hold) => hold.release())
    await first.release()
    const granted = await second
    const rotated = await granted.rotate()
    await granted.release()

    const history = await at.store.locks.history(key)
    expect(history.map(({ type, context, fencingToken }) => [type, context, fencingToken])).toEqual([
      ['acquired', 'one', first.token],
      ['queued', 'two', 0],
      ['queued', 'three', 0],
      ['left', 'three', 0],
      ['released', 'one', first.token],
      ['acquired', 'two', expect.any(Number)],
      ['rotated', 'two', rotated],
      ['released', 'two', rotated],
    ])
    const ago = history.map(({ agoMillis }) => agoMillis)
    expect(ago).toEqual(ago.toSorted((a, b) => b - a))
    expect(history.sinceMillis).toBeGreaterThanOrEqual(ago[0] as number)
    expect(history[1]?.id).toBe(history[5]?.id)
    expect(history.every(({ revision }) => Number.isSafeInteger(revision))).toBe(true)
    // Every other member remembers the same.
    const elsewhere = await at.other.locks.history(key)
    expect(elsewhere.map(({ type }) => type)).toEqual(history.map(({ type }) => type))
  })

  test('renewals are no changes; an expired hold is told as that; bytes stay bytes; a sub sees its own', async () => {
    const key = at.key('lock')
    const context = Uint8Array.of(1, 255)
    const acquirer = { id: 'me', lease: 300, context }
    await at.store.tryLockWith(key, null, false, acquirer)
    await at.store.tryLockWith(key, null, true, acquirer)
    // A hold that is over is no longer listed; a moment later an entry ends it.
    await until(async () => (await at.store.locks.history(key)).length === 2)
    const below = at.store.sub(key.slice(0, -'lock'.length))
    const history = await below.locks.history('lock')
    expect(history.map(({ type, id }) => `${type} ${id}`)).toEqual(['acquired me', 'expired me'])
    expect(history[0]?.context).toEqual(context)
    expect(await at.store.locks.history(at.key('never'))).toHaveLength(0)
  })

  test('semaphores and elections have their own; wrong arguments are TypeErrors', async () => {
    const name = at.key('both')
    await at.store.semaphores.acquire(name, { of: 2, context: 'a permit' }).then((permit) => permit.release())
    await at.store.elections.campaign(name, { value: 'a leader' }).then((leads) => leads.resign())
    const { locks } = at.store
    const contexts = async (kind: 'semaphore' | 'election') =>
      (await locks.history(name, { kind })).map(({ type, context }) => [type, String(context)])
    expect(await contexts('semaphore')).toEqual([
      ['acquired', 'a permit'],
      ['released', 'a permit'],
    ])
    expect((await contexts('election')).map(([type]) => type)).toEqual(['acquired', 'released'])
    expect(await locks.history(name)).toHaveLength(0)
    const wrong: [unknown, unknown, RegExp][] = [
      ['', undefined, /key/],
      [undefined, undefined, /key/],
      ['a', { knd: 'lock' }, /did you mean "kind"/],
      ['a', { kind: 'all' }, /kind/],
      ['a', { timeout: 0 }, /timeout/],
    ]
    for (const [key, options, says] of wrong) {
      const answer = locks.history(key as never, options as never)
      await expect(answer).rejects.toThrow(TypeError)
      await expect(answer).rejects.toThrow(says)
    }
  })
})

test('K67: a restart forgets, and says so: the answer reaches back to the start only', async () => {
  const dir = folder()
  const before = await open({ id: 'a', dir })
  const held = await before.locks.acquire('orders/42', { lease: '10m', context: 'before' })
  expect(await before.locks.history('orders/42')).toHaveLength(1)
  expect(held.held).toBe(true)
  // Cluster time passes before the restart, because a fast machine does all of this test within one millisecond.
  // A put then carries this time into the log: after a restart, cluster time goes on from the last entry's time.
  const ageOfHold = async () => (await before.locks.query('orders/42'))[0]?.sinceMillis
  await expect.poll(ageOfHold).toBeGreaterThanOrEqual(10)
  await before.put('later', Buffer.of(1))
  // Its close waits until the hold is in the state that a start loads.
  await before.snapshot()
  await before.close({ holds: 'keep' })
  await using after = await open({ id: 'a', dir })
  const history = await after.locks.history('orders/42')
  expect(history).toHaveLength(0)
  const [row] = await after.locks.query('orders/42')
  expect(history.sinceMillis).toBeLessThan(row?.sinceMillis as number)
})

test('K67: with more changes than are kept, the answer reaches back to the first that is kept, and no further', async () => {
  await using store = await open({ id: 'a', memory: true })
  await store.locks.acquire('early').then((hold) => hold.release())
  for (let n = 0; n < 512; n += 1) await store.locks.acquire('busy').then((hold) => hold.release())
  expect(await store.locks.history('early')).toHaveLength(0)
  const busy = await store.locks.history('busy')
  expect(busy).toHaveLength(1024)
  expect(busy.sinceMillis).toBeGreaterThanOrEqual(busy[0]?.agoMillis as number)
  await store.locks.acquire('busy').then((hold) => hold.release())
  const later = await store.locks.history('busy')
  expect(later).toHaveLength(1024)
  expect(later[0]?.fencingToken).toBe((busy[0]?.fencingToken as number) + 1)
  // It reaches back to the last change that was dropped; whole milliseconds are one off at each end.
  const [, dropped, kept] = busy.map(({ agoMillis }) => agoMillis) as [number, number, number]
  const reach = later.sinceMillis - (later[0]?.agoMillis as number)
  expect(Math.abs(reach - (dropped - kept))).toBeLessThanOrEqual(2)
})
