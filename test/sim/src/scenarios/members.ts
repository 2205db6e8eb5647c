// Rule: directed scenarios about members, snapshots and reads.

import type { MembershipChange } from '@latchkey/raft/core'
import { peerOf } from '../raft/membership.js'
import type { CrashPoint } from '../raft/member.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const change = (stage: Stage, at: string, what: MembershipChange): boolean => stage.member(at).change(what)

const learner = (id: string): MembershipChange => ({ type: 'add-learner', id, peer: peerOf(id) })

const replacement = (...voters: string[]): MembershipChange => ({
  type: 'replace',
  voters,
  learners: [],
  peers: Object.fromEntries(voters.map((id) => [id, peerOf(id)])),
})

async function join(stage: Stage, at: string): Promise<string> {
  const member = stage.world.recruit()
  if (member === undefined) return stage.fail('no member to add')
  stage.demand(change(stage, at, learner(member.id)), `${member.id} was refused`)
  await stage.settle(at)
  await stage.until(
    `${member.id} has caught up`,
    () => stage.view(member.id).applied === stage.view(at).lastIndex,
  )
  return member.id
}

async function promote(stage: Stage, at: string, id: string): Promise<void> {
  await stage.until(`${id} is promoted`, () => change(stage, at, { type: 'promote', id }))
  await stage.settle(at)
}

type CrashStep = Pick<CrashPoint, 'kind' | 'when'>

const CRASH_STEPS: readonly CrashStep[] = [
  { kind: 'registers', when: 'before' },
  { kind: 'registers', when: 'during' },
  { kind: 'registers', when: 'after' },
  { kind: 'write', when: 'before' },
  { kind: 'sync', when: 'before' },
  { kind: 'sync', when: 'during' },
  { kind: 'sync', when: 'after' },
  { kind: 'create', when: 'after' },
  { kind: 'syncDir', when: 'before' },
  { kind: 'syncDir', when: 'after' },
]

