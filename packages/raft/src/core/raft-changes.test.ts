// Test: membership changes whose steps are too complex for a trace.

import { utf8 } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import { NO_MEMBERS, encodeMembership, isBookKeeping } from './index.js'
import type { MembershipChange } from './index.js'
import { peersOf, of, entry, make, to, kinds, ok, leading } from './testing/members.js'

describe('members', () => {
  const incarnated = { membership: of(['a', 'b', 'c'], [], 'one') }

  test.each<[string, MembershipChange, string | undefined]>([
    [
      'M13: another incarnation under a known name',
      { type: 'update', id: 'b', peer: { url: 'b', incarnation: 'two' } },
      'another incarnation',
    ],
    [
      'M15: an update that changes nothing',
      { type: 'update', id: 'b', peer: { url: 'b', incarnation: 'one' } },
      'nothing would change',
    ],
    [
      'an update of a stranger',
      { type: 'update', id: 'z', peer: { url: 'z', incarnation: '' } },
      'no member',
    ],
    ['a new address', { type: 'update', id: 'b', peer: { url: 'elsewhere', incarnation: 'one' } }, undefined],
    [
      'M13: a replacement with another incarnation',
      { type: 'replace', voters: ['a', 'b', 'c'], learners: [], peers: peersOf(['a', 'b', 'c'], 'two') },
      'another incarnation',
    ],
    [
      'M15: a replacement that changes nothing',
      { type: 'replace', voters: ['c', 'b', 'a'], learners: [], peers: peersOf(['a', 'b', 'c'], 'one') },
      'nothing would change',
    ],
    [
      'a replacement of addresses only',
      {
        type: 'replace',
        voters: ['a', 'b', 'c'],
        learners: [],
        peers: { ...peersOf(['a', 'b', 'c'], 'one'), b: { url: 'x', incarnation: 'one' } },
      },
      undefined,
    ],
    [
      'a voter less, by replacement',
      { type: 'replace', voters: ['a', 'b'], learners: [], peers: peersOf(['a', 'b'], 'one') },
      undefined,
    ],
    [
      'addresses of strangers',
      { type: 'replace', voters: ['a', 'b'], learners: [], peers: peersOf(['a', 'b', 'z'], 'one') },
      'addresses',
    ],
  ])('%s', (_, change, why) => {
    const { raft, now } = leading({}, incarnated)
    const proposal = raft.proposeChange(change, now)
    if (why === undefined) return expect(ok(proposal).index).toBe(2)
    expect(proposal).toMatchObject({ ok: false, reason: 'invalid' })
    expect(!proposal.ok && proposal.why).toContain(why)
  })

  test('M1: no membership change during a leadership transfer', () => {
    const { raft, now } = leading()
    raft.transfer('b', now)
    expect(raft.transferring).toBe(true)
    expect(raft.proposeChange({ type: 'remove', id: 'c' }, now)).toMatchObject({ reason: 'transferring' })
  })

  test('E17: a target that was asked to campaign may do so after the transfer was given up; one that lags was not asked', () => {
    const { raft, now } = leading()
    let at = now
    const untilGivenUp = () => {
      for (; raft.transferring; at += 10) {
        raft.tick(at)
        raft.step(to('heartbeatReply', 'c', { round: 0, match: 1 }), at)
      }
    }
    ok(raft.propose('commands', utf8('x'), now))
    raft.transfer('b', at)
    untilGivenUp()
    expect([raft.role, raft.targetAsked]).toEqual(['leader', false])
    raft.transfer('b', at)
    raft.step(to('appendReply', 'b', { ok: true, match: 2, round: 0 }), at)
    expect(raft.targetAsked).toBe(true)
    untilGivenUp()
    expect([raft.role, raft.targetAsked]).toEqual(['leader', true])
  })

  test('M12: a removed member that does not answer is forgotten after a while', () => {
    const { raft, now } = leading()
    ok(raft.proposeChange({ type: 'remove', id: 'c' }, now))
    expect(raft.progress.map(({ id }) => id)).toEqual(['b', 'c'])
    for (let at = now; at < now + 1100; at += 10) {
      raft.tick(at)
      raft.step(to('heartbeatReply', 'b', { round: 0, match: 2 }), at)
    }
    expect(raft.progress.map(({ id }) => id)).toEqual(['b'])
  })

  test('L10, M13: a member that was removed and added again starts with nothing acknowledged', () => {
    const { raft, now } = leading({}, { membership: of(['a', 'b'], ['d']) })
    raft.step(to('appendReply', 'd', { ok: true, match: 1, round: 0 }), now)
    ok(raft.proposeChange({ type: 'remove', id: 'd' }, now))
    raft.step(to('appendReply', 'b', { ok: true, match: 2, round: 0 }), now)
    raft.persisted(3, now)
    expect(raft.progress.find(({ id }) => id === 'd')?.match).toBe(1)
    ok(raft.proposeChange({ type: 'add-learner', id: 'd', peer: { url: 'd', incarnation: 'new' } }, now))
    expect(raft.progress.find(({ id }) => id === 'd')?.match).toBe(0)
  })

  test('M2: a configuration is in force from its append on: entries on a majority of the smaller group are committed at once', () => {
    const { raft, now } = leading({}, { membership: of(['a', 'b']) })
    ok(raft.propose('commands', utf8('x'), now))
    raft.persisted(3, now)
    expect(raft.commit).toBe(1)
    ok(raft.proposeChange({ type: 'remove', id: 'b' }, now))
    expect(raft.commit).toBe(2)
    raft.persisted(4, now)
    expect(raft.commit).toBe(3)
  })

  test('M7: of two members one cannot be removed without the other, and both together can', () => {
    const { raft, now } = leading({}, { membership: of(['a', 'b']) })
    ok(raft.proposeChange({ type: 'add-learner', id: 'd', peer: { url: 'd', incarnation: '' } }, now))
    raft.persisted(3, now)
    expect(raft.commit).toBe(1)
    raft.step(to('appendReply', 'b', { ok: true, match: 2, round: 0 }), now)
    expect(raft.commit).toBe(2)
  })

  test("M3: a leader's own change of the membership differs from every requested change", () => {
    const now = of(['a', 'b', 'c'], ['d'])
    const met = { ...now, cluster: 'one', peers: peersOf(['a', 'b', 'c', 'd'], 'one') }
    expect([isBookKeeping(now, now), isBookKeeping(now, met)]).toEqual([true, true])
    const unlisted = { ...of(['a']), peers: { a: { url: '', incarnation: 'x' } } }
    expect(isBookKeeping(unlisted, { ...unlisted, peers: { a: { url: 'ws://a', incarnation: 'x' } } })).toBe(
      true,
    )
    const asked = [
      of(['a', 'b', 'c'], ['d', 'e']),
      of(['a', 'b', 'c', 'd']),
      of(['a', 'b', 'c']),
      of(['a', 'b'], ['d']),
      { ...now, outgoing: ['a', 'b'] },
      { ...now, peers: { ...now.peers, b: { url: 'elsewhere', incarnation: '' } } },
    ]
    expect(asked.map((next) => isBookKeeping(now, next))).toEqual(asked.map(() => false))
  })

  test('a member that joins knows nobody, and follows whoever leads', () => {
    const raft = make({ membership: NO_MEMBERS }, {}, 'a')
    expect(raft.role).toBe('learner')
    const data = encodeMembership(of(['b'], ['a']))
    const entries = [{ ...entry(1, 1), kind: 'members', data }]
    const effects = raft.step(
      to('append', 'b', { prevIndex: 0, prevTerm: 0, commit: 0, entries, round: 0 }),
      0,
    )
    expect(kinds(effects)).toEqual(['role', 'persist', 'membership'])
    expect(raft.membership).toEqual(of(['b'], ['a']))
  })
})
