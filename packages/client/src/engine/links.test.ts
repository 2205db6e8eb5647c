// Test: which links a client opens, what it learns from each link, and which links it keeps open.

import { LatchkeyError, OP, errorAnswer } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { NO_FAULTS } from '../testing/fake-cluster.js'
import { codeOf, follow, operationsOf, scene } from '../testing/stores-on-fake-cluster.js'

test('a remote store moves to the leader, and on when it dies', async () => {
  const { world, cluster, store } = scene('move', ['a', 'b', 'c'])
  const client = store()
  await world.run(100)
  expect([...cluster.links].map((link) => link.url)).toEqual(['a'])
  const before = follow(client.put('k', '1'))
  await world.run(20)
  cluster.kill('a')
  cluster.elect('c')
  const after = follow(client.put('k', '2'))
  await world.run(300)
  expect([codeOf(before), codeOf(after)]).toEqual(['ok', 'ok'])
  expect([...cluster.links].map((link) => link.url)).toEqual(['c'])
})

test('C6: a leader that cannot be dialled at once is dialled again, though nothing else changes', async () => {
  const { world, cluster, warmStore } = scene('dial again', ['a', 'b'])
  await warmStore()
  const { dials } = cluster
  cluster.down.add('b')
  cluster.elect('b')
  await world.run(9_000)
  expect([...cluster.links].map((link) => link.url)).toEqual(['a'])
  expect(cluster.dials - dials, 'in nine seconds').toBeLessThan(20)
  cluster.down.delete('b')
  await world.run(3_000)
  expect([...cluster.links].map((link) => link.url)).toEqual(['b'])
})

test('what was asked on a link that is left is still answered there', async () => {
  const { world, cluster, warmStore } = scene('drain', ['a', 'b'])
  const client = await warmStore()
  cluster.faults = { ...NO_FAULTS, latency: 40 }
  const slow = follow(client.merge('log', 'x'))
  cluster.elect('b')
  await world.run(60)
  expect([...cluster.links].map((link) => link.url).sort()).toEqual(['a', 'b'])
  await world.run(200)
  expect(codeOf(slow)).toBe('ok')
  expect([...cluster.links].map((link) => link.url)).toEqual(['b'])
  const sent = cluster.requests.filter((request) => request.kind === 'command')
  expect(operationsOf(sent).filter((op) => op === OP.merge).length).toBe(1)
})

test('C6: what was asked on a link that was left and dies is asked again, though nothing else happens', async () => {
  const { world, cluster, warmStore } = scene('drain and die', ['a', 'b'])
  const client = await warmStore()
  cluster.readDelay = 500
  const read = follow(client.get('k'))
  cluster.mute = true
  const write = follow(client.put('k', '2'))
  await world.run(10)
  cluster.elect('b')
  await world.run(60)
  expect([...cluster.links].map((link) => link.url).sort()).toEqual(['a', 'b'])
  cluster.readDelay = 0
  cluster.mute = false
  for (const link of [...cluster.links]) if (link.url === 'a') link.break()
  const later = follow(client.get('k'))
  await world.run(1_000)
  expect([read, write, later].map(codeOf)).toEqual(['ok', 'ok', 'ok'])
})

test('C6: so is a single call, of either kind', async () => {
  for (const kind of ['read', 'write']) {
    const { world, cluster, warmStore } = scene(`drain one ${kind}`, ['a', 'b'])
    const client = await warmStore()
    cluster.readDelay = 500
    cluster.mute = true
    const seen = follow<unknown>(kind === 'read' ? client.get('k') : client.put('k', '2'))
    await world.run(10)
    cluster.elect('b')
    await world.run(60)
    expect([...cluster.links].map((link) => link.url).sort()).toEqual(['a', 'b'])
    cluster.readDelay = 0
    cluster.mute = false
    for (const link of [...cluster.links]) if (link.url === 'a') link.break()
    await world.run(1_000)
    expect(codeOf(seen), kind).toBe('ok')
  }
})

test('C6: reads that are given up make room for those that wait', async () => {
  const { world, cluster, store } = scene('room', ['a'])
  const client = store()
  await world.run(100)
  cluster.readDelay = 60_000
  for (let i = 0; i < 8_192; i++) follow(client.get('k', { timeout: 100 }))
  const waiting = follow(client.get('k', { timeout: 10_000 }))
  await world.run(50)
  cluster.readDelay = 0
  await world.run(1_000)
  expect(codeOf(waiting)).toBe('ok')
})

test('C6: dead addresses and a leader that cannot be reached do not keep a store from working', async () => {
  const { world, cluster, store } = scene('dead', ['dead', 'silent', 'b'])
  cluster.down.add('dead')
  cluster.leader = 'gone'
  const dialTo = (url: string) =>
    url === 'silent'
      ? (_: unknown, signal: AbortSignal) =>
          new Promise<never>((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error))
          })
      : cluster.dialTo(url === 'gone' ? 'dead' : url)
  const client = store({ route: { seeds: ['dead', 'silent', 'b'], dialTo } })
  const seen = follow(client.put('k', 'v'))
  await world.run(3_000)
  expect(codeOf(seen)).toBe('ok')
})

