// Test: changes of members at the same time: which change waits, which change is refused, and what the caller
// learns.

import { Emitter } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Membership, MembershipChange, NodeEvents, RaftNode } from '@latchkey/raft'
import { expect, test } from 'vitest'
import { ManualClock } from '@latchkey/raft/memory'
import { MemberChanges } from './membership-changes.js'

const before: Membership = {
  voters: ['a'],
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: { a: { url: 'ws://a', incarnation: 'x' } },
}
const after: Membership = {
  ...before,
  learners: ['b'],
  peers: { ...before.peers, b: { url: 'ws://b', incarnation: '' } },
}

/** What the leader itself writes down: whom it has met. */
const written: Membership = { ...before, cluster: 'one', peers: { a: { url: 'ws://a', incarnation: 'x' } } }

/** A leader whose change is appended at once and committed when the test says so. */
class Leader extends Emitter<NodeEvents> {
  readonly role = 'leader'
  readonly options = { electionTimeout: 100 }
  readonly raft = { membership: before, commit: 1, membershipAt: () => this.applied.membership }
  readonly applied = { membership: before }
  proposed = 0

  proposeChange(_change: MembershipChange) {
    if (this.raft.membership === written && this.applied.membership === before)
      return { ok: false, reason: 'pending', why: 'another change is under way' }
    this.proposed++
    if (this.raft.membership === after) return { ok: false, reason: 'invalid', why: 'b is a member already' }
    this.raft.membership = after
    return { ok: true }
  }

  commit(): void {
    this.applied.membership = this.raft.membership
    this.emit('membership', this.raft.membership)
    this.emit('applied', { index: 1, time: 1 })
  }
}

const changesOf = (leader: Leader, clock = new ManualClock()) =>
  new MemberChanges(leader as unknown as RaftNode, clock)

test('M3: a change waits for what its leader writes down by itself', async () => {
  const leader = new Leader()
  leader.raft.membership = written
  const asked = changesOf(leader).add('b', 'ws://b')
  expect(leader.proposed).toBe(0)
  leader.commit()
  expect(leader.proposed).toBe(1)
  leader.commit()
  await asked
})

test('M3: of two that wait and contradict each other the second is refused', async () => {
  const leader = new Leader()
  leader.raft.membership = written
  const changes = changesOf(leader)
  const first = changes.add('b', 'ws://b')
  const second = changes.add('b', 'ws://elsewhere')
  leader.commit()
  await expect(second).rejects.toMatchObject({ code: 'ERR_CONFIG_CHANGE_IN_PROGRESS', retryable: false })
  leader.commit()
  await first
})

test('M3: what somebody else asked for is not waited for', async () => {
  const leader = new Leader()
  leader.raft.membership = after
  leader.proposeChange = () => ({ ok: false, reason: 'pending', why: 'another change is under way' })
  await expect(changesOf(leader).add('c', 'ws://c')).rejects.toMatchObject({
    code: 'ERR_CONFIG_CHANGE_IN_PROGRESS',
    outcome: 'not-applied',
    retryable: true,
  })
})

test('a change that waits ends as not applied when its leader steps down, fails or cannot commit', async () => {
  const clock = new ManualClock()
  const [down, failed, stuck] = [new Leader(), new Leader(), new Leader()]
  for (const leader of [down, failed, stuck]) leader.raft.membership = written
  const asked = [down, failed, stuck].map((leader) => changesOf(leader, clock).add('b', 'ws://b'))
  const codes = Promise.all(
    asked.map((call) => call.catch((error: LatchkeyError) => [error.code, error.outcome])),
  )
  down.emit('role', { role: 'follower', term: 2, leader: undefined })
  failed.emit('failed', new LatchkeyError('ERR_STORAGE_FAILED'))
  clock.advance(1_000)
  expect(await codes).toEqual([
    ['ERR_NO_LEADER', 'not-applied'],
    ['ERR_NO_LEADER', 'not-applied'],
    ['ERR_CONFIG_CHANGE_IN_PROGRESS', 'not-applied'],
  ])
  expect(clock.armed).toBe(0)
})

test('M15: a change asked for again before it is committed is waited for, not refused', async () => {
  const leader = new Leader()
  const changes = changesOf(leader)
  const both = Promise.all([changes.add('b', 'ws://b'), changes.add('b', 'ws://b')])
  leader.commit()
  await both
  expect(leader.proposed).toBe(1)
  await changes.add('b', 'ws://b')
  expect(leader.proposed).toBe(1)
})

test('another address for one that is just being added is refused', async () => {
  const leader = new Leader()
  const changes = changesOf(leader)
  const first = changes.add('b', 'ws://b')
  await expect(changes.add('b', 'ws://elsewhere')).rejects.toMatchObject({
    code: 'ERR_CONFIG_CHANGE_IN_PROGRESS',
  })
  leader.commit()
  await first
  await expect(changes.add('b', 'ws://elsewhere')).rejects.toMatchObject({
    code: 'ERR_CONFIG_CHANGE_IN_PROGRESS',
    retryable: false,
  })
  await changes.add('b', 'ws://b')
})

test('M15, N5: a leader whose disk fails behind the proposal leaves the outcome unknown, and says why', async () => {
  const leader = new Leader()
  const asked = changesOf(leader).add('b', 'ws://b')
  const fault = new LatchkeyError('ERR_STORAGE_FAILED')
  leader.emit('failed', fault)
  await expect(asked).rejects.toMatchObject({
    code: 'ERR_OUTCOME_UNKNOWN',
    outcome: 'unknown',
    cause: fault,
  })
})
