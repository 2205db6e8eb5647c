// Test: the meta row is the same after writing and reading, with the members and the id of their cluster.

import type { Membership } from '@latchkey/raft/core'
import { expect, test } from 'vitest'
import { decodeMeta, emptyMeta, encodeMeta } from './meta-row.js'

const members: Membership = {
  voters: ['a', 'b'],
  outgoing: ['a', 'c'],
  learners: ['d'],
  learnersNext: ['c'],
  peers: { a: { url: 'ws://a', incarnation: 'one' }, b: { url: '', incarnation: '' } },
}

test.each([
  ['M6: of a founded cluster', { ...members, cluster: 'the cluster' }],
  ['before it is founded', members],
])('a membership %s comes back whole', (_, membership) => {
  const meta = {
    ...emptyMeta(),
    position: { index: 7, term: 2, time: 9 },
    membership,
    tokenBase: 3,
    arrival: 4,
  }
  expect(decodeMeta(encodeMeta(meta))).toEqual(meta)
})
