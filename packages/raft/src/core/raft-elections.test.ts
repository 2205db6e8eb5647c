// Test: elections whose steps are too complex for a trace.

import { type Random, seededRandom } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import type { Raft } from './index.js'
import type { Effect, Membership, Message } from './index.js'
import { peersOf, of, entry, make, to, kinds } from './testing/members.js'

describe('elections', () => {
  test('E3: of two requests of one term only one is granted, whatever is on disk yet', () => {
    const raft = make()
    raft.step(to('vote', 'b', { lastIndex: 0, lastTerm: 0, transfer: false }), 0)
    const second = raft.step(to('vote', 'c', { lastIndex: 9, lastTerm: 1, transfer: false }), 0)
    expect(second).toMatchObject([{ type: 'send', message: { type: 'voteReply', to: 'c', granted: false } }])
    const kept = raft.persisted(1, 0)
    expect(kept).toMatchObject([{ type: 'send', message: { type: 'voteReply', to: 'b', granted: true } }])
    // When the same candidate asks again, it gets the same answer, at once.
    const again = raft.step(to('vote', 'b', { lastIndex: 0, lastTerm: 0, transfer: false }), 0)
    expect(again).toMatchObject([])
    expect(kinds(raft.persisted(1, 0))).toEqual([])
  })

  test('E16: a leader that is being removed counts in the old half only', () => {
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

  test('E12: a leader refuses a candidate of a later term, although it gets no messages of a leader', () => {
    const raft = make({ membership: of(['a', 'b', 'c']) }, { preVote: false })
    let now = 0
    while (raft.role !== 'candidate') raft.tick((now += 10))
    raft.persisted(1, now)
    raft.step(to('voteReply', 'b', { granted: true }), now)
    const { term } = raft
    for (const type of ['vote', 'preVote'] as const) {
      const asked = { ...to(type, 'c', { lastIndex: 9, lastTerm: term, transfer: false }), term: term + 1 }
      const granted = raft
        .step(asked as Message, now)
        .filter((effect) => effect.type === 'send' && 'granted' in effect.message && effect.message.granted)
      expect([granted, raft.role, raft.term]).toEqual([[], 'leader', term])
    }
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

  test("E20: voters that see their leader's end in the same millisecond do not split the vote", () => {
    for (let seed = 0; seed < 200; seed++) {
      const left = seed % 2 === 0 ? ['b', 'c'] : ['b', 'c', 'd', 'e']
      expect(fastRound(left, seed)).toBeLessThan(150)
    }
  })

  test('E20: the members of a new cluster elect a leader when they have met, without waiting for a timeout', () => {
    for (let seed = 0; seed < 200; seed++)
      expect(firstElection(['a', 'b', 'c'], seed), `seed ${seed}`).toBeLessThan(200)
  })

  test('M13: a member that may vote later, in a cluster that has a log, waits for a timeout like any other', () => {
    const options = { electionTimeout: 1000, random: seededRandom(1) }
    const raft = make(
      { mayVote: false, entries: [entry(1, 1)], hardState: { term: 1, vote: undefined } },
      options,
    )
    raft.allowVoting(0)
    expect(raft.untilTick).toBeGreaterThanOrEqual(1000)
    const led = make({ mayVote: false }, options)
    led.step(to('heartbeat', 'b', { commit: 0, round: 0 }), 0)
    led.allowVoting(0)
    expect(led.untilTick).toBeGreaterThanOrEqual(1000)
  })

  test('E13, M12: a removed member does not disturb members that hear from their leader', () => {
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

  test('why a member asks for votes: silence, the end of the leader, a transfer, a new cluster', () => {
    const until = (raft: ReturnType<typeof make>) => {
      for (let now = 0; raft.role !== 'candidate'; ) raft.tick((now += 10))
      return raft.electionReason
    }
    const leader = to('heartbeat', 'b', { term: 1, commit: 0, round: 1 })
    const led = () => {
      const raft = make({ hardState: { term: 1, vote: undefined } }, { preVote: false })
      raft.step(leader, 0)
      expect([raft.leader, raft.electionReason]).toEqual(['b', undefined])
      return raft
    }
    expect(until(led())).toBe('timeout')
    const gone = led()
    gone.leaderGone('b', 1, 0)
    expect(until(gone)).toBe('leader_ended')
    const asked = led()
    asked.step(to('timeoutNow', 'b', { term: 1 }), 0)
    expect(asked.electionReason).toBe('transfer')
    const fresh = make({}, { preVote: false })
    fresh.allowVoting(0)
    expect(until(fresh)).toBe('new_cluster')
  })

  test('a lost campaign is kept for the log: whose votes came, and whether another term began', () => {
    const candidate = () => {
      const raft = make({ membership: of(['a', 'b', 'c']) }, { preVote: false })
      let now = 0
      while (raft.role !== 'candidate') raft.tick((now += 10))
      raft.persisted(1, now)
      expect(raft.lostCampaign).toBeUndefined()
      return { raft, now, term: raft.term }
    }
    const refused = candidate()
    refused.raft.step(to('voteReply', 'b', { granted: false }), refused.now)
    refused.raft.step(to('voteReply', 'c', { granted: false }), refused.now)
    expect(refused.raft.role).toBe('follower')
    expect(refused.raft.lostCampaign).toEqual({
      term: refused.term,
      votes: new Map([
        ['a', true],
        ['b', false],
        ['c', false],
      ]),
      higherTerm: undefined,
    })
    const late = candidate()
    late.raft.step({ ...to('voteReply', 'b', { granted: false }), term: 9 }, late.now)
    expect(late.raft.lostCampaign).toMatchObject({ term: late.term, higherTerm: 9 })
    const won = candidate()
    won.raft.step(to('voteReply', 'b', { granted: true }), won.now)
    expect([won.raft.role, won.raft.lostCampaign]).toEqual(['leader', undefined])
  })

  test('the first answer of a voter counts, a later one does not', () => {
    const raft = make({ membership: of(['a', 'b', 'c', 'd', 'e']) }, { preVote: false })
    let now = 0
    while (raft.role !== 'candidate') raft.tick((now += 10))
    raft.persisted(1, now)
    raft.step(to('voteReply', 'b', { granted: true }), now)
    raft.step(to('voteReply', 'b', { granted: false }), now)
    raft.step(to('voteReply', 'c', { granted: true }), now)
    expect(raft.role).toBe('leader')
  })

  test('a candidate that lost before its own vote was durable sends no vote requests', () => {
    const raft = make({}, { preVote: false })
    let now = 0
    while (raft.role !== 'candidate') raft.tick((now += 10))
    raft.step(to('heartbeat', 'b', { commit: 0, round: 0 }), now)
    expect(kinds(raft.persisted(1, now))).toEqual(['heartbeatReply'])
  })

  test('E8: the answer to a candidate of an old term carries the current term', () => {
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

/**
 * The leader a has ended, and all members of `left` see this now. A message and a sync take 3 ms each.
 * Returns the time after which the next leader leads.
 */
function fastRound(left: string[], seed: number): number {
  const membership = of(['a', ...left])
  const rafts = left.map((id) => {
    const raft = make({ membership }, { electionTimeout: 1000, random: seededRandom(`${seed}/${id}`) }, id)
    raft.step({ ...to('heartbeat', 'a', { commit: 0, round: 0 }), to: id }, 0)
    raft.leaderGone('a', 1, 0)
    return { id, raft }
  })
  return electionOf(rafts)
}

/**
 * The same for the members of a new cluster. Each may vote some milliseconds after the one before it, in an
 * order of the seed.
 */
function firstElection(ids: string[], seed: number): number {
  const random = seededRandom(`order/${seed}`)
  const rafts = ids.map((id) => {
    const boot = { membership: of(ids), mayVote: false }
    const raft = make(boot, { electionTimeout: 1000, random: seededRandom(`${seed}/${id}`) }, id)
    return { id, raft, at: random.between(1, 40) }
  })
  return electionOf(rafts, (now) => {
    for (const { raft, at } of rafts) if (at === now) expect(raft.allowVoting(now)).toEqual([])
  })
}

/** The time until one of them leads, in ms; each message and each write takes 3 ms. */
function electionOf(rafts: { id: string; raft: Raft }[], before: (now: number) => void = () => {}): number {
  const later: { at: number; run: () => void }[] = []
  let now = 0
  const in3ms = (run: () => void) => void later.push({ at: now + 3, run })
  const perform = (raft: Raft, effects: readonly Effect[]): void => {
    for (const effect of effects) {
      if (effect.type === 'send') in3ms(() => deliver(effect.message))
      if (effect.type === 'persist') in3ms(() => perform(raft, raft.persisted(effect.batch.id, now)))
    }
  }
  const deliver = (message: Message): void => {
    const reached = rafts.find(({ id }) => id === message.to)?.raft
    if (reached !== undefined) perform(reached, reached.step(message, now))
  }
  while (!rafts.some(({ raft }) => raft.role === 'leader') && now < 1000) {
    now++
    before(now)
    for (const { raft } of rafts) perform(raft, raft.tick(now))
    for (const { run } of later.filter(({ at }) => at === now)) run()
  }
  return now
}
