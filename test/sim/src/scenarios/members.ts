// Rule: directed scenarios about members, snapshots and reads.

import type { MembershipChange } from '@latchkey/raft/core'
import { peerOf } from '../swarm/membership.js'
import type { DiskStep } from '../world/disk.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const change = (stage: Stage, at: string, what: MembershipChange): boolean =>
  stage.seat(at).command((member, now) => member.change(what, now))

const learner = (id: string): MembershipChange => ({ type: 'add-learner', id, peer: peerOf(id) })

const replacement = (...voters: string[]): MembershipChange => ({
  type: 'replace',
  voters,
  learners: [],
  peers: Object.fromEntries(voters.map((id) => [id, peerOf(id)])),
})

function join(stage: Stage, at: string): string {
  const seat = stage.simulation.recruit()
  if (seat === undefined) return stage.fail('no member to add')
  stage.demand(change(stage, at, learner(seat.id)), `${seat.id} was refused`).settle(at)
  stage.until(`${seat.id} has caught up`, () => stage.view(seat.id).applied === stage.view(at).lastIndex)
  return seat.id
}

function promote(stage: Stage, at: string, id: string): void {
  stage.until(`${id} is promoted`, () => change(stage, at, { type: 'promote', id })).settle(at)
}

const CRASH_STEPS: readonly DiskStep[] = [
  'write',
  'sync',
  'syncing',
  'synced',
  'rename',
  'folder',
  'foldered',
]

