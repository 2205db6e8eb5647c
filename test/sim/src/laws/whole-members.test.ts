// Test: Raft's laws also check whole members: in the whole profile, a bug of the core breaks a law.

import { expect, test } from 'vitest'
import { bugs } from '../bugs/all.js'
import { wholeProfile } from '../whole/whole-profile.js'

const SEED = 1

test.each([
  ['E1', 'a member sends a vote before its log is synced', 'disk-before-word'],
  ['CT2', 'a leader gives entries the time of its last tick', 'cluster-time'],
])('%s: %s breaks %s', async (_, name, broken) => {
  const bug = bugs.find((one) => one.name === name)
  if (bug === undefined) throw new Error(`there is no bug "${name}"`)
  const options = wholeProfile.draw(SEED, 'power')
  for (const [changes, outcome] of [
    [bug.changes, { verdict: 'safety', law: broken }],
    [[], { verdict: 'pass' }],
  ] as const) {
    const { run, remove } = await wholeProfile.load(changes)
    try {
      expect(await run(options)).toMatchObject(outcome)
    } finally {
      remove()
    }
  }
})