test('C6: a member that knows no leader is left for one that does, and nothing fails', async () => {
  const { world, cluster, store } = scene('cut off', ['a', 'b', 'c'])
  const client = store()
  await world.run(100)
  expect([...cluster.links].map((link) => link.url)).toEqual(['a'])
  cluster.cutOff.add('a')
  cluster.elect('b')
  const write = follow(client.put('k', '1'))
  const read = follow(client.get('k'))
  await world.run(2_000)
  expect([codeOf(write), codeOf(read)]).toEqual(['ok', 'ok'])
  expect([...cluster.links].map((link) => link.url)).toEqual(['b'])
})

test('C6: where nobody knows a leader, the store stays, asks on, and leaves no link open', async () => {
  const { world, cluster, store } = scene('nobody', ['a', 'b', 'c'])
  const client = store()
  await world.run(100)
  cluster.elect(undefined)
  const dials = cluster.dials
  await world.run(10_000)
  expect([...cluster.links].map((link) => link.url)).toEqual(['a'])
  expect(cluster.dials - dials).toBeGreaterThan(10)
  expect(cluster.dials - dials).toBeLessThanOrEqual(20)
  cluster.elect('c')
  const write = follow(client.put('k', '1'))
  await world.run(2_000)
  expect(codeOf(write)).toBe('ok')
  expect([...cluster.links].map((link) => link.url)).toEqual(['c'])
})

test('grants: attached to each link and session, told after each but the first; a push finds its ticket', async () => {
  const { world, cluster, store } = scene('grants', ['a', 'b'])
  const client = store({ sessionLife: 3_000 })
  const { grants } = client.engine
  const told: string[] = []
  const off = grants.onGranted(Buffer.from('lock'), 'me', (owner) => told.push(owner[0]))
  let attached = 0
  grants.onAttached(() => attached++)
  client.engine.use()
  await world.run(100)
  const attaches = () => cluster.requests.filter((request) => request.kind === 'attach').length
  expect([attaches(), attached]).toEqual([1, 0])
  for (const link of [...cluster.links]) link.break()
  await world.run(100)
  expect(attached).toBe(attaches() - 1)
  expect(attached).toBeGreaterThan(0)
  const [link] = cluster.links
  link?.tell({ kind: 'granted', key: Buffer.from('lock'), owner: ['me', 9, -1, 1, 1, null, 0, 1] })
  link?.tell({ kind: 'granted', key: Buffer.from('lock'), owner: ['you', 9, -1, 1, 1, null, 0, 1] })
  await world.run(10)
  off()
  link?.tell({ kind: 'granted', key: Buffer.from('lock'), owner: ['me', 9, -1, 1, 1, null, 0, 1] })
  await world.run(10)
  expect(told).toEqual(['me'])
})

test('CT5 K4: the bound is counted from the sending, however long the answer took', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const { bound } = client.engine
  const clock = world.clock()
  expect(bound.upper(clock.instant())).toBe(Number.POSITIVE_INFINITY)
  for (const latency of [1, 200, 10]) {
    cluster.faults = { ...NO_FAULTS, latency }
    const seen = follow(client.put('k', '1'))
    await world.until(() => seen.told > 0)
    // The leader's clock has gone on: its time is this by now.
    expect(bound.upper(clock.instant())).toBeGreaterThanOrEqual(Math.floor(world.now))
    expect(bound.upper(clock.instant())).toBeLessThan(world.now + 3 * 200 + 10)
  }
})

test('CT5 K5: of several attempts the first one counts', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const { bound } = client.engine
  const clock = world.clock()
  const warm = follow(client.put('k', '1'))
  await world.run(50)
  expect(codeOf(warm)).toBe('ok')
  cluster.faults = { ...NO_FAULTS, unknownApplied: 1 }
  const seen = follow(client.put('k', '2'))
  await world.run(10)
  cluster.tableTime = cluster.machine.time
  await world.run(700)
  cluster.faults = { ...NO_FAULTS }
  await world.until(() => seen.told > 0)
  expect(codeOf(seen)).toBe('ok')
  expect(bound.upper(clock.instant())).toBeGreaterThanOrEqual(Math.floor(world.now))
})

// Without it: cluster time stands still during an election, a holder asks again and again, and its hold is
// lost though each answer says that no time has passed.
test('CT5: of two answers with the same time the one that was asked for later proves more', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const { bound } = client.engine
  const clock = world.clock()
  await world.run(50)
  cluster.machine.time = 50_000
  for (let i = 0; i < 5; i++) {
    const seen = follow(client.get('k'))
    const asked = world.now
    await world.until(() => seen.told > 0)
    expect(codeOf(seen)).toBe('ok')
    const upper = 50_000 + (world.now - asked) * bound.rate
    expect(bound.upper(clock.instant())).toBeCloseTo(upper)
    await world.run(1_000)
  }
})

