// Test: store.locks.watch reports each change of a lock, as docs/locks.md, section 9, says.

import type { LockWatchEvent, Store } from '@latchkey/client'
import { expect, test } from 'vitest'
import { open } from '../open/index.js'
import { onEveryStore } from './testing/every-store.js'
import { code, sleep, take, thrown, until, utf8 } from './testing/small-test-functions.js'

const as = { as: 'string' } as const
const brief = ({ type, key }: LockWatchEvent<'string'>) => `${type} ${String(key).split('/').at(-1)}`
const waiters = async (store: Store, key: string) => (await store.locks.query(key))[0]?.waiters

onEveryStore((at) => {
  test('K60: acquired, queued, released, granted to the next, left: in order and with all their fields', async () => {
    const key = at.key('lock')
    const watch = at.store.locks.watch(key, as)
    const first = await at.store.locks.acquire(key, { context: 'one' })
    const second = at.other.locks.acquire(key, { context: 'two', wait: '30s' })
    await until(async () => (await waiters(at.store, key)) === 1)
    const stop = new AbortController()
    const third = at.store.locks.acquire(key, { wait: '30s', signal: stop.signal }).catch(() => {})
    await until(async () => (await waiters(at.store, key)) === 2)
    stop.abort()
    await third
    await until(async () => (await waiters(at.store, key)) === 1)
    await at.store.locks.acquire(`${key}/other`).then((hold) => hold.release())
    await first.release()
    const granted = await second
    await granted.release()
    const events = await take(watch, 7)
    expect(events.map(({ type }) => type)).toEqual([
      'acquired',
      'queued',
      'queued',
      'left',
      'released',
      'acquired',
      'released',
    ])
    const [one, two, , , released, next] = events
    expect(one).toMatchObject({ key, context: 'one', fencingToken: first.token })
    expect(two).toMatchObject({ key, context: 'two', fencingToken: 0 })
    expect(released).toMatchObject({ id: one?.id, fencingToken: first.token })
    expect(next).toMatchObject({ id: two?.id, context: 'two', fencingToken: granted.token })
    expect(events.every(({ revision }) => Number.isSafeInteger(revision) && revision >= 0)).toBe(true)
    expect(await watch.return?.()).toEqual({ done: true, value: undefined })
  })

  test('a watch of a prefix; keys are bytes by default; the revision is that of the store', async () => {
    const watch = at.store.locks.watch({ prefix: at.key('p') })
    const { revision } = await at.store.put(at.key(), 'v')
    const hold = await at.other.locks.acquire(at.key('p1'), { context: utf8('c') })
    await at.store.locks.acquire(at.key('q')).then((other) => other.release())
    await at.other.locks.forceRelease(at.key('p1'), hold.token)
    const [one, two] = await take(watch, 2)
    expect(one).toMatchObject({ type: 'acquired', key: utf8(at.key('p1')), context: utf8('c') })
    expect(two).toMatchObject({ type: 'released', key: utf8(at.key('p1')), fencingToken: hold.token })
    expect(one?.revision).toBeGreaterThanOrEqual(revision)
    await watch.return?.()
  })

  test('expired is reported once, when the lease ends; re-entrance and renewals only with renewals: true', async () => {
    const acquirer = { id: 'me', lease: '2s' } as const
    const watched = async (key: string) => {
      const plain = at.store.locks.watch(key, as)
      const all = at.store.locks.watch(key, { ...as, renewals: true })
      const first = await at.store.tryLockWith(key, null, false, acquirer)
      await at.store.tryLockWith(key, null, true, acquirer)
      const last = await at.store.tryLockWith(key, null, false, acquirer)
      return { key, plain, all, isOneHold: last.fencingToken === first.fencingToken }
    }
    // On a machine that stands still, the lease may end between two of the calls. Then another lock is watched.
    let n = 0
    let seen = await watched(at.key('lock'))
    while (!seen.isOneHold) seen = await watched(at.key(`${++n}/lock`))
    const { key, plain, all } = seen
    expect((await take(plain, 2)).map(brief)).toEqual(['acquired lock', 'expired lock'])
    expect((await take(all, 4)).map(({ type }) => type)).toEqual([
      'acquired',
      'renewed',
      'renewed',
      'expired',
    ])
    await at.store.locks.acquire(key).then((hold) => hold.release())
    expect((await take(plain, 2)).map(brief)).toEqual(['acquired lock', 'released lock'])
    await Promise.all([plain.return?.(), all.return?.()])
  })

  test('changes of this store right after the call are reported, earlier ones are not', async () => {
    const hold = await at.store.locks.acquire(at.key('before'))
    const watch = at.store.locks.watch({ prefix: at.key('') }, as)
    const next = at.store.locks.acquire(at.key('after'))
    expect((await take(watch, 1)).map(brief)).toEqual(['acquired after'])
    await (await next).release()
    await hold.release()
    expect((await take(watch, 2)).map(brief)).toEqual(['released after', 'released before'])
    await watch.return?.()
  })

  test('it ends by its signal; wrong arguments are TypeErrors at the call', async () => {
    const controller = new AbortController()
    const watch = at.store.locks.watch(at.key(), { signal: controller.signal })
    const next = watch.next()
    await sleep(5)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(next).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason }))
    const { locks } = at.store
    const wrong: [unknown, unknown, RegExp][] = [
      ['', undefined, /key/],
      [undefined, undefined, /target/],
      [{ prefx: 'a' }, undefined, /did you mean "prefix"/],
      ['a', { renewal: true }, /did you mean "renewals"/],
      ['a', { renewals: 1 }, /renewals/],
      ['a', { as: 'xml' }, /as/],
    ]
    for (const [target, options, says] of wrong) {
      const error = thrown(() => locks.watch(target as never, options as never))
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toMatch(says)
    }
  })
})

test('K60: a reader whose missed events are dropped gets the differences between then and now', {
  timeout: 60_000,
}, async () => {
  await using store = await open({ id: 'a', memory: true })
  const gone = await store.locks.acquire('p/gone')
  const watch = store.locks.watch({ prefix: 'p/' }, as)
  // Members keep 8 MiB of events: two thousand of these.
  const context = new Uint8Array(4 * 1024)
  const stays = await store.locks.acquire('p/stays')
  for (let n = 0; n < 4; n++) {
    const holds = await Promise.all(
      Array.from({ length: 600 }, (_, i) => store.locks.acquire(`p/${i}`, { renew: false, context })),
    )
    await Promise.all(holds.map((hold) => hold.release()))
  }
  await gone.release()
  await store.locks.acquire('p/new')
  let told = 0
  const held = new Map<unknown, number>([['p/gone', gone.token]])
  while (!held.has('p/new') || held.has('p/gone')) {
    const [event] = await take(watch, 1)
    told++
    if (event?.type === 'acquired') held.set(event.key, event.fencingToken)
    else held.delete(event?.key)
  }
  expect([...held.keys()].toSorted()).toEqual(['p/new', 'p/stays'])
  expect(told).toBeLessThan(4_800)
  expect(held.get('p/stays')).toBe(stays.token)
})
