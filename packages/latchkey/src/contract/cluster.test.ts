// Test: the section "The store" of docs/api.md, and the events of a store.

import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { open, type Store } from '../index.js'
import { freePorts, tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { activeMillis, code, sleep, until } from './testing/small-test-functions.js'
import { openTrio, QUICK, type Trio } from './testing/three-embedded-members.js'

const folder = tempFolders()
let trio: Trio
let remote: Store
beforeAll(async () => {
  trio = await openTrio(folder())
  remote = await trio.connect()
})
afterAll(async () => {
  await remote?.close()
  await trio?.close()
})

test('status: { id, role, leader, term, commit, applied, clusterTime, clusterId, members, version, uptimeMillis, dateMillis, disk } with lag and liveness', async () => {
  await remote.put('k', 'v')
  const leader = await trio.leader()
  const status = await leader.status()
  expect(Object.keys(status).sort()).toEqual(
    [
      'applied',
      'clusterId',
      'clusterTime',
      'commit',
      'disk',
      'id',
      'leader',
      'members',
      'role',
      'term',
      'version',
      'uptimeMillis',
      'dateMillis',
    ].sort(),
  )
  expect(status.version).toMatch(/^\d+\.\d+\.\d+/)
  await expect.poll(async () => (await leader.status()).uptimeMillis).toBeGreaterThan(status.uptimeMillis)
  expect(Math.abs(status.dateMillis - Date.now())).toBeLessThan(60_000)
  const { freeBytes = -1, totalBytes = 0 } = status.disk ?? {}
  expect(freeBytes).toBeGreaterThanOrEqual(0)
  expect(totalBytes).toBeGreaterThanOrEqual(freeBytes)
  expect(status).toMatchObject({ role: 'leader', leader: status.id })
  for (const number of [status.term, status.commit, status.applied, status.clusterTime])
    expect(Number.isSafeInteger(number)).toBe(true)
  expect(status.commit).toBeGreaterThan(0)
  expect(status.applied).toBeLessThanOrEqual(status.commit)
  expect(status.members.map(({ id, url, role }) => [id, url, role]).sort()).toEqual(
    Object.entries(trio.urls).map(([id, url]) => [id, url, 'voter']),
  )
  for (const member of status.members) {
    expect(member.alive).toBe(true)
    expect(member.lag).toBeGreaterThanOrEqual(0)
    expect(member.sinceMillis).toBeGreaterThanOrEqual(0)
    expect(member.sinceMillis).toBeLessThanOrEqual(status.uptimeMillis)
  }
  const follower = await (await trio.follower()).status()
  expect(follower).toMatchObject({ role: 'follower', leader: status.id, term: status.term })
  expect(Object.keys(trio.stores)).toContain((await remote.status()).id)
})

test('C25: the list of sessions names their openers and holds; an ended session loses its waits, keeps its locks, and its store opens another one', async () => {
  const other = await trio.connect()
  const hold = await other.locks.acquire('held', { lease: '20s' })
  const first = await remote.locks.acquire('elsewhere', { lease: '20s' })
  const waits = other.locks.acquire('elsewhere', { lease: '20s', wait: '50s' })
  await until(async () => (await remote.sessions.list()).some(({ waiters }) => waiters === 1))
  const listed = await remote.sessions.list()
  const its = listed.find(({ holds, waiters }) => holds + waiters > 0)
  expect(listed.length).toBeGreaterThanOrEqual(2)
  expect(its).toMatchObject({ openedBy: expect.stringMatching(/127\.0\.0\.1/), lifeMillis: 30_000 })
  expect(its?.remainingMillis).toBeGreaterThan(0)
  for (const { id } of listed) expect(await remote.sessions.end(id)).toBe(true)
  expect(await remote.sessions.end(listed[0]?.id as number)).toBe(false)
  expect((await remote.sessions.list()).some(({ id }) => listed.some((one) => one.id === id))).toBe(false)
  expect(hold.held).toBe(true)
  await hold.kv.put('held/state', 'still')
  await remote.put('k', 'with another session')
  await expect(remote.sessions.end('1' as never)).rejects.toThrow(TypeError)
  await expect(remote.sessions.end(0)).rejects.toThrow(TypeError)
  await hold.release()
  // The store whose place in the queue has ended joins the queue again.
  await first.release()
  await (await waits).release()
  await other.close()
})

test('transferLeadership(id), and without an id to any member; stores emit leader and role', async () => {
  const before = await trio.leader()
  const { id: from } = await before.status()
  const target = Object.keys(trio.stores).find((id) => id !== from) as string
  const told: unknown[] = []
  const roles: unknown[] = []
  const onLeader = (event: unknown) => void told.push(event)
  const onRole = (event: unknown) => void roles.push(event)
  remote.on('leader', onLeader)
  trio.stores[target]?.on('role', onRole)
  await remote.transferLeadership(target)
  await until(async () => (await (trio.stores[target] as Store).status()).role === 'leader')
  const { term } = await (trio.stores[target] as Store).status()
  await until(() => told.some((event) => (event as { id: string }).id === target))
  expect(told).toContainEqual({ id: target, term })
  await until(() => roles.some((event) => (event as { role: string }).role === 'leader'))
  expect(roles).toContainEqual({ role: 'leader', term })
  remote.off('leader', onLeader)
  trio.stores[target]?.off('role', onRole)
  await remote.put('after', '1')
  await (trio.stores[target] as Store).transferLeadership()
  await until(async () => (await (trio.stores[target] as Store).status()).role !== 'leader')
  await remote.put('after', '2')
  const stays = await (await trio.leader()).status()
  await remote.transferLeadership(stays.id)
  expect((await (await trio.leader()).status()).id).toBe(stays.id)
})

test('transferLeadership to an unknown member fails', async () => {
  await expect(remote.transferLeadership('nobody')).rejects.toMatchObject({ name: 'LatchkeyError' })
  await remote.put('k', 'v')
})

test('store events work with once() of node:events', async () => {
  const { id } = await (await trio.leader()).status()
  const target = Object.keys(trio.stores).find((name) => name !== id) as string
  const waiting = once(remote as never, 'leader')
  await remote.transferLeadership(target)
  const [event] = await waiting
  expect(event).toMatchObject({ term: expect.any(Number) })
})

test('events: on, once, off, addListener and removeListener return the store, as those of an EventEmitter do', async () => {
  const heard: unknown[] = []
  const listener = (event: unknown) => void heard.push(event)
  expect(remote.on('leader', listener).once('leader', listener).addListener('role', listener)).toBe(remote)
  expect(remote.off('leader', listener).removeListener('leader', listener).off('role', listener)).toBe(remote)
  expect(() => remote.on('leader', 'listener' as never)).toThrow(TypeError)
  const controller = new AbortController()
  const waiting = once(remote as never, 'leader', { signal: controller.signal })
  controller.abort()
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
  await (await trio.leader()).transferLeadership()
  await remote.put('k', 'v')
  await sleep(50)
  expect(heard).toEqual([])
})

test('a listener can be removed', async () => {
  const heard: unknown[] = []
  const listener = (event: unknown) => heard.push(event)
  remote.on('leader', listener)
  remote.off('leader', listener)
  await (await trio.leader()).transferLeadership()
  await remote.put('k', 'v')
  await sleep(50)
  expect(heard).toEqual([])
})

test('snapshot() compacts now; data stays', async () => {
  for (const store of [...Object.values(trio.stores), remote]) {
    await store.put('kept', 'v')
    const { bytesBefore, bytesAfter } = await store.snapshot()
    expect([bytesBefore >= 0, bytesAfter >= 0]).toEqual([true, true])
    expect(await store.get('kept', { as: 'string' })).toBe('v')
  }
})

test('members: add as a learner, promote, update, remove a fourth; member events', async () => {
  const [port, next] = await freePorts(2)
  const url = `ws://127.0.0.1:${port}`
  const told: unknown[] = []
  const onMember = (event: unknown) => void told.push(event)
  remote.on('member', onMember)
  const dir = join(folder(), 'd')
  const fourth = await open({ id: 'd', dir, members: { ...trio.urls, d: url }, join: true, ...QUICK })
  try {
    expect(await remote.members.add('d', url)).toBeUndefined()
    await fourth.ready({ timeout: '30s' })
    expect((await fourth.status()).role).toBe('learner')
    expect((await remote.status()).members.find(({ id }) => id === 'd')).toMatchObject({
      role: 'learner',
      url,
    })
    await fourth.put('through', 'a learner')
    expect(await fourth.get('through', { as: 'string' })).toBe('a learner')
    await (await fourth.locks.acquire('learner')).release()
    await remote.members.add('d', url)
    await until(
      () =>
        remote.members.promote('d').then(
          () => true,
          (error: { code: string; retryable: boolean }) => {
            expect(error).toMatchObject({ code: 'ERR_BUSY', retryable: true })
            return false
          },
        ),
      () => sleep(50),
    )
    expect((await (await trio.leader()).status()).members.find(({ id }) => id === 'd')?.role).toBe('voter')
    const moved = `ws://127.0.0.1:${next}`
    await remote.members.update('d', moved)
    await until(async () => (await remote.status()).members.find(({ id }) => id === 'd')?.url === moved)
    await remote.members.remove('d')
    await until(async () => (await remote.status()).members.every(({ id }) => id !== 'd'))
    await until(() => told.length >= 4)
    expect(told).toEqual(['added', 'promoted', 'updated', 'removed'].map((change) => ({ id: 'd', change })))
    await remote.put('after', 'v')
  } finally {
    remote.off('member', onMember)
    await fourth.close()
  }
})

test('member events: every member emits each change, also when changes follow each other at once', async () => {
  const stores = [remote, ...Object.values(trio.stores)]
  const told: unknown[][] = stores.map(() => [])
  const listeners = stores.map((_, at) => (event: unknown) => void told[at]?.push(event))
  for (const [at, store] of stores.entries()) store.on('member', listeners[at] as () => void)
  const [one, two] = (await freePorts(2)).map((port) => `ws://127.0.0.1:${port}`) as [string, string]
  await remote.members.add('passing', one)
  await expect(remote.members.add('passing', two)).rejects.toMatchObject({
    message: expect.stringContaining(one),
  })
  await remote.members.update('passing', two)
  await remote.members.remove('passing')
  await until(() => told.every((events) => events.length >= 3))
  const changes = ['added', 'updated', 'removed'].map((change) => ({ id: 'passing', change }))
  for (const events of told) expect(events).toEqual(changes)
  for (const [at, store] of stores.entries()) store.off('member', listeners[at] as () => void)
})

test('a learner that lags is not promoted: ERR_BUSY, retryable', async () => {
  const [port] = await freePorts(1)
  await remote.members.add('ghost', `ws://127.0.0.1:${port}`)
  await expect(remote.members.promote('ghost')).rejects.toMatchObject(code('ERR_BUSY', { retryable: true }))
  await remote.members.remove('ghost')
  await expect(remote.members.promote('ghost')).rejects.toMatchObject({ name: 'LatchkeyError' })
})

test('M26: an address of another member is refused with an error that names that member, and nothing is changed', async () => {
  const before = (await remote.status()).members.map(({ id, url }) => [id, url])
  const url = before.find(([id]) => id === 'b')?.[1] as string
  for (const ask of [
    () => remote.members.add('d', url),
    () => remote.members.add('d', `${url}/`),
    () => remote.members.update('a', url),
  ])
    await expect(ask()).rejects.toMatchObject({
      code: 'ERR_MISMATCH',
      outcome: 'not-applied',
      message: expect.stringContaining('the address of member b already'),
    })
  // A change that is done already may be requested again.
  await remote.members.update('b', url)
  expect((await remote.status()).members.map(({ id, url }) => [id, url])).toEqual(before)
})

test('rebuild(id): the state of a member is built anew from its peers', async () => {
  const leader = await trio.leader()
  const { id } = await leader.status()
  const target = Object.keys(trio.stores).find((name) => name !== id) as string
  await remote.put('rebuilt', 'v')
  await remote.members.rebuild(target)
  const store = trio.stores[target] as Store
  await store.ready({ timeout: '40s' })
  expect(await store.get('rebuilt', { as: 'string', timeout: '40s' })).toBe('v')
})

test('writes, watches and locks continue across a change of leader (C2, C11)', async () => {
  const watch = remote.watch({ prefix: 'over/' }, { as: 'string' })
  const hold = await remote.locks.acquire('over', { lease: '30s' })
  const writes: Promise<unknown>[] = []
  for (let n = 0; n < 60; n++) {
    writes.push(remote.merge('over/list', `${n}`))
    if (n === 20) writes.push((await trio.leader()).transferLeadership())
    await sleep(2)
  }
  await Promise.all(writes)
  const list = ((await remote.get('over/list', { as: 'string' })) ?? '').split(',').map(Number)
  expect(list.sort((a: number, b: number) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n))
  const revisions: number[] = []
  while (revisions.length < 60) revisions.push((await watch.next()).value.revision)
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b))
  expect(hold.held).toBe(true)
  await hold.release()
  await watch.return?.()
})

