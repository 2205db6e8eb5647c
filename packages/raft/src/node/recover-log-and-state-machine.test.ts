// Test: which logs show that their member has never taken part in a cluster, and which options name a new
// cluster of several members.

import { expect, test } from 'vitest'
import type { Recovered } from '../wal/index.js'
import { isOneOfMany, isUnborn } from './recover-log-and-state-machine.js'

const log = (term: number, entries: number, start: number, clusterId: string) =>
  ({
    hardState: { term },
    entries: Array.from({ length: entries }),
    start: { position: { index: start } },
    identity: { clusterId },
  }) as unknown as Recovered

// Without this: a member that has voted in its first election, and then lost its state, founds a second cluster.
test.each([
  ['nothing', log(0, 0, 0, ''), true],
  ['a term', log(1, 0, 0, ''), false],
  ['an entry', log(0, 1, 0, ''), false],
  ['a snapshot before its first entry', log(0, 0, 5, ''), false],
  ['the id of a cluster', log(0, 0, 0, 'c'), false],
  ['a term and an entry', log(1, 1, 0, ''), false],
])('a log with %s', (_, recovered, unborn) => {
  expect(isUnborn(recovered)).toBe(unborn)
})

test.each([
  [{ members: { a: 'x', b: 'y' } }, true],
  [{ members: { a: 'x' } }, false],
  [{}, false],
  [{ members: { a: 'x', b: 'y' }, join: true }, false],
])('%j names one of many members', (options, many) => {
  expect(isOneOfMany({ id: 'a', ...options } as Parameters<typeof isOneOfMany>[0])).toBe(many)
})
