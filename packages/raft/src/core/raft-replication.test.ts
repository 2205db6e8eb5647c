// Test: replication whose steps are too complex for a trace.

import { utf8 } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import type { Effect } from './index.js'
import { of, entry, make, to, kinds, ok, leading } from './testing/members.js'

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

  test('L9, L12: while probing only the answer to the current probe counts', () => {
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

  test('D12: a member that lost acknowledged entries gets no more entries and does not count', () => {
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

  describe('what is committed is told', () => {
    const told = (effects: readonly Effect[]) =>
      effects.flatMap((effect) =>
        effect.type === 'send' && 'commit' in effect.message
          ? [`${effect.message.type} to ${effect.message.to}: ${effect.message.commit}`]
          : [],
      )

    test('the commit index is sent with the next append, not by a message of its own', () => {
      const { raft, now } = leading()
      const first = ok(raft.propose('commands', utf8('x'), now))
      raft.persisted(3, now)
      const match = first.index
      expect(told(raft.step(to('appendReply', 'b', { ok: true, match, round: 0 }), now))).toEqual([])
      expect(raft.commit).toBe(match)
      const next = ok(raft.propose('commands', utf8('y'), now))
      expect(told(next.effects)).toContain(`append to b: ${match}`)
      expect(told(raft.announce(match, now))).toEqual([])
    })

    test('the commit index is sent alone, once, when no append follows for a moment; else at the next tick', () => {
      const { raft, now } = leading()
      expect(told(raft.announce(99, now))).toEqual(['heartbeat to b: 1'])
      expect(told(raft.announce(99, now))).toEqual([])
      const { index } = ok(raft.propose('commands', utf8('x'), now))
      raft.persisted(3, now)
      raft.step(to('appendReply', 'b', { ok: true, match: index, round: 0 }), now)
      expect(told(raft.tick(now + 1))).toEqual([`heartbeat to b: ${index}`])
    })
  })
})