test('bad arguments of cluster calls are TypeErrors', async () => {
  const { members } = remote
  for (const call of [
    () => members.add('', 'ws://127.0.0.1:1'),
    () => members.add('x', ''),
    () => members.add('x', 'http://127.0.0.1:1'),
    () => members.add('x', 'nonsense'),
    () => members.add('white space', 'ws://127.0.0.1:1'),
    () => members.update('x', 'nonsense'),
    () => members.promote(''),
    () => members.remove(undefined as never),
    () => members.rebuild(7 as never),
    () => remote.backup(''),
    () => remote.transferLeadership(''),
  ])
    await expect(call()).rejects.toThrow(TypeError)
})

test('an unknown id is refused at once with an error that names the members; a learner cannot become the leader', async () => {
  const took = await activeMillis(async () => {
    for (const store of [...Object.values(trio.stores), remote])
      for (const ask of [
        () => store.members.promote('nobody'),
        () => store.members.update('nobody', 'ws://127.0.0.1:1'),
        () => store.members.rebuild('nobody'),
        () => store.transferLeadership('nobody'),
      ])
        await expect(ask()).rejects.toMatchObject({
          code: 'ERR_MISMATCH',
          outcome: 'not-applied',
          message: 'There is no member "nobody": the members are a, b, c.',
        })
  })
  expect(took).toBeLessThan(4_000)
})
