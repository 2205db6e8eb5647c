// Test: members survive faults: the event loop, the log and the state machine together, on simulated disks.

import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Replica } from './replica.js'
import { World } from './testing/world.js'

let world: World

beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const words = (id: string) => world.seat(id).counter.words

test('a cluster of one: what is acknowledged survives a crash', async () => {
  const alone = await world.boot('a', { members: undefined as never })
  await world.elect()
  expect(await world.add(alone, 'x')).toBe('1')
  world.crash('a')
  const again = await world.boot('a', { members: undefined as never })
  await world.elect()
  expect(words('a')).toEqual(['x'])
  expect(await world.add(again, 'y')).toBe('2')
})

test('three members agree, found a cluster, and know each other’s incarnations', async () => {
  const leader = await world.three()
  expect(await world.add(leader, 'x')).toBe('1')
  await world.run(200)
  expect(['a', 'b', 'c'].map(words)).toEqual([['x'], ['x'], ['x']])
  const { cluster, peers } = leader.node.raft.membership
  expect(cluster).toMatch(/^id-/)
  expect(Object.values(peers).every((peer) => peer.incarnation !== '')).toBe(true)
  expect(['a', 'b', 'c'].map((id) => world.seat(id).replica?.clusterId)).toEqual([cluster, cluster, cluster])
})

test('a turn is taken where there is something to do: at a leader to propose and to apply, at a follower not even one', async () => {
  const leader = await world.three()
  await world.add(leader, 'x')
  await world.run(200)
  const turns = () => ['a', 'b', 'c'].map((id) => world.seat(id).turns)
  const before = turns()
  const outcome = world.submit(leader, 'y')
  await world.settle()
  expect(await outcome).toMatchObject({ type: 'applied' })
  const taken = turns().map((count, i) => count - (before[i] as number))
  expect(taken.sort()).toEqual([0, 0, 2])
  await world.run(10)
  expect(['a', 'b', 'c'].map(words)).toEqual([
    ['x', 'y'],
    ['x', 'y'],
    ['x', 'y'],
  ])
})

test('D8: all members crash at once: no acknowledged command is lost', async () => {
  const leader = await world.three()
  for (const word of ['x', 'y', 'z']) await world.add(leader, word)
  for (const id of ['a', 'b', 'c']) world.crash(id)
  for (const id of ['a', 'b', 'c']) await world.boot(id)
  const next = await world.elect()
  expect(await world.add(next, 'w')).toBe('4')
  expect(words(next.node.options.id)).toEqual(['x', 'y', 'z', 'w'])
})

test('a new leader is found at once when the leader’s process is gone', async () => {
  const leader = await world.three({ electionTimeout: 1_000, heartbeat: 100 })
  await world.run(300)
  const before = world.clock.now()
  world.crash(leader.node.options.id)
  await world.until(() => world.leader() !== undefined)
  expect(world.clock.now() - before).toBeLessThan(200)
})

test('S8: a member that lags behind the compacted log is sent a snapshot', async () => {
  const leader = await world.three({ snapshot: { everyEntries: 4, everyBytes: 1e6 } })
  const lagging = ['a', 'b', 'c'].find((id) => id !== leader.node.options.id) as string
  world.isolate(lagging)
  for (let i = 0; i < 12; i++) await world.add(leader, `w${i}`)
  expect(leader.node.raft.firstIndex).toBeGreaterThan(6)
  world.heal()
  await world.until(() => words(lagging).length === 12)
  expect(words(lagging)).toEqual(words(leader.node.options.id))
})

test("D17: a machine older than its log is rebuilt from a peer's snapshot", async () => {
  const leader = await world.three({ snapshot: { everyEntries: 4, everyBytes: 1e6 } })
  const other = ['a', 'b', 'c'].find((id) => id !== leader.node.options.id) as string
  for (let i = 0; i < 12; i++) await world.add(leader, `w${i}`)
  await world.run(100)
  const disk = world.seat(other).counter.disk
  world.crash(other)
  disk.state = undefined
  disk.words = []
  await world.boot(other)
  await world.until(() => words(other).length === 12)
  expect(words(other)).toEqual(words(leader.node.options.id))
})

