// Test: changes of members that are asked for twice.

import { Emitter } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Membership, MembershipChange, NodeEvents, RaftNode } from '@latchkey/raft'
import { expect, test } from 'vitest'
import { ManualClock } from '@latchkey/raft/memory'
import { MemberChanges } from './changes.js'

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

/** A leader whose change is appended at once and committed when the test says so. */
class Leader extends Emitter<NodeEvents> {
  readonly role = 'leader'
  readonly options = { electionTimeout: 100 }
  readonly raft = { membership: before }
  readonly applied = { membership: before }
  proposed = 0

  proposeChange(_change: MembershipChange) {
    this.proposed++
    if (this.raft.membership === after) return { ok: false, reason: 'invalid', why: 'b is a member already' }
    this.raft.membership = after
    return { ok: true }
  }

  commit(): void {
    this.applied.membership = after
    this.emit('membership', after)
  }
}

test('M15: a change asked for again before it is committed is waited for, not refused', async () => {
  const leader = new Leader()
  const changes = new MemberChanges(leader as unknown as RaftNode, new ManualClock())
  const both = Promise.all([changes.add('b', 'ws://b'), changes.add('b', 'ws://b')])
  leader.commit()
  await both
  expect(leader.proposed).toBe(1)
  await changes.add('b', 'ws://b')
  expect(leader.proposed).toBe(1)
})

test('another address for one that is just being added is refused', async () => {
  const leader = new Leader()
  const changes = new MemberChanges(leader as unknown as RaftNode, new ManualClock())
  const first = changes.add('b', 'ws://b')
  await expect(changes.add('b', 'ws://elsewhere')).rejects.toMatchObject({
    code: 'ERR_CONFIG_CHANGE_IN_PROGRESS',
  })
  leader.commit()
  await first
})

test('M15, N5: a leader whose disk fails behind the proposal leaves the outcome unknown, and says why', async () => {
  const leader = new Leader()
  const asked = new MemberChanges(leader as unknown as RaftNode, new ManualClock()).add('b', 'ws://b')
  const fault = new LatchkeyError('ERR_STORAGE_FAILED')
  leader.emit('failed', fault)
  await expect(asked).rejects.toMatchObject({
    code: 'ERR_OUTCOME_UNKNOWN',
    outcome: 'unknown',
    cause: fault,
  })
})
