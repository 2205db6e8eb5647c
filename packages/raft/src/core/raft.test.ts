// Test: what the face of the core promises its drivers, and scenarios that need more than one line a step.

import { type Random, seededRandom, utf8 } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import { NO_MEMBERS, Raft, encodeMembership } from './index.js'
import type { Effect, Entry, Membership, MembershipChange, Message, Proposal } from './index.js'
import type { RaftBoot, RaftOptions } from './options.js'

const peersOf = (ids: readonly string[], incarnation = '') =>
  Object.fromEntries(ids.map((id) => [id, { url: id, incarnation }]))
const of = (voters: string[], learners: string[] = [], incarnation = ''): Membership => ({
  voters,
  outgoing: [],
  learners,
  learnersNext: [],
  peers: peersOf([...voters, ...learners], incarnation),
})
const entry = (index: number, term: number, size = 1): Entry => ({
  index,
  term,
  time: 0,
  kind: 'commands',
  data: new Uint8Array(size),
})
const boot = (rest: Partial<RaftBoot> = {}): RaftBoot => ({
  hardState: { term: 0, vote: undefined },
  entries: [],
  start: { index: 0, term: 0, time: 0 },
  membership: of(['a', 'b', 'c']),
  applied: 0,
  ...rest,
})
const make = (rest: Partial<RaftBoot> = {}, options: Partial<RaftOptions> = {}, id = 'a') =>
  new Raft(
    { id, group: 1, electionTimeout: 100, heartbeat: 20, random: seededRandom(1), ...options },
    boot(rest),
    0,
  )
const to = (type: Message['type'], from: string, fields: object): Message =>
  ({ type, group: 1, from, to: 'a', term: 1, ...fields }) as unknown as Message
const kinds = (effects: readonly Effect[]) =>
  effects.map((effect) => (effect.type === 'send' ? effect.message.type : effect.type))
const ok = (proposal: Proposal) => {
  if (!proposal.ok) throw new Error(proposal.reason)
  return proposal
}

/** The only voter, leading, with its first entry committed. */
function alone(
  rest: Partial<RaftBoot> = {},
  options: Partial<RaftOptions> = {},
): { raft: Raft; now: number } {
  const raft = make({ membership: of(['a']), ...rest }, options)
  let now = 0
  while (raft.role !== 'candidate') raft.tick((now += 10))
  for (let id = 1; id <= 2; id++) raft.persisted(id, now)
  expect(raft.role).toBe('leader')
  return { raft, now }
}

