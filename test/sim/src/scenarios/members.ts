// Rule: directed scenarios about members, snapshots and reads.

import type { MembershipChange } from '@latchkey/raft/core'
import { peerOf } from '../raft/draw-change.js'
import { type CrashStep, LOG_STEPS } from '../raft/nemesis.js'
import type { Scenario } from './scenario.js'
import type { ScenarioCluster } from './scenario-cluster.js'

const change = (cluster: ScenarioCluster, at: string, what: MembershipChange): boolean =>
  cluster.member(at).change(what)

const learner = (id: string): MembershipChange => ({ type: 'add-learner', id, peer: peerOf(id) })

const replacement = (...voters: string[]): MembershipChange => ({
  type: 'replace',
  voters,
  learners: [],
  peers: Object.fromEntries(voters.map((id) => [id, peerOf(id)])),
})

async function join(cluster: ScenarioCluster, at: string): Promise<string> {
  const member = cluster.world.recruit()
  if (member === undefined) return cluster.fail('no member to add')
  cluster.demand(change(cluster, at, learner(member.id)), `${member.id} was refused`)
  await cluster.settle(at)
  await cluster.until(
    `${member.id} has caught up`,
    () => cluster.view(member.id).applied === cluster.view(at).lastIndex,
  )
  return member.id
}

async function promote(cluster: ScenarioCluster, at: string, id: string): Promise<void> {
  await cluster.until(`${id} is promoted`, () => change(cluster, at, { type: 'promote', id }))
  await cluster.settle(at)
}

const CRASH_STEPS: readonly CrashStep[] = [
  { kind: 'registers', when: 'before' },
  { kind: 'registers', when: 'during' },
  { kind: 'registers', when: 'after' },
  ...LOG_STEPS.filter(({ kind }) => kind !== 'remove'),
]

/** The member c misses so many entries that it needs a snapshot. */
async function leaveBehind(cluster: ScenarioCluster, writes: number, ms: number): Promise<void> {
  cluster.isolate('c')
  for (let i = 0; i < writes; i++) await cluster.mustWrite()
  await cluster.run(ms)
  cluster.heal()
}