test('M13: a wiped member does not vote, and its error says what to do', async () => {
  const leader = await world.three()
  await world.run(300)
  const wiped = ['a', 'b', 'c'].find((id) => id !== leader.node.options.id) as string
  world.crash(wiped)
  const { disk, counter } = world.seat(wiped)
  for (const name of await disk.list('log')) disk.remove(`log/${name}`, () => {})
  counter.disk.state = undefined
  await world.run(10)
  const again = await world.boot(wiped)
  await world.run(1_000)
  expect(again.node.raft.term).toBe(0)
  expect(world.leader()?.node.raft.term).toBe(leader.node.raft.term)
})

test('M13: a member that was removed, wiped and added again counts with its new incarnation', async () => {
  const leader = await world.three()
  await world.run(300)
  const id = ['a', 'b', 'c'].find((one) => one !== leader.node.options.id) as string
  leader.node.proposeChange({ type: 'remove', id })
  await world.run(200)
  world.crash(id)
  const { disk, counter } = world.seat(id)
  for (const name of await disk.list('log')) disk.remove(`log/${name}`, () => {})
  counter.disk.state = undefined
  counter.disk.words = []
  await world.run(10)
  await world.add(leader, 'x')
  leader.node.proposeChange({ type: 'add-learner', id, peer: { url: `ws://${id}`, incarnation: '' } })
  await world.run(50)
  await world.boot(id, { join: true })
  await world.until(() => words(id).length === 1)
  const { identity } = world.seat(id).replica as Replica
  await world.until(() => leader.node.raft.membership.peers[id]?.incarnation === identity.incarnation)
})

test('a graceful stop transfers the leadership; reads are served from any member', async () => {
  const leader = await world.three()
  await world.add(leader, 'x')
  const moved = leader.handOver(1_000)
  await world.until(() => leader.node.role !== 'leader')
  expect(await moved).toBe('moved')
  const reads = ['a', 'b', 'c'].map(
    (id) => new Promise((resolve) => world.seat(id).replica?.node.read((outcome) => resolve(outcome.ok))),
  )
  await world.run(200)
  expect(await Promise.all(reads)).toEqual([true, true, true])
})

test('M22: a member that joins stops when it learns that it has joined another cluster than the expected one', async () => {
  const leader = await world.three()
  await world.run(200)
  const { node, identity } = await world.boot('d', { join: true, clusterId: 'expected' })
  const failures: string[] = []
  node.on('failed', ({ code }) => failures.push(code))
  const peer = { url: 'ws://d', incarnation: identity.incarnation }
  expect(leader.node.proposeChange({ type: 'add-learner', id: 'd', peer })).toMatchObject({ ok: true })
  world.look()
  await world.until(() => failures.length > 0)
  expect(failures).toEqual(['ERR_WRONG_CLUSTER'])
})

test('D4: a failed sync stops the member; the others go on', async () => {
  const leader = await world.three()
  const { disk } = world.seat(leader.node.options.id)
  const failures: string[] = []
  leader.node.on('failed', (error) => failures.push(error.code))
  disk.failAt(disk.operations + 1, { code: 'EIO' })
  const outcome = world.submit(leader, 'x')
  await world.run(100)
  expect(failures).toEqual(['ERR_STORAGE_FAILED'])
  expect((await outcome).type).toBe('unknown')
  world.unplug(leader.node.options.id)
  await world.until(() => world.leader() !== undefined && world.leader() !== leader)
})