export const members: readonly Scenario[] = [
  {
    title: 'M1: no change of members before an entry of the own term is committed',
    stage: { members: 4 },
    async run(stage) {
      await stage.lead('a')
      for (const other of ['c', 'd']) stage.cut('a', other)
      stage.world.recruit()
      stage.demand(change(stage, 'a', learner('e')), 'a good change was refused')
      await stage.run(10)
      stage.crash('a')
      stage.drop(({ type, from }) => from === 'b' && type === 'append')
      await stage.elect('b')
      stage.demand(!change(stage, 'b', { type: 'remove', id: 'd' }), 'changed before its own commit')
    },
  },
  {
    title: 'M3: a second change is refused while one is pending, an inherited one included',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.world.recruit()
      const mend = stage.drop(({ type, from }) => from === 'a' && type === 'append')
      stage.demand(change(stage, 'a', learner('d')), 'the first was refused')
      stage.demand(!change(stage, 'a', { type: 'remove', id: 'c' }), 'two at once')
      mend()
      await stage.settle('a')
      stage.demand(change(stage, 'a', { type: 'remove', id: 'c' }), 'refused for ever')
      await stage.settle('a')
      await stage.mustWrite()
    },
  },
  {
    title: 'M4, M5, E16: a joint configuration needs both halves, and is left by itself',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      const fresh = [await join(stage, 'a'), await join(stage, 'a')]
      for (const id of ['b', 'c']) stage.isolate(id)
      const asked = () => change(stage, 'a', replacement('a', ...fresh))
      await stage.until('the change is taken', asked)
      await stage.run(stage.electionTimeout / 2)
      stage.demand(stage.view('a').membership.outgoing.length > 0, 'left without the old half')
      stage.heal()
      await stage.settle('a')
      await stage.until('it is left', () => stage.view('a').membership.outgoing.length === 0)
      await stage.mustWrite()
    },
  },
  {
    title: 'M7: two members, one removed while it is dead: nothing commits until it is back',
    stage: { members: 2 },
    async run(stage) {
      await stage.lead('a')
      stage.crash('b')
      change(stage, 'a', { type: 'remove', id: 'b' })
      await stage.runTimeouts(5)
      stage.start('b')
      await stage.mustWrite(30 * stage.electionTimeout)
    },
  },
  {
    title:
      'M8, M9, M10: a member is added as learner, counts for nothing, and is promoted when it has caught up',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      const id = await join(stage, 'a')
      await join(stage, 'a')
      for (const other of ['b', 'c']) stage.isolate(other)
      const alone = stage.write('a')
      await stage.run(stage.electionTimeout / 2)
      stage.demand(!stage.isDone(alone), 'a learner was counted')
      stage.heal()
      await stage.until('somebody leads', () => stage.leader() !== undefined)
      await stage.mustWrite()
      const leader = stage.leader() as string
      await promote(stage, leader, id)
      stage.demand(stage.view(leader).membership.voters.includes(id), 'not promoted')
      await stage.mustWrite()
    },
  },
  {
    title: 'M11: a leader that is removed leads until that is committed, then another one does',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.demand(change(stage, 'a', { type: 'remove', id: 'a' }), 'refused')
      await stage.until('another leads', () => !['a', undefined].includes(stage.leader()))
      await stage.mustWrite()
      await stage.run(5_000)
      stage.demand(stage.view('a').role !== 'leader', 'a leads without being a member')
    },
  },
  {
    title: 'M16, M6: a change, a cut and a power loss within a second',
    stage: { members: 5 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      change(stage, 'a', replacement('a', 'b', 'c'))
      await stage.run(2)
      stage.isolate('b')
      stage.crash('a')
      stage.crash('c')
      await stage.run(300)
      stage.start('a')
      stage.start('c')
      await stage.run(300)
      stage.heal()
      await stage.mustWrite(30 * stage.electionTimeout)
      await stage.until('nothing is joint', () => {
        const leader = stage.leader()
        return leader !== undefined && stage.view(leader).membership.outgoing.length === 0
      })
    },
  },
  {
    title: 'M17: all three members are replaced one by one under writes',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      for (const old of ['b', 'c', 'a']) {
        const leader = stage.leader() as string
        const fresh = await join(stage, leader)
        await promote(stage, leader, fresh)
        await stage.until('removed', () => change(stage, leader, { type: 'remove', id: old }))
        await stage.mustWrite(30 * stage.electionTimeout)
        stage.crash(old)
        await stage.mustWrite(30 * stage.electionTimeout)
      }
    },
  },
  {
    title: 'S1, S3, S8: a member behind the compaction point gets a snapshot while entries go on',
    stage: { members: 3, member: { everyEntries: 5, chunkBytes: 16 } },
    async run(stage) {
      await stage.lead('a')
      stage.isolate('c')
      for (let i = 0; i < 20; i++) await stage.mustWrite()
      await stage.run(100)
      stage.heal()
      for (let i = 0; i < 20; i++) await stage.mustWrite()
      await stage.until('c follows', () => stage.view('c').applied === stage.view('a').lastIndex)
      stage.demand(stage.world.watch.counts.snapshots > 0, 'no snapshot was needed')
    },
  },
  {
    title: 'S10: the sender of a snapshot dies in the middle; the next one starts clean',
    stage: { members: 3, member: { everyEntries: 5, chunkBytes: 16 } },
    async run(stage) {
      await stage.lead('a')
      stage.isolate('c')
      for (let i = 0; i < 20; i++) await stage.mustWrite()
      await stage.run(100)
      stage.heal()
      await stage.run(8)
      stage.crash('a')
      await stage.mustWrite()
      const leader = stage.leader() as string
      await stage.until('c follows', () => stage.view('c').applied === stage.view(leader).lastIndex)
    },
  },
  {
    title: 'S4, S15: power loss at each step of an install leaves the old or the new state',
    stage: { members: 3, member: { everyEntries: 5, chunkBytes: 64 } },
    async run(stage) {
      await stage.lead('a')
      for (const step of CRASH_STEPS) {
        for (let after = 0; after < 3; after++) await crashedInstall(stage, step, after)
      }
    },
  },
  {
    title: 'R1: a new leader confirms no read before it has committed an entry of its own term',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      // c does not know that the last write is committed.
      stage.drop(({ type, to }) => to === 'c' && type === 'heartbeat')
      await stage.mustWrite()
      stage.crash('a')
      stage.drop(({ type, from, to }) => type === 'append' && from === 'c' && to === 'b')
      await stage.elect('c')
      const early = stage.read('c')
      await stage.run(stage.electionTimeout / 2)
      stage.heal()
      await stage.runTimeouts(5)
      stage.demand(stage.answer(early) !== undefined, 'the read was never answered')
    },
  },
  {
    title: 'R2: a leader that was cut off answers no read',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      stage.isolate('a')
      await stage.until('another leads', () => !['a', undefined].includes(stage.leader()))
      await stage.mustWrite()
      const stale = stage.read('a')
      await stage.runTimeouts(3)
      stage.demand(!stage.isDone(stale), 'a stale leader answered')
      stage.heal()
      await stage.runTimeouts(3)
    },
  },
  {
    title: 'R3, R5: answers to an older round confirm no later read',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      stage.read('a')
      await stage.run(20)
      stage.isolate('a')
      // Cut off, still leading: what was heard before must not confirm what is asked now.
      const late = stage.read('a')
      await stage.run(stage.electionTimeout / 2)
      stage.demand(!stage.isDone(late), 'confirmed by an older round')
      await stage.until('another leads', () => !['a', undefined].includes(stage.leader()))
      await stage.mustWrite()
      await stage.runTimeouts(3)
      stage.demand(!stage.isDone(late), 'confirmed by an older round')
    },
  },
  {
    title: 'R7, R8: a follower and a learner read through their leader, also across its change',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      const id = await join(stage, 'a')
      await stage.mustRead('b')
      await stage.mustRead(id)
      stage.crash('a')
      await stage.mustWrite()
      await stage.mustRead(stage.leader() === 'b' ? 'c' : 'b')
      await stage.mustRead(id)
    },
  },
]

/** c lags behind, is to install a snapshot, and dies at that step of it. */
async function crashedInstall(stage: Stage, step: CrashStep, after: number): Promise<void> {
  stage.isolate('c')
  for (let i = 0; i < 8; i++) await stage.mustWrite()
  await stage.run(50)
  stage.heal()
  stage.crashAt('c', step, after)
  await stage.run(stage.electionTimeout)
  stage.member('c').heal()
  stage.crash('c')
  stage.start('c')
  const leads = () => stage.leader() as string
  await stage.until('c follows', () => {
    const leader = stage.leader()
    return leader !== undefined && stage.view('c').applied === stage.view(leads()).lastIndex
  })
}
