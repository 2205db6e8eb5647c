// Test: the reason of a lost election contains only what the member knows.

import { expect, test } from 'vitest'
import { whyElectionLost } from './lost-election-reason.js'

const VOTERS = { self: 'a', voters: ['a', 'b', 'c'], leader: undefined } as const
const lost = (votes: Record<string, boolean>, higherTerm?: number) => ({
  term: 3,
  votes: new Map(Object.entries({ a: true, ...votes })),
  higherTerm,
})

test.each([
  [
    lost({ b: false, c: false }),
    {},
    "b, c refused (their vote went to another member, or this member's log is behind)",
  ],
  [
    lost({ b: false }),
    {},
    "b refused (their vote went to another member, or this member's log is behind); c did not answer",
  ],
  [lost({}), {}, 'b, c did not answer'],
  [lost({}, 5), {}, 'another member is in term 5 already; b, c did not answer'],
  [lost({ b: true }), { leader: 'c' }, 'c leads; c did not answer'],
  [lost({ b: true, c: true }), {}, ''],
])('%o %o: %s', (campaign, more, said) => {
  expect(whyElectionLost(campaign, { ...VOTERS, ...more })).toBe(said)
})
