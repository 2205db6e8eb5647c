// Test: each invariant is checked: a state that breaks the invariant is refused.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { checkInvariants, checkStep, footprint } from './invariants.js'
import { Raft } from './raft.js'
import type { State } from './state.js'
import type { Membership } from './types.js'

const ids = ['a', 'b', 'c']
const membership: Membership = {
  voters: ids,
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: Object.fromEntries(ids.map((id) => [id, { url: id, incarnation: '' }])),
}
const entry = (index: number) =>
  ({ index, term: 1, time: 0, kind: 'commands', data: new Uint8Array(1) }) as const

function follower(): Raft {
  return new Raft(
    { id: 'a', group: 1, electionTimeout: 100, heartbeat: 10, random: seededRandom(1), preVote: false },
    {
      hardState: { term: 1, vote: 'b' },
      entries: [entry(1), entry(2), entry(3)],
      start: { index: 0, term: 0, time: 0 },
      membership,
      applied: 1,
    },
    0,
  )
}

function leader(): Raft {
  const raft = follower()
  for (let now = 10; raft.role !== 'candidate'; now += 10) raft.tick(now)
  raft.persisted(1, 1000)
  raft.step({ type: 'voteReply', group: 1, from: 'b', to: 'a', term: 2, granted: true }, 1000)
  expect(raft.role).toBe('leader')
  return raft
}

const bend = (state: State) => state as { -readonly [K in keyof State]: State[K] }
const first = (state: State) => state.leading?.peers[0] as NonNullable<State['leading']>['peers'][number]

test('a correct state passes', () => {
  checkInvariants(follower())
  checkInvariants(leader())
  checkStep(footprint(leader()), leader())
})

test.each<[string, (state: State) => void]>([
  ['S5', (state) => state.log.compact(3)],
  ['applied what was not handed out', (state) => void (state.applied = 2)],
  ['handed out what is not committed', (state) => void (state.handedOut = 2)],
  ['committed beyond the log', (state) => void (state.commit = 9)],
  ['not durable here', (state) => void (state.disk.durable = 0)],
  ['durable beyond', (state) => void (state.disk.durable = 9)],
  ['ahead of the term', (state) => void (state.term = 0)],
  ['agrees beyond', (state) => void (state.matched = 9)],
  ['leads without', (state) => void (state.role = 'leader')],
  ['holds itself', (state) => void (state.leader = 'a')],
  ['own vote', (state) => void (state.role = 'candidate')],
  ['without a campaign', (state) => void ((state.role = 'candidate'), (state.vote = 'a'))],
  [
    'for another term',
    (state) => void (state.campaign = { kind: 'pre', why: 'timeout', term: 7, votes: new Map() }),
  ],
  ['a voter rests as learner', (state) => void (state.role = 'learner')],
  [
    'a learner rests as voter',
    (state) => state.configs.append(2, { ...membership, voters: ['b', 'c'], peers: {} }),
  ],
  ['M2', (state) => state.configs.append(9, membership)],
  ['M18', (state) => state.configs.append(2, { ...membership, peers: {} })],
])('one state: %s', (why, bent) => {
  const raft = follower()
  bent(raft.state)
  expect(() => checkInvariants(raft)).toThrow(why)
})

test('E14: a learner that asks for votes is refused', () => {
  const { state } = follower()
  state.configs.append(2, {
    ...membership,
    voters: ['b', 'c'],
    peers: { b: membership.peers.b as never, c: membership.peers.c as never },
  })
  state.role = 'learner'
  checkInvariants({ state })
  state.commit = 2
  state.campaign = { kind: 'pre', why: 'timeout', term: 2, votes: new Map() }
  expect(() => checkInvariants({ state })).toThrow('E14')
})

test.each<[string, (state: State) => void]>([
  ['L14', (state) => void ((state.leading as { uncommittedBytes: number }).uncommittedBytes = 99)],
  ['listed twice', (state) => void state.leading?.peers.pop()],
  ['out of order', (state) => void state.leading?.peers.reverse()],
  ['a stranger', (state) => void (bend(first(state) as never as State).id = 'aa')],
  ['L9', (state) => void (first(state).match = first(state).next)],
  ['sent beyond', (state) => void (first(state).next = 9)],
  ['while not replicating', (state) => first(state).window.add(1)],
  ['in another state', (state) => void (first(state).state = 'snapshot')],
  ['R3', (state) => void state.leading?.rounds.push({ round: 9, index: 0, requests: [] })],
  [
    'hands over to itself',
    (state) => void ((state.leading as { transfer: unknown }).transfer = { to: 'a', until: 0, told: false }),
  ],
  ['no entry of its own', (state) => void ((state.leading as { firstIndex: number }).firstIndex = 2)],
])('a leader: %s', (why, bent) => {
  const raft = leader()
  bent(raft.state)
  expect(() => checkInvariants(raft)).toThrow(why)
})

test.each<[string, (state: State) => void]>([
  ['the term goes back', (state) => void (state.term = 0)],
  ['E3', (state) => void (state.vote = 'c')],
  ['the commit index goes back', (state) => void (state.commit = 0)],
])('two states of a follower: %s', (why, bent) => {
  const raft = follower()
  const before = footprint(raft)
  bent(raft.state)
  expect(() => checkStep(before, raft)).toThrow(why)
})

test('two states: the start of the log, and what is committed, stay', () => {
  const raft = follower()
  const before = footprint(raft)
  expect(() => checkStep({ ...before, start: 9 }, raft)).toThrow('start')
  expect(() => checkStep({ ...before, commitTerm: 7 }, raft)).toThrow('a committed entry has changed')
})

test('two states of a leader: it only appends, commits its own term, and match stays', () => {
  const raft = leader()
  const before = footprint(raft)
  expect(() => checkStep({ ...before, term: 1 }, raft)).toThrow('another term')
  expect(() => checkStep({ ...before, lastIndex: 9 }, raft)).toThrow('cuts its own log')
  expect(() => checkStep({ ...before, lastTerm: 7 }, raft)).toThrow('changes its own log')
  raft.state.commit = 2
  expect(() => checkStep(before, raft)).toThrow('L1')
  raft.state.commit = 1
  first(raft.state).match = 1
  expect(() => checkStep({ ...before, matches: new Map([['b', 2]]) }, raft)).toThrow('L9')
})
