// Test: reads whose steps are too complex for a trace.

import { describe, expect, test } from 'vitest'
import { of, make, to, kinds, ok, alone, leading } from './testing/members.js'

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

  test('R7: a read request to a member that does not lead is answered so; an unexpected answer is dropped', () => {
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

  test('R6: there are no lease reads: however fresh the last round was, a read without a quorum of its own is not answered', () => {
    const { raft, now } = leading()
    raft.read(7, now)
    raft.step(to('heartbeatReply', 'b', { round: 1, match: 1 }), now)
    expect(kinds(raft.read(8, now))).not.toContain('read')
    for (let later = now + 10; later <= now + 300; later += 10) {
      expect(raft.tick(later)).not.toContainEqual(
        expect.objectContaining({ type: 'read', context: 8, index: 1 }),
      )
    }
  })

  test('K19: the stamps of a replaced leader are cut with its entries: nothing expires because of them', () => {
    const { raft, now } = leading()
    const late = ok(raft.propose('empty', new Uint8Array(0), now + 90))
    const entry = { index: late.index, term: 2, time: 5, kind: 'empty', data: new Uint8Array(0) } as const
    const append = { prevIndex: late.index - 1, prevTerm: 1, commit: late.index, entries: [entry], round: 0 }
    const effects = raft.step(to('append', 'b', { term: 2, ...append }), now + 91)
    expect(effects).toContainEqual(
      expect.objectContaining({
        type: 'persist',
        batch: expect.objectContaining({ truncateFrom: late.index }),
      }),
    )
    expect(raft.entry(late.index).time).toBe(5)
    expect(kinds(effects)).not.toContain('commit')
  })
})