export const members: readonly Scenario[] = [
  {
    title: 'M1: no change of members before an entry of the own term is committed',
    stage: { members: 4 },
    run(stage) {
      stage.elect('a').settle('a')
      for (const other of ['c', 'd']) stage.cut('a', other)
      stage.simulation.recruit()
      stage
        .demand(change(stage, 'a', learner('e')), 'a good change was refused')
        .run(10)
        .crash('a')
      stage.drop(({ type, from }) => from === 'b' && type === 'append')
      stage.elect('b')
      stage.demand(!change(stage, 'b', { type: 'remove', id: 'd' }), 'changed before its own commit')
    },
  },
  {
    title: 'M3: a second change is refused while one is pending, an inherited one included',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a')
      stage.simulation.recruit()
      const mend = stage.drop(({ type, from }) => from === 'a' && type === 'append')
      stage.demand(change(stage, 'a', learner('d')), 'the first was refused')
      stage.demand(!change(stage, 'a', { type: 'remove', id: 'c' }), 'two at once')
      mend()
      stage.settle('a').demand(change(stage, 'a', { type: 'remove', id: 'c' }), 'refused for ever')
      stage.settle('a').mustWrite()
    },
  },
  {
    title: 'M4, M5, E16: a joint configuration needs both halves, and is left by itself',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a')
      const fresh = [join(stage, 'a'), join(stage, 'a')]
      for (const id of ['b', 'c']) stage.isolate(id)
      const asked = () => change(stage, 'a', replacement('a', ...fresh))
      stage.demand(asked(), 'the change was refused')
      stage.run(stage.electionTimeout / 2)
      stage.demand(stage.view('a').membership.outgoing.length > 0, 'left without the old half')
      stage.heal().settle('a')
      stage.until('it is left', () => stage.view('a').membership.outgoing.length === 0).mustWrite()
    },
  },
  {
    title: 'M7: two members, one removed while it is dead: nothing commits until it is back',
    stage: { members: 2 },
    run(stage) {
      stage.elect('a').settle('a').crash('b')
      change(stage, 'a', { type: 'remove', id: 'b' })
      stage.runTimeouts(5)
      stage.start('b').mustWrite(30 * stage.electionTimeout)
    },
  },
  {
    title:
      'M8, M9, M10: a member is added as learner, counts for nothing, and is promoted when it has caught up',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a')
      const id = join(stage, 'a')
      join(stage, 'a')
      for (const other of ['b', 'c']) stage.isolate(other)
      const alone = stage.write('a')
      stage.run(stage.electionTimeout / 2).demand(!stage.isDone(alone), 'a learner was counted')
      stage.heal()
      stage.until('somebody leads', () => stage.leader() !== undefined).mustWrite()
      const leader = stage.leader() as string
      promote(stage, leader, id)
      stage.demand(stage.view(leader).membership.voters.includes(id), 'not promoted').mustWrite()
    },
  },
  {
    title: 'M11: a leader that is removed leads until that is committed, then another one does',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a')
      stage.demand(change(stage, 'a', { type: 'remove', id: 'a' }), 'refused')
      stage.until('another leads', () => !['a', undefined].includes(stage.leader())).mustWrite()
      stage.run(5_000).demand(stage.view('a').role !== 'leader', 'a leads without being a member')
    },
  },
  {
    title: 'M16, M6: a change, a cut and a power loss within a second',
    stage: { members: 5 },
    run(stage) {
      stage.elect('a').settle('a').mustWrite()
      change(stage, 'a', replacement('a', 'b', 'c'))
      stage.run(2).isolate('b').crash('a').crash('c').run(300)
      stage.start('a').start('c').run(300).heal()
      stage.mustWrite(30 * stage.electionTimeout)
      stage.until('nothing is joint', () => {
        const leader = stage.leader()
        return leader !== undefined && stage.view(leader).membership.outgoing.length === 0
      })
    },
  },
  {
    title: 'M17: all three members are replaced one by one under writes',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a')
      for (const old of ['b', 'c', 'a']) {
        const leader = stage.leader() as string
        const fresh = join(stage, leader)
        promote(stage, leader, fresh)
        stage.until('removed', () => change(stage, leader, { type: 'remove', id: old }))
        stage
          .mustWrite(30 * stage.electionTimeout)
          .crash(old)
          .mustWrite(30 * stage.electionTimeout)
      }
    },
  },
  {
    title: 'S1, S3, S8: a member behind the compaction point gets a snapshot while entries go on',
    stage: { members: 3, member: { snapshotEvery: 5, chunkBytes: 16 } },
    run(stage) {
      stage.elect('a').settle('a').isolate('c')
      for (let i = 0; i < 20; i++) stage.mustWrite()
      stage.run(100).heal()
      for (let i = 0; i < 20; i++) stage.mustWrite()
      stage.until('c follows', () => stage.view('c').applied === stage.view('a').lastIndex)
      stage.demand(stage.simulation.world.watch.counts.snapshots > 0, 'no snapshot was needed')
    },
  },
  {
    title: 'S10: the sender of a snapshot dies in the middle; the next one starts clean',
    stage: { members: 3, member: { snapshotEvery: 5, chunkBytes: 16 } },
    run(stage) {
      stage.elect('a').settle('a').isolate('c')
      for (let i = 0; i < 20; i++) stage.mustWrite()
      stage.run(100).heal().run(8).crash('a')
      stage.mustWrite()
      const leader = stage.leader() as string
      stage.until('c follows', () => stage.view('c').applied === stage.view(leader).lastIndex)
    },
  },
  {
    title: 'S4, S15: power loss at each step of an install leaves the old or the new state',
    stage: { members: 3, member: { snapshotEvery: 5, chunkBytes: 64 } },
    run(stage) {
      stage.elect('a').settle('a')
      for (const step of CRASH_STEPS) {
        for (let after = 0; after < 3; after++) crashedInstall(stage, step, after)
      }
    },
  },
  {
    title: 'R1: a new leader confirms no read before it has committed an entry of its own term',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a').mustWrite()
      // c does not know that the last write is committed.
      stage.drop(({ type, to }) => to === 'c' && type === 'heartbeat')
      stage.mustWrite().crash('a')
      stage.drop(({ type, from, to }) => type === 'append' && from === 'c' && to === 'b')
      stage.elect('c')
      const early = stage.read('c')
      stage
        .run(stage.electionTimeout / 2)
        .heal()
        .runTimeouts(5)
      stage.demand(stage.answer(early) !== undefined, 'the read was never answered')
    },
  },
  {
    title: 'R2: a leader that was cut off answers no read',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a').mustWrite().isolate('a')
      stage.until('another leads', () => !['a', undefined].includes(stage.leader()))
      stage.mustWrite()
      const stale = stage.read('a')
      stage.runTimeouts(3).demand(!stage.isDone(stale), 'a stale leader answered').heal().runTimeouts(3)
    },
  },
  {
    title: 'R3, R5: answers to an older round confirm no later read',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a').mustWrite()
      stage.read('a')
      stage.run(20).isolate('a')
      // Cut off, still leading: what was heard before must not confirm what is asked now.
      const late = stage.read('a')
      stage.run(stage.electionTimeout / 2).demand(!stage.isDone(late), 'confirmed by an older round')
      stage.until('another leads', () => !['a', undefined].includes(stage.leader()))
      stage.mustWrite().runTimeouts(3).demand(!stage.isDone(late), 'confirmed by an older round')
    },
  },
  {
    title: 'R7, R8: a follower and a learner read through their leader, also across its change',
    stage: { members: 3 },
    run(stage) {
      stage.elect('a').settle('a').mustWrite()
      const id = join(stage, 'a')
      stage.mustRead('b').mustRead(id)
      stage
        .crash('a')
        .mustWrite()
        .mustRead(stage.leader() === 'b' ? 'c' : 'b')
        .mustRead(id)
    },
  },
]

/** c lags behind, is to install a snapshot, and dies at that step of it. */
function crashedInstall(stage: Stage, step: DiskStep, after: number): void {
  stage.isolate('c')
  for (let i = 0; i < 8; i++) stage.mustWrite()
  stage.run(50).heal().crashAt('c', step, after).run(stage.electionTimeout)
  stage.seat('c').disk.disarm()
  stage.crash('c').start('c')
  const leads = () => stage.leader() as string
  stage.until('c follows', () => {
    const leader = stage.leader()
    return leader !== undefined && stage.view('c').applied === stage.view(leads()).lastIndex
  })
}
