// Test: a member whose directory was emptied does not vote under its old name, but the members of a new
// cluster do vote.

import { expect, test } from 'vitest'
import { mayVote } from './wiped-member-check.js'

const answers = (all: Record<string, string>) =>
  new Map(
    Object.entries(all).map(([id, said]) => [
      id,
      { clusterId: said.replace('!', ''), refused: said.endsWith('!') },
    ]),
  )

test.each([
  ['alone', ['a'], {}, 'vote'],
  ['nobody answered', ['a', 'b', 'c'], {}, 'wait'],
  ['one of two others: the other one might know', ['a', 'b', 'c'], { b: '' }, 'wait'],
  ['all are new', ['a', 'b', 'c'], { b: '', c: '' }, 'vote'],
  ['one knows a cluster: the other one might know this name', ['a', 'b', 'c'], { b: 'x' }, 'wait'],
  [
    'some know a cluster, none knows this name by another directory',
    ['a', 'b', 'c'],
    { b: '', c: 'x' },
    'follow',
  ],
  ['M13: one refuses', ['a', 'b', 'c'], { b: 'x!' }, 'refuse'],
  ['M13: one of those that answered refuses', ['a', 'b', 'c'], { b: 'x', c: 'x!' }, 'refuse'],
  [
    'five: started after the others founded it',
    ['a', 'b', 'c', 'd', 'e'],
    { b: 'x', c: 'x', d: 'x' },
    'follow',
  ],
  ['five: half of the others is not enough', ['a', 'b', 'c', 'd', 'e'], { b: 'x', c: 'x' }, 'wait'],
  ['five: two of four others', ['a', 'b', 'c', 'd', 'e'], { b: '', c: '' }, 'wait'],
  ['five: three of four others', ['a', 'b', 'c', 'd', 'e'], { b: '', c: '', e: '' }, 'vote'],
  ['strangers do not count', ['a', 'b', 'c'], { b: '', z: '' }, 'wait'],
])('%s', (_, voters, heard, verdict) => {
  expect(mayVote('a', voters, answers(heard))).toBe(verdict)
})

test('M13: whatever majority of the others answers, it includes one that helped to commit with the wiped member', () => {
  for (let size = 3; size <= 7; size++) {
    const voters = Array.from({ length: size }, (_, i) => String.fromCharCode(97 + i))
    const quorum = Math.floor(size / 2) + 1
    // The wiped member 'a' and the first others have committed entries; only the rest is new. All new members
    // answer first.
    const unaware = voters.slice(quorum)
    expect(mayVote('a', voters, answers(Object.fromEntries(unaware.map((id) => [id, '']))))).toBe('wait')
  }
})