/** A leader of three whose first entry is committed. */
function leading(
  options: Partial<RaftOptions> = {},
  rest: Partial<RaftBoot> = {},
): { raft: Raft; now: number } {
  const raft = make(rest, { preVote: false, ...options })
  let now = 0
  while (raft.role !== 'candidate') raft.tick((now += 10))
  const { term } = raft
  raft.persisted(1, now)
  raft.step(to('voteReply', 'b', { term, granted: true }), now)
  raft.persisted(2, now)
  raft.step(to('appendReply', 'b', { term, ok: true, match: raft.lastIndex, round: 0 }), now)
  expect(raft.commit).toBe(raft.lastIndex)
  return { raft, now }
}

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

  test('an option that is undefined is one that was not given', () => {
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

  test('a call in which nothing happens answers with the same nothing', () => {
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

  test('proposals to one who does not lead name the leader', () => {
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

describe('elections', () => {
  test('E3: of two requests of one term only one is granted, whatever is on disk yet', () => {
    const raft = make()
    raft.step(to('vote', 'b', { lastIndex: 0, lastTerm: 0, transfer: false }), 0)
    const second = raft.step(to('vote', 'c', { lastIndex: 9, lastTerm: 1, transfer: false }), 0)
    expect(second).toMatchObject([{ type: 'send', message: { type: 'voteReply', to: 'c', granted: false } }])
    const kept = raft.persisted(1, 0)
    expect(kept).toMatchObject([{ type: 'send', message: { type: 'voteReply', to: 'b', granted: true } }])
    // Asked again by the same one, it says the same again, at once.
    const again = raft.step(to('vote', 'b', { lastIndex: 0, lastTerm: 0, transfer: false }), 0)
    expect(again).toMatchObject([])
    expect(kinds(raft.persisted(1, 0))).toEqual([])
  })

  test('E16: a leader that leaves counts in the old half only', () => {
    const joint: Membership = {
      ...of(['b', 'c']),
      outgoing: ['a', 'b', 'c'],
      peers: peersOf(['a', 'b', 'c']),
    }
    const raft = make({ membership: joint }, { preVote: false })
    let now = 0
    while (raft.role !== 'candidate') raft.tick((now += 10))
    raft.persisted(1, now)
    raft.step(to('voteReply', 'b', { granted: true }), now)
    expect(raft.role).toBe('candidate')
    raft.step(to('voteReply', 'c', { granted: true }), now)
    expect(raft.role).toBe('leader')
  })

  test('E20: members with one seed, started at once on one tick grid, have a leader within 10 timeouts', () => {
    for (let seed = 0; seed < 30; seed++) {
      const ids = ['a', 'b', 'c', 'd', 'e']
      const same = (): Random => seededRandom(seed)
      const rafts = new Map(
        ids.map((id) => [id, make({ membership: of(ids) }, { random: same(), preVote: seed % 2 === 0 }, id)]),
      )
      const network: Message[] = []
      const perform = (raft: Raft, effects: readonly Effect[], now: number): void => {
        for (const effect of effects) {
          if (effect.type === 'send') network.push(effect.message)
          if (effect.type === 'persist') perform(raft, raft.persisted(effect.batch.id, now), now)
        }
      }
      let now = 0
      while (![...rafts.values()].some((raft) => raft.role === 'leader') && now < 2000) {
        now += 10
        for (const raft of rafts.values()) perform(raft, raft.tick(now), now)
        for (const message of network.splice(0)) {
          const raft = rafts.get(message.to) as Raft
          perform(raft, raft.step(message, now), now)
        }
      }
      expect(now).toBeLessThan(1000)
    }
  })

  test('E13, M12: a member that a log no longer names moves nobody that hears its leader', () => {
    const raft = make()
    raft.step(to('heartbeat', 'b', { commit: 0, round: 0 }), 0)
    for (let i = 0; i < 50; i++)
      raft.step(to('vote', 'z', { term: 9 + i, lastIndex: 99, lastTerm: 9, transfer: false }), i)
    expect([raft.term, raft.leader]).toEqual([1, 'b'])
  })

  test('E21: the own vote counts with its own batch, not with an earlier one', () => {
    const raft = make({ membership: of(['a', 'b']) }, { preVote: false })
    raft.step(
      to('append', 'b', { prevIndex: 0, prevTerm: 0, commit: 0, entries: [entry(1, 1)], round: 0 }),
      0,
    )
    let now = 0
    while (raft.role !== 'candidate') raft.tick((now += 10))
    expect(kinds(raft.persisted(1, now))).toEqual([])
    raft.step(to('voteReply', 'b', { term: 2, granted: true }), now)
    expect(raft.role).toBe('candidate')
    expect(kinds(raft.persisted(2, now))).toContain('role')
  })

  test('L10, E3: answers of a term that is over count for nothing', () => {
    const raft = make({ hardState: { term: 1, vote: undefined } }, { preVote: false })
    let now = 0
    while (raft.role !== 'candidate') raft.tick((now += 10))
    raft.persisted(1, now)
    raft.step(to('voteReply', 'b', { term: 1, granted: true }), now)
    expect([raft.role, raft.term]).toEqual(['candidate', 2])
    raft.step(to('voteReply', 'b', { term: 2, granted: true }), now)
    raft.persisted(2, now)
    raft.read(7, now)
    const before = raft.describe()
    expect(raft.step(to('appendReply', 'b', { term: 1, ok: true, match: 1, round: 9 }), now)).toEqual([])
    expect(raft.step(to('heartbeatReply', 'c', { term: 1, match: 1, round: 9 }), now)).toEqual([])
    expect(
      raft.step(
        to('snapshotReply', 'c', {
          term: 1,
          position: { index: 0, term: 0, time: 0 },
          offset: 0,
          installed: false,
        }),
        now,
      ),
    ).toEqual([])
    expect(raft.describe()).toBe(before)
  })

  test('a voter that said yes does not take it back', () => {
    const raft = make({ membership: of(['a', 'b', 'c', 'd', 'e']) }, { preVote: false })
    let now = 0
    while (raft.role !== 'candidate') raft.tick((now += 10))
    raft.persisted(1, now)
    raft.step(to('voteReply', 'b', { granted: true }), now)
    raft.step(to('voteReply', 'b', { granted: false }), now)
    raft.step(to('voteReply', 'c', { granted: true }), now)
    expect(raft.role).toBe('leader')
  })

  test('a candidate that has lost before its disk was done asks nobody any more', () => {
    const raft = make({}, { preVote: false })
    let now = 0
    while (raft.role !== 'candidate') raft.tick((now += 10))
    raft.step(to('heartbeat', 'b', { commit: 0, round: 0 }), now)
    expect(kinds(raft.persisted(1, now))).toEqual(['heartbeatReply'])
  })

  test('E8: who asks in a term that is over is told the term', () => {
    const raft = make({ hardState: { term: 5, vote: undefined } })
    const effects = raft.step(to('vote', 'b', { term: 3, lastIndex: 9, lastTerm: 3, transfer: false }), 0)
    expect(effects).toMatchObject([{ message: { type: 'voteReply', term: 5, granted: false } }])
  })

  test('E18: a stale command to campaign is not obeyed', () => {
    const raft = make()
    raft.step(to('heartbeat', 'b', { term: 2, commit: 0, round: 0 }), 0)
    raft.step(to('timeoutNow', 'b', { term: 1 }), 0)
    raft.step(to('timeoutNow', 'c', { term: 2 }), 0)
    raft.step(to('timeoutNow', 'c', { term: 9 }), 0)
    expect([raft.role, raft.term]).toEqual(['follower', 2])
    raft.step(to('timeoutNow', 'b', { term: 2 }), 0)
    expect([raft.role, raft.term]).toEqual(['candidate', 3])
  })
})

describe('replication', () => {
  test('L15: what is handed out to apply has no gap and no repetition', () => {
    const raft = make()
    const handed: number[] = []
    const take = (effects: readonly Effect[]) => {
      for (const effect of effects)
        if (effect.type === 'commit') for (let i = effect.from; i <= effect.to; i++) handed.push(i)
    }
    let batches = 0
    for (let index = 1; index <= 30; index += 3) {
      const entries = [entry(index, 1), entry(index + 1, 1), entry(index + 2, 1)]
      const prevTerm = index === 1 ? 0 : 1
      take(
        raft.step(
          to('append', 'b', { prevIndex: index - 1, prevTerm, commit: index + 1, entries, round: 0 }),
          0,
        ),
      )
      take(raft.step(to('heartbeat', 'b', { commit: index, round: 0 }), 0))
      take(raft.persisted(++batches, 0))
      take(raft.step(to('heartbeat', 'b', { commit: index + 2, round: 0 }), 0))
    }
    expect(handed).toEqual(Array.from({ length: 30 }, (_, i) => i + 1))
  })

  test('L18: bytes under way to one member stay below the window times the size of an append', () => {
    const { raft, now } = leading({ maxInflight: 3, maxAppendBytes: 100 })
    for (let i = 0; i < 50; i++) raft.propose('commands', new Uint8Array(60), now)
    const [b, c] = raft.progress
    expect([b?.window.count, b?.next, c?.state]).toEqual([3, 5, 'probe'])
  })

  test('L21: heartbeats go out whatever the state machine does', () => {
    const { raft } = leading()
    const sent = kinds(raft.tick(500)).filter((kind) => kind === 'heartbeat')
    expect(sent.length).toBe(2)
  })

  test('T5: after a long gap one heartbeat goes out, not one for each that was missed', () => {
    const { raft, now } = leading()
    const all: Effect[] = []
    for (const at of [3000, 3001, 3002]) all.push(...raft.tick(now + at))
    expect(kinds(all).filter((kind) => kind === 'heartbeat').length).toBe(2)
  })

  test('L9: a reject beyond what was ever sent is no answer to anything', () => {
    const { raft, now } = leading()
    const before = raft.describe()
    raft.step(to('appendReply', 'b', { ok: false, rejected: 40, hintIndex: 3, hintTerm: 1, round: 0 }), now)
    expect(raft.describe()).toBe(before)
  })

  test('L9, L12: while probing only the answer to this very probe moves it', () => {
    const log = [1, 1, 1, 1, 1].map((term, i) => entry(i + 1, term))
    const { raft, now } = leading({}, { hardState: { term: 1, vote: undefined }, entries: log })
    const late = to('appendReply', 'c', {
      term: 2,
      ok: false,
      rejected: 2,
      hintIndex: 1,
      hintTerm: 1,
      round: 0,
    })
    expect(raft.step(late, now)).toEqual([])
    expect(raft.progress[1]?.next).toBe(6)
  })

  test('an acknowledgement of more than there is, is a broken law', () => {
    const { raft, now } = leading()
    expect(() => raft.step(to('appendReply', 'b', { ok: true, match: 9, round: 0 }), now)).toThrow(
      'ever sent',
    )
  })

  test('D12: who lost what it acknowledged gets nothing more and counts for nothing', () => {
    const { raft, now } = leading({}, { membership: of(['a', 'b']) })
    const reject = (round: number) =>
      to('appendReply', 'b', { ok: false, rejected: 1, hintIndex: 0, hintTerm: 0, round })
    expect(kinds(raft.step(reject(0), now))).toEqual(['append'])
    expect(raft.step(reject(1), now)).toContainEqual({
      type: 'rolledBack',
      id: 'b',
      acknowledged: 1,
      holds: 0,
    })
    expect(kinds(ok(raft.propose('commands', utf8('x'), now)).effects)).toEqual(['persist'])
    raft.step(to('appendReply', 'b', { ok: true, match: 2, round: 1 }), now)
    raft.step(reject(2), now)
    raft.persisted(3, now)
    expect(raft.commit).toBe(1)
    expect(kinds(raft.transfer(undefined, now))).toEqual([])
  })
})

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

  test('M1: no change while the lead is being handed over', () => {
    const { raft, now } = leading()
    raft.transfer('b', now)
    expect(raft.transferring).toBe(true)
    expect(raft.proposeChange({ type: 'remove', id: 'c' }, now)).toMatchObject({ reason: 'transferring' })
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

  test('L10, M13: a member that was removed and comes again begins with nothing acknowledged', () => {
    const { raft, now } = leading({}, { membership: of(['a', 'b'], ['d']) })
    raft.step(to('appendReply', 'd', { ok: true, match: 1, round: 0 }), now)
    ok(raft.proposeChange({ type: 'remove', id: 'd' }, now))
    raft.step(to('appendReply', 'b', { ok: true, match: 2, round: 0 }), now)
    raft.persisted(3, now)
    expect(raft.progress.find(({ id }) => id === 'd')?.match).toBe(1)
    ok(raft.proposeChange({ type: 'add-learner', id: 'd', peer: { url: 'd', incarnation: 'new' } }, now))
    expect(raft.progress.find(({ id }) => id === 'd')?.match).toBe(0)
  })

  test('M2: in force from its append on: what the smaller group holds is committed at once', () => {
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

describe('reads', () => {
  test('R12: one of three is dead, and reads are answered', () => {
    const { raft, now } = leading()
    raft.read(7, now)
    const effects = raft.step(to('heartbeatReply', 'b', { round: 1, match: 1 }), now)
    expect(effects).toContainEqual({ type: 'read', context: 7, index: 1, time: raft.clusterTime(now) })
  })

  test('R5: an answer that is older than the round does not confirm it', () => {
    const { raft, now } = leading()
    raft.read(7, now)
    expect(kinds(raft.step(to('heartbeatReply', 'b', { round: 0, match: 1 }), now))).toEqual([])
  })

  test('R8: a learner does not confirm a read', () => {
    const { raft, now } = leading({}, { membership: of(['a', 'b', 'c'], ['d']) })
    raft.read(7, now)
    expect(kinds(raft.step(to('heartbeatReply', 'd', { round: 1, match: 1 }), now))).not.toContain('read')
  })

  test('R7: asked of one who does not lead, it says so; an answer nobody waits for is dropped', () => {
    const raft = make({ hardState: { term: 1, vote: undefined } })
    const asked = raft.step(to('readIndex', 'b', { context: 5 }), 0)
    expect(asked).toMatchObject([{ message: { type: 'readIndexReply', context: 5, index: undefined } }])
    expect(raft.step(to('readIndexReply', 'b', { context: 5, index: 1, time: 0 }), 0)).toEqual([])
    expect(raft.read(9, 0)).toEqual([{ type: 'read', context: 9, index: undefined, time: 0 }])
  })

  test('R7: only the leader that was asked can answer', () => {
    const raft = make()
    raft.step(to('heartbeat', 'b', { commit: 0, round: 0 }), 0)
    const asked = raft.read(9, 0)[0]
    const context = asked?.type === 'send' && asked.message.type === 'readIndex' ? asked.message.context : 0
    expect(raft.step(to('readIndexReply', 'c', { context, index: 0, time: 1 }), 0)).toEqual([])
    const answered = raft.step(to('readIndexReply', 'b', { context, index: 0, time: 1 }), 0)
    expect(answered).toEqual([{ type: 'read', context: 9, index: 0, time: 1 }])
    expect(raft.step(to('readIndexReply', 'b', { context, index: 0, time: 1 }), 0)).toEqual([])
  })

  test('R2, C4: a leader that steps down sends back the reads of others too', () => {
    const { raft, now } = leading()
    raft.step(to('readIndex', 'b', { context: 5 }), now)
    const effects = raft.step(to('heartbeat', 'c', { term: 9, commit: 0, round: 0 }), now)
    expect(effects).toContainEqual({
      type: 'send',
      message: {
        type: 'readIndexReply',
        group: 1,
        from: 'a',
        to: 'b',
        term: 1,
        context: 5,
        index: undefined,
        time: 0,
      },
    })
  })

  test('a group of one confirms at once', () => {
    const { raft, now } = alone()
    expect(raft.read(3, now + 7)).toMatchObject([{ type: 'read', context: 3, index: 1 }])
  })
})

describe('snapshots', () => {
  const position = { index: 5, term: 1, time: 0 }
  const piece = (fields: object) =>
    to('snapshot', 'b', {
      position,
      membership: of(['a', 'b', 'c']),
      offset: 0,
      chunk: new Uint8Array(4),
      done: false,
      ...fields,
    })

  test('S13, S16: a snapshot that was dropped halfway by its follower can be sent again from the start', () => {
    const raft = make()
    expect(kinds(raft.step(piece({}), 0))).toContain('stageSnapshot')
    expect(kinds(raft.step(piece({ offset: 4 }), 0))).toContain('stageSnapshot')
    expect(kinds(raft.step(piece({}), 0))).toContain('stageSnapshot')
    const missed = raft.step(piece({ offset: 8 }), 0)
    expect(missed).toMatchObject([{ message: { type: 'snapshotReply', offset: 4, installed: false } }])
  })

  test('S5: a member whose state is older than its log asks for a snapshot, and hands out nothing before', () => {
    const start = { index: 10, term: 1, time: 0 }
    const raft = make({ hardState: { term: 1, vote: undefined }, start, entries: [entry(11, 1)], applied: 7 })
    const asked = raft.step(to('heartbeat', 'b', { commit: 11, round: 0 }), 0)
    expect(kinds(asked)).toEqual(['role', 'heartbeatReply', 'snapshotReply'])
    expect(
      kinds(
        raft.step(to('append', 'b', { prevIndex: 11, prevTerm: 1, commit: 11, entries: [], round: 0 }), 0),
      ),
    ).toEqual(['appendReply'])
    // Older than what the log begins with: of no use.
    expect(kinds(raft.step(piece({}), 0))).toEqual([])
    raft.step(piece({ position: { index: 10, term: 1, time: 0 }, done: true }), 0)
    const effects = raft.snapshotInstalled({ index: 10, term: 1, time: 0 }, of(['a', 'b', 'c']), 0)
    expect(effects).toContainEqual({ type: 'commit', from: 11, to: 11 })
  })

  test('S9: a view that the log has been compacted beyond is of no use, and another one is asked for', () => {
    const log = [entry(1, 1), entry(2, 1), entry(3, 1)]
    const { raft, now } = leading({}, { hardState: { term: 1, vote: undefined }, entries: log, applied: 3 })
    raft.applied(4)
    raft.compact(3)
    raft.step(
      to('appendReply', 'c', { term: 2, ok: false, rejected: 3, hintIndex: 0, hintTerm: 0, round: 0 }),
      now,
    )
    expect(raft.progress[1]?.state).toBe('snapshot')
    const old = {
      to: 'c',
      position: { index: 2, term: 1, time: 0 },
      membership: of(['a', 'b', 'c']),
      offset: 0,
      chunk: new Uint8Array(1),
      done: true,
    }
    expect(kinds(raft.snapshotChunk(old, now))).toEqual(['endSnapshot', 'readSnapshot'])
    expect(kinds(raft.snapshotChunk({ ...old, position: { index: 3, term: 1, time: 0 } }, now))).toEqual([
      'snapshot',
    ])
  })

  test('S2: an installed snapshot that lies before the log, or against it, is a broken law', () => {
    const start = { index: 10, term: 1, time: 0 }
    const raft = make({
      hardState: { term: 1, vote: undefined },
      start,
      entries: [entry(11, 1)],
      applied: 11,
    })
    expect(() => raft.snapshotInstalled(position, of(['a']), 0)).toThrow('before the log')
    expect(() => raft.snapshotInstalled({ index: 11, term: 2, time: 0 }, of(['a']), 0)).toThrow('S2')
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