test('another cluster behind the same address: bound and session are dropped', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  let dropped = 0
  client.engine.bound.onDropped(() => dropped++)
  const first = follow(client.put('k', '1'))
  await world.run(50)
  cluster.mute = true
  const sent = follow(client.merge('log', 'x', { timeout: 60_000 }))
  await world.run(5)
  cluster.mute = false
  cluster.clusterId = 'cluster-2'
  cluster.machine.sessions.clear()
  for (const link of [...cluster.links]) link.break()
  const second = follow(client.put('k', '2', { timeout: 2_000 }))
  await world.run(2_000)
  expect([codeOf(first), codeOf(second), dropped]).toEqual(['ok', 'ok', 1])
  expect(codeOf(sent)).toBe('ERR_OUTCOME_UNKNOWN')
  expect(cluster.machine.data.get('log')).toBe('x')
})

test('calls that change the cluster are sent once: no answer is ERR_OUTCOME_UNKNOWN; status is asked again', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  await world.run(20)
  const asked: string[] = []
  cluster.admin = (request) => {
    asked.push(request.call)
    for (const link of [...cluster.links]) link.break()
    return undefined
  }
  const add = follow(client.members.add('d', 'ws://d'))
  await world.run(100)
  expect(codeOf(add)).toBe('ERR_OUTCOME_UNKNOWN')
  cluster.admin = (request) => {
    asked.push(request.call)
    if (asked.length < 4) return { answer: errorAnswer('ERR_NO_LEADER'), never: true }
    return {
      answer: [
        0,
        {
          id: 'a',
          role: 'leader',
          leader: null,
          term: 1,
          commit: 1,
          applied: 1,
          clusterTime: 1,
          clusterId: 'x',
          members: [],
        },
      ],
      never: false,
    }
  }
  const status = follow(client.status())
  await world.run(1_000)
  expect(asked).toEqual(['members.add', 'status', 'status', 'status'])
  expect(status.fate).toMatchObject({ is: 'ok', value: { id: 'a', leader: undefined } })
  cluster.admin = () => ({ answer: errorAnswer('ERR_BUSY', 'lagging'), never: false })
  const promote = follow(client.members.promote('d'))
  await world.run(20)
  expect(codeOf(promote)).toBe('ERR_BUSY')
})

test('events: leader, role and member, as links tell them', async () => {
  const { world, cluster, store } = scene('events', ['a', 'b'])
  const client = store()
  const told: unknown[] = []
  client.on('leader', (event) => told.push(['leader', event.id]))
  client.on('role', (event) => told.push(['role', event.role]))
  client.once('leader', (event) => told.push(['once', event.id]))
  await world.run(50)
  cluster.elect(undefined)
  await world.run(50)
  expect(told).toContainEqual(['leader', 'a'])
  expect(told).toContainEqual(['leader', undefined])
  expect(told.filter((event) => (event as string[])[0] === 'once')).toEqual([['once', 'a']])
})

test('refused by every address for a reason that stays, then let in again', async () => {
  const { world, cluster, store } = scene('barred', ['a', 'b'])
  cluster.refusal = new LatchkeyError('ERR_UNAUTHORIZED')
  const client = store()
  const refused = follow(client.put('k', 'v'))
  await world.run(100)
  expect(codeOf(refused)).toBe('ERR_UNAUTHORIZED')
  cluster.refusal = undefined
  await world.run(2_000)
  const seen = follow(client.put('k', 'v'))
  await world.run(100)
  expect(codeOf(seen)).toBe('ok')
})

test('C10: a clock of a client that jumps, stands or races changes nothing at the members', async () => {
  const { world, cluster, store, random } = scene('clocks', ['a', 'b'])
  const real = world.clock()
  let skew = 0
  const instant = () => {
    skew += random.between(-3_600_000, 3_600_000)
    return { hr: world.now, up: 0, wall: world.now + skew }
  }
  const client = store({ clock: { ...real, instant }, sessionLife: 3_000 })
  const told: (string | undefined)[] = []
  for (let step = 0; step < 60; step++) {
    const seen = follow(client.merge('log', `${step}`))
    await world.run(random.between(20, 60))
    if (random.chance(0.1)) for (const link of [...cluster.links]) link.break()
    await world.run(300)
    told.push(codeOf(seen))
  }
  expect(told.every((code) => code === 'ok')).toBe(true)
  expect(cluster.machine.data.get('log')?.split(',')).toEqual(told.map((_, step) => `${step}`))
})

test('R10: a store that moves to another member reads what it has written', async () => {
  const { world, cluster, store } = scene('moves', ['a', 'b', 'c'])
  const client = store({ as: 'string' })
  for (const leader of ['b', 'c', 'a', 'b']) {
    const seen = follow(client.put('k', leader).then(() => client.get('k')))
    await world.run(50)
    cluster.elect(leader)
    await world.run(100)
    expect(seen.fate).toEqual({ is: 'ok', value: leader })
    const again = follow(client.get('k'))
    await world.run(20)
    expect(again.fate).toEqual({ is: 'ok', value: leader })
    expect(cluster.requests.every((request) => request.kind !== 'read' || !request.stale)).toBe(true)
  }
})
