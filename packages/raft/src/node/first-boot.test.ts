// Test: a wiped member does not vote under its old name; a new cluster starts.

import { expect, test } from 'vitest'
import { mayVote } from './first-boot.js'

const answers = (all: Record<string, string>) =>
  new Map(Object.entries(all).map(([id, clusterId]) => [id, { clusterId }]))

test.each([
  ['alone', ['a'], {}, 'vote'],
  ['nobody answered', ['a', 'b', 'c'], {}, 'wait'],
  ['one of two others: the other one might know', ['a', 'b', 'c'], { b: '' }, 'wait'],
  ['all are new', ['a', 'b', 'c'], { b: '', c: '' }, 'vote'],
  ['M13: one knows a cluster', ['a', 'b', 'c'], { b: 'x' }, 'refuse'],
  ['M13: one of those that answered knows', ['a', 'b', 'c'], { b: '', c: 'x' }, 'refuse'],
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
    // The wiped member 'a' and the first others committed; only the rest is new. Let everybody who is new answer first.
    const unaware = voters.slice(quorum)
    expect(mayVote('a', voters, answers(Object.fromEntries(unaware.map((id) => [id, '']))))).toBe('wait')
  }
})
