// Test: what the public methods of the core promise to their caller.

import { utf8 } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import { encodeMembership } from './index.js'
import type { MembershipChange } from './index.js'
import { of, entry, make, to, kinds, ok, alone, leading } from './testing/members.js'

describe('the face', () => {
  test('what is known, before and while leading', () => {
    const { raft, now } = alone()
    expect([raft.term, raft.role, raft.leader, raft.commit, raft.firstIndex, raft.lastIndex]).toEqual([
      1,
      'leader',
      'a',
      1,
      1,
      1,
    ])
    expect(ok(raft.propose('commands', utf8('x'), now)).index).toBe(2)
    expect([raft.termAt(2), raft.termAt(9), raft.entry(2).data, raft.entries(1, 2).length]).toEqual([
      1,
      undefined,
      utf8('x'),
      2,
    ])
    expect([raft.transferring, raft.progress, raft.membershipAt(1)]).toEqual([false, [], of(['a'])])
    expect(raft.clusterTime(now + 5)).toBe(raft.entry(2).time + 5)
    expect(raft.describe()).toContain('a leader t1')
  })

  test('an option that is undefined has its default', () => {
    const { raft } = alone({}, { maxInflight: undefined as never, clamp: undefined as never })
    expect([raft.state.options.maxInflight, raft.state.options.clamp]).toEqual([64, 100])
  })

  test('a start that contradicts itself is refused', () => {
    expect(() => make({ entries: [entry(1, 3)] })).toThrow('ahead of the term')
    expect(() => make({ applied: 5 })).toThrow('more is applied')
    const bad = { ...entry(1, 1), kind: 'members' } as const
    expect(() => make({ hardState: { term: 1, vote: undefined }, entries: [bad] })).toThrow('cannot be read')
  })

  test('M14: at a start the configuration in force is the latest of the log', () => {
    const data = encodeMembership(of(['b', 'c'], ['a']))
    const raft = make({
      hardState: { term: 1, vote: undefined },
      entries: [{ ...entry(1, 1), kind: 'members', data }],
    })
    expect([raft.membership.voters, raft.role]).toEqual([['b', 'c'], 'learner'])
  })

  test('S15: nothing is compacted, or called applied, that was not handed out', () => {
    const { raft } = alone()
    expect(() => raft.applied(2)).toThrow('not handed out')
    expect(() => raft.compact(1)).toThrow('beyond what is applied')
    expect([raft.applied(1), raft.applied(0), raft.compact(1), raft.firstIndex]).toEqual([[], [], [], 2])
  })

  test('a call in which nothing happens returns the same empty list', () => {
    const { raft, now } = alone()
    expect(raft.persisted(1, now)).toBe(raft.tick(now))
    expect(raft.leaderGone('b', 1, now)).toEqual([])
    expect(raft.unreachable('b', now)).toEqual([])
    expect(raft.snapshotFailed('b', now)).toEqual([])
    expect(raft.snapshotFailed('a', now)).toEqual([])
    const piece = {
      to: 'b',
      position: { index: 1, term: 1, time: 0 },
      membership: of(['a']),
      offset: 0,
      chunk: new Uint8Array(1),
      done: true,
    }
    expect(raft.snapshotChunk(piece, now)).toEqual([])
    expect(raft.transfer('b', now)).toEqual([])
    expect(make().transfer(undefined, 0)).toEqual([])
  })

  test("a proposal to a member that does not lead is refused with the leader's id", () => {
    const raft = make()
    raft.step(to('heartbeat', 'b', { commit: 0, round: 0 }), 0)
    const change: MembershipChange = { type: 'remove', id: 'c' }
    expect(raft.propose('empty', new Uint8Array(0), 0)).toMatchObject({
      ok: false,
      reason: 'not-leader',
      leader: 'b',
    })
    expect(raft.proposeChange(change, 0)).toMatchObject({ ok: false, reason: 'not-leader', leader: 'b' })
  })

  test('M13, L10: a message of another incarnation is refused, and counted', () => {
    const raft = make({ membership: of(['a', 'b', 'c'], [], 'one') })
    expect(raft.step(to('heartbeat', 'b', { commit: 0, round: 0 }), 0, 'two')).toEqual([])
    expect(raft.state.refused).toEqual({ count: 1, last: 'another incarnation' })
    expect(kinds(raft.step(to('heartbeat', 'b', { commit: 0, round: 0 }), 0, 'one'))).toContain('persist')
  })
})

test('the same calls give the same effects, to the byte', () => {
  const run = () => {
    const { raft, now } = leading()
    const effects = [...raft.tick(now + 10), ...ok(raft.propose('commands', utf8('x'), now + 11)).effects]
    return JSON.stringify([effects, raft.describe()])
  }
  expect(run()).toBe(run())
})