test('a new cluster whose members are started one after the other, one of them twice', async () => {
  world.ids.push('a', 'b', 'c')
  await world.boot('a')
  await world.run(1_000)
  await world.boot('b')
  await world.run(300)
  world.crash('b')
  await world.run(300)
  await world.boot('b')
  await world.run(300)
  expect(world.leader()).toBeUndefined()
  await world.boot('c')
  expect(await world.add(await world.elect(), 'x')).toBe('1')
})

test('M13: one of five that is started only after the others have founded the cluster takes part, and votes once it is written down', async () => {
  world.ids.push('a', 'b', 'c', 'd', 'e')
  for (const id of ['a', 'b', 'c', 'd']) await world.boot(id)
  const leader = await world.elect()
  expect(await world.add(leader, 'x')).toBe('1')
  await world.run(1_000)
  const late = await world.boot('e')
  await world.until(() => words('e').length === 1)
  await world.until(() => late.node.raft.state.mayVote)
  expect(leader.node.raft.membership.peers['e']?.incarnation).toBe(late.identity.incarnation)
  // The new member counts: with two others stopped, it is needed for a majority.
  const gone = ['a', 'b', 'c', 'd'].filter((id) => id !== leader.node.options.id).slice(0, 2)
  for (const id of gone) world.crash(id)
  expect(await world.add(leader, 'y')).toBe('2')
})

test('M13: a fresh member acknowledges nothing before a majority of the others has answered', async () => {
  world.ids.push('a', 'b', 'c', 'd', 'e')
  for (const id of ['a', 'b', 'c', 'd']) await world.boot(id)
  const leader = await world.elect()
  await world.run(300)
  for (const id of ['a', 'b', 'c', 'd']) if (id !== leader.node.options.id) world.isolate(id)
  const late = await world.boot('e')
  await world.run(60)
  expect(late.node.raft.lastIndex).toBe(0)
  expect(late.node.raft.term).toBe(0)
})

// Without this law: a member lags while another one joins. The new member becomes the leader, and the lagging
// member refuses its connection. So the lagging member never receives the entry that names the new member.
test('M11: a lagging member admits an unknown member of its own cluster, and refuses one of no or another cluster', async () => {
  const leader = await world.three()
  await world.run(300)
  const lagging = ['a', 'b', 'c'].find((id) => id !== leader.node.options.id) as string
  const { replica } = world.seat(lagging)
  const admit = (clusterId: string) =>
    world.wire(lagging)?.owner.admit({ id: 'new', incarnation: 'of new', clusterId })
  expect(replica?.clusterId).not.toBe('')
  expect(admit(replica?.clusterId as string)).toBeUndefined()
  for (const other of ['', 'another']) expect(admit(other)).toMatch(/new is no member: add it first/)
  // A connection is a member's when its incarnation is, whatever cluster it claims.
  const info = world.wire(leader.node.options.id)?.info()
  const owner = world.wire(lagging)?.owner
  expect(info && owner?.admit(info)).toBeUndefined()
  expect(info && owner?.admit({ ...info, incarnation: 'of another' })).toMatch(/another directory/)
})

test('the observer sees each call of the core, its effects in order, and each durable batch', async () => {
  const seen: string[] = []
  const asked = new Set<number>()
  world.observer = {
    called: () => void seen.push('called'),
    effect: (effect) => {
      seen.push(effect.type)
      if (effect.type === 'persist') asked.add(effect.batch.id)
    },
    durable: (batchId) => {
      expect(asked.has(batchId)).toBe(true)
      seen.push('durable')
    },
    settled: () => void seen.push('settled'),
  }
  const alone = await world.boot('a', { members: undefined as never })
  await world.elect()
  await world.run(100)
  seen.length = 0
  expect(await world.add(alone, 'x')).toBe('1')
  const quiet = seen.join(' ').replaceAll(/(called settled ?)+/g, '. ')
  expect(quiet.trim()).toMatch(/^(\. )*called persist settled (\. )*durable called commit settled( \.)*$/)
})