export const members: readonly Scenario[] = [
  {
    title: 'M1: no change of members before an entry of the own term is committed',
    cluster: { members: 4 },
    async run(cluster) {
      await cluster.lead('a')
      for (const other of ['c', 'd']) cluster.cut('a', other)
      cluster.world.recruit()
      cluster.demand(change(cluster, 'a', learner('e')), 'a good change was refused')
      await cluster.run(10)
      cluster.crash('a')
      cluster.drop(({ type, from }) => from === 'b' && type === 'append')
      await cluster.elect('b')
      cluster.demand(!change(cluster, 'b', { type: 'remove', id: 'd' }), 'changed before its own commit')
    },
  },
  {
    title: 'M3: a second change is refused while one is pending, an inherited one included',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.world.recruit()
      const mend = cluster.drop(({ type, from }) => from === 'a' && type === 'append')
      cluster.demand(change(cluster, 'a', learner('d')), 'the first was refused')
      cluster.demand(!change(cluster, 'a', { type: 'remove', id: 'c' }), 'two at once')
      mend()
      await cluster.settle('a')
      cluster.demand(change(cluster, 'a', { type: 'remove', id: 'c' }), 'refused for ever')
      await cluster.settle('a')
      await cluster.mustWrite()
    },
  },
  {
    title: 'M4, M5, E16: a joint configuration needs both halves, and is left by itself',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      const fresh = [await join(cluster, 'a'), await join(cluster, 'a')]
      for (const id of ['b', 'c']) cluster.isolate(id)
      const asked = () => change(cluster, 'a', replacement('a', ...fresh))
      await cluster.until('the change is taken', asked)
      await cluster.run(cluster.electionTimeout / 2)
      cluster.demand(cluster.view('a').membership.outgoing.length > 0, 'left without the old half')
      cluster.heal()
      await cluster.settle('a')
      await cluster.until('it is left', () => cluster.view('a').membership.outgoing.length === 0)
      await cluster.mustWrite()
    },
  },
  {
    title: 'M7: two members, one removed while it is dead: nothing commits until it is back',
    cluster: { members: 2 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.crash('b')
      change(cluster, 'a', { type: 'remove', id: 'b' })
      await cluster.runTimeouts(5)
      cluster.start('b')
      await cluster.mustWrite(30 * cluster.electionTimeout)
    },
  },
  {
    title:
      'M8, M9, M10: a member is added as learner, counts for nothing, and is promoted when it has caught up',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      const id = await join(cluster, 'a')
      await join(cluster, 'a')
      for (const other of ['b', 'c']) cluster.isolate(other)
      const alone = cluster.write('a')
      await cluster.run(cluster.electionTimeout / 2)
      cluster.demand(!cluster.isDone(alone), 'a learner was counted')
      cluster.heal()
      await cluster.until('somebody leads', () => cluster.leader() !== undefined)
      await cluster.mustWrite()
      const leader = cluster.leader() as string
      await promote(cluster, leader, id)
      cluster.demand(cluster.view(leader).membership.voters.includes(id), 'not promoted')
      await cluster.mustWrite()
    },
  },
  {
    title: 'M11: a leader that is removed leads until that is committed, then another one does',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.demand(change(cluster, 'a', { type: 'remove', id: 'a' }), 'refused')
      await cluster.until('another leads', () => !['a', undefined].includes(cluster.leader()))
      await cluster.mustWrite()
      await cluster.run(5_000)
      cluster.demand(cluster.view('a').role !== 'leader', 'a leads without being a member')
    },
  },
  {
    title: 'M16, M6: a change, a cut and a power loss within a second',
    cluster: { members: 5 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      change(cluster, 'a', replacement('a', 'b', 'c'))
      await cluster.run(2)
      cluster.isolate('b')
      cluster.crash('a')
      cluster.crash('c')
      await cluster.run(300)
      cluster.start('a')
      cluster.start('c')
      await cluster.run(300)
      cluster.heal()
      await cluster.mustWrite(30 * cluster.electionTimeout)
      await cluster.until('nothing is joint', () => {
        const leader = cluster.leader()
        return leader !== undefined && cluster.view(leader).membership.outgoing.length === 0
      })
    },
  },
  {
    title: 'M17: all three members are replaced one by one under writes',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      for (const old of ['b', 'c', 'a']) {
        const leader = cluster.leader() as string
        const fresh = await join(cluster, leader)
        await promote(cluster, leader, fresh)
        await cluster.until('removed', () => change(cluster, leader, { type: 'remove', id: old }))
        await cluster.mustWrite(30 * cluster.electionTimeout)
        cluster.crash(old)
        await cluster.mustWrite(30 * cluster.electionTimeout)
      }
    },
  },
  {
    title: 'S1, S3, S8: a member behind the compaction point gets a snapshot while entries go on',
    cluster: { members: 3, member: { everyEntries: 5, chunkBytes: 16 } },
    async run(cluster) {
      await cluster.lead('a')
      await leaveBehind(cluster, 20, 100)
      for (let i = 0; i < 20; i++) await cluster.mustWrite()
      await cluster.until('c follows', () => cluster.view('c').applied === cluster.view('a').lastIndex)
      cluster.demand(cluster.world.laws.counts.snapshots > 0, 'no snapshot was needed')
    },
  },
  {
    title: 'S10: the sender of a snapshot dies in the middle; the next one starts clean',
    cluster: { members: 3, member: { everyEntries: 5, chunkBytes: 16 } },
    async run(cluster) {
      await cluster.lead('a')
      await leaveBehind(cluster, 20, 100)
      await cluster.run(8)
      cluster.crash('a')
      await cluster.mustWrite()
      const leader = cluster.leader() as string
      await cluster.until('c follows', () => cluster.view('c').applied === cluster.view(leader).lastIndex)
    },
  },
  {
    title: 'S4, S15: power loss at each step of an install leaves the old or the new state',
    cluster: { members: 3, member: { everyEntries: 5, chunkBytes: 64 } },
    async run(cluster) {
      await cluster.lead('a')
      for (const step of CRASH_STEPS) {
        for (let after = 0; after < 3; after++) await crashedInstall(cluster, step, after)
      }
    },
  },
  {
    title: 'R1: a new leader confirms no read before it has committed an entry of its own term',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      // c does not know that the last write is committed.
      cluster.drop(({ type, to }) => to === 'c' && type === 'heartbeat')
      await cluster.mustWrite()
      cluster.crash('a')
      cluster.drop(({ type, from, to }) => type === 'append' && from === 'c' && to === 'b')
      await cluster.elect('c')
      const early = cluster.read('c')
      await cluster.run(cluster.electionTimeout / 2)
      cluster.heal()
      await cluster.runTimeouts(5)
      cluster.demand(cluster.answer(early) !== undefined, 'the read was never answered')
    },
  },
  {
    title: 'R2: a leader that was cut off answers no read',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      cluster.isolate('a')
      await cluster.until('another leads', () => !['a', undefined].includes(cluster.leader()))
      await cluster.mustWrite()
      const stale = cluster.read('a')
      await cluster.runTimeouts(3)
      cluster.demand(!cluster.isDone(stale), 'a stale leader answered')
      cluster.heal()
      await cluster.runTimeouts(3)
    },
  },
  {
    title: 'R3, R5: answers to an older round confirm no later read',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      cluster.read('a')
      await cluster.run(20)
      cluster.isolate('a')
      // a is cut off and still leads. Answers from before the read must not confirm the read.
      const late = cluster.read('a')
      await cluster.run(cluster.electionTimeout / 2)
      cluster.demand(!cluster.isDone(late), 'confirmed by an older round')
      await cluster.until('another leads', () => !['a', undefined].includes(cluster.leader()))
      await cluster.mustWrite()
      await cluster.runTimeouts(3)
      cluster.demand(!cluster.isDone(late), 'confirmed by an older round')
    },
  },
  {
    title: 'R7, R8: a follower and a learner read through their leader, also across its change',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      const id = await join(cluster, 'a')
      await cluster.mustRead('b')
      await cluster.mustRead(id)
      cluster.crash('a')
      await cluster.mustWrite()
      await cluster.mustRead(cluster.leader() === 'b' ? 'c' : 'b')
      await cluster.mustRead(id)
    },
  },
]

/** c lacks many entries and dies at the given step of the installation of a snapshot. */
async function crashedInstall(cluster: ScenarioCluster, step: CrashStep, after: number): Promise<void> {
  await leaveBehind(cluster, 8, 50)
  cluster.crashAt('c', step, after)
  await cluster.run(cluster.electionTimeout)
  cluster.member('c').heal()
  cluster.crash('c')
  cluster.start('c')
  const leads = () => cluster.leader() as string
  await cluster.until('c follows', () => {
    const leader = cluster.leader()
    return leader !== undefined && cluster.view('c').applied === cluster.view(leads()).lastIndex
  })
}
