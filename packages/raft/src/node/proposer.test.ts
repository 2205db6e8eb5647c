// Test: when a leader proposes an empty entry so that cluster time advances.

import { expect, test } from 'vitest'
import type { Raft } from '../core/index.js'
import { NodeCounters } from './node-counters.js'
import { Proposer } from './proposer.js'

/** A leader whose entries are applied at once; its cluster time is that of its clock. */
function leader() {
  const proposed: number[] = []
  const raft = {
    role: 'leader',
    lastIndex: 0,
    transferring: false,
    clusterTime: (now: number) => now,
    propose: (_kind: string, _data: Uint8Array, now: number) => {
      proposed.push(now)
      return { ok: true, index: proposed.length, term: 1, effects: [] }
    },
  } as unknown as Raft
  const caps = { records: 1, bytes: 1 } as never
  const proposer = new Proposer({
    raft,
    caps,
    idle: () => true,
    now: () => 0,
    run: () => {},
    counters: new NodeCounters(),
  })
  const run = (from: number, to: number, deadline: (now: number) => number | undefined): number[] => {
    proposed.length = 0
    for (let now = from; now < to; now++) proposer.tick(now, 0, () => deadline(now))
    return [...proposed]
  }
  return { proposer, run }
}

test('CT4: one entry for a deadline that is over, and no second one within 50 ms', () => {
  const { run } = leader()
  expect(run(1_000, 1_150, () => 1_100)).toEqual([1_101])
  expect(run(1_200, 1_300, (now) => now - 1)).toEqual([1_200, 1_250])
})

test('A22: where one entry could not do all that is due, the next ones follow at once', () => {
  const { run, proposer } = leader()
  expect(run(1_000, 1_010, () => -1)).toEqual([1_000, 1_002, 1_004, 1_006, 1_008])
  expect(proposer.untilTick(1_009, 0, () => -1)).toBe(1)
  expect(proposer.untilTick(1_009, 0, () => 1_000)).toBe(49)
})
