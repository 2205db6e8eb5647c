// Test: the requests that a session itself needs: what opens a session, and what happens to these requests when
// their link closes.

import { type Answer, OP } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { NO_FAULTS } from '../testing/fake-cluster.js'
import { codeOf, follow, operationsOf, scene } from '../testing/stores-on-fake-cluster.js'

test('a link that breaks while a session is opened: another link opens one', async () => {
  const { world, cluster, store } = scene('lost session')
  cluster.faults = { ...NO_FAULTS, closeBefore: 1 }
  const write = follow(store().put('k', 'v'))
  await world.run(100)
  expect(operationsOf(cluster.requests)).toContain(OP.openSession)
  expect(cluster.machine.sessions.size).toBe(0)
  cluster.faults = NO_FAULTS
  await world.run(2_000)
  expect([codeOf(write), cluster.machine.sessions.size]).toEqual(['ok', 1])
})

// Without this law: the store sends its commands in a session that does not exist, or in session 0, in which no
// command is executed at most once.
test('only a positive whole number is a session', async () => {
  const bad = [undefined, null, 'x', Number.NaN, 1.5, -1, 0, 2 ** 53].map(
    (id) => [0, id] as unknown as Answer,
  )
  for (const answer of bad) {
    const { world, cluster, store } = scene(`session ${String(answer[1])}`)
    const { machine } = cluster
    const apply = machine.apply.bind(machine)
    machine.apply = (session, ...rest) =>
      session === 0 ? { answer, fromTable: false } : apply(session, ...rest)
    const write = follow(store().put('k', 'v', { timeout: 60_000 }))
    await world.run(2_000)
    expect([codeOf(write), new Set(operationsOf(cluster.requests))]).toEqual([
      'pending',
      new Set([OP.openSession]),
    ])
    // It asks again, after pauses.
    expect(cluster.requests.length).toBeGreaterThan(3)
    expect(cluster.requests.length).toBeLessThan(40)
    machine.apply = apply
    cluster.requests.length = 0
    await world.run(2_000)
    expect(codeOf(write)).toBe('ok')
    expect(operationsOf(cluster.requests)).toEqual([OP.openSession, OP.put])
  }
})

test('the first session of a cluster, with the number 1, is a session', async () => {
  const { cluster, warmStore } = scene('session 1')
  await warmStore()
  expect([...cluster.machine.sessions.keys()]).toEqual([1])
  expect(operationsOf(cluster.requests)).toEqual([OP.openSession, OP.put])
})

// Without this law: one lost keep-alive is the last one. The session ends, and with it the place of its callers in
// every queue.
test('a keep-alive whose link breaks is sent again on the next link', async () => {
  const { world, cluster, warmStore } = scene('lost keep-alive')
  const client = await warmStore({ sessionLife: 3_000 })
  client.engine.use()
  cluster.requests.length = 0
  cluster.mute = true
  await world.until(() => cluster.requests.length > 0)
  await world.run(50)
  expect(operationsOf(cluster.requests)).toEqual([OP.keepAlive])
  for (const link of [...cluster.links]) link.break()
  cluster.mute = false
  await world.run(10_000)
  expect(new Set(operationsOf(cluster.requests))).toEqual(new Set([OP.keepAlive]))
  expect([...cluster.machine.sessions.keys()]).toEqual([1])
})

test('a keep-alive at a member that stopped is sent again at the next leader', async () => {
  const { world, cluster, warmStore } = scene('keep-alive left', ['a', 'b'])
  const client = await warmStore({ sessionLife: 30_000 })
  client.engine.use()
  const keepAlives = () =>
    [...cluster.links].flatMap(({ url, sent }) =>
      operationsOf(sent).flatMap((op) => (op === OP.keepAlive ? [url] : [])),
    )
  cluster.faults = { ...NO_FAULTS, latency: 40 }
  await world.until(() => keepAlives().length > 0)
  // The keep-alive is still under way.
  cluster.silent.add('a')
  expect(keepAlives()).toEqual(['a'])
  cluster.elect('b')
  await world.run(20_000)
  expect(keepAlives().filter((url) => url === 'b').length).toBeGreaterThanOrEqual(1)
  await world.run(60_000)
  expect([...cluster.machine.sessions.keys()]).toEqual([1])
  expect(operationsOf(cluster.requests).filter((op) => op === OP.openSession)).toHaveLength(1)
})
