// Test: snapshots whose steps are too complex for a trace.

import { describe, expect, test } from 'vitest'
import { of, entry, make, to, kinds, leading } from './testing/members.js'

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
    // This snapshot is older than the start of the log, so it is of no use.
    expect(kinds(raft.step(piece({}), 0))).toEqual([])
    raft.step(piece({ position: { index: 10, term: 1, time: 0 }, done: true }), 0)
    const effects = raft.snapshotInstalled({ index: 10, term: 1, time: 0 }, of(['a', 'b', 'c']), 0)
    expect(effects).toContainEqual({ type: 'commit', from: 11, to: 11 })
  })

  test('S9: a snapshot that the log has been compacted beyond is dropped, and a newer one is requested', () => {
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
