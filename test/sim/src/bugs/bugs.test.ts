// Test: the simulator bites. A quick part of the known bugs, each in a copy of the core; `npm run sim -- --bugs` runs all.

import { expect, test } from 'vitest'
import { scenarios } from '../scenarios/all.js'
import { idsOf } from '../scenarios/scenario.js'
import { checkPatch, patchedCore } from '../run/load-core.js'
import { bugs } from './all.js'
import { hunt, isCaught } from './runner.js'

const QUICK = [
  'vote reply before sync',
  'ack before sync',
  'Figure 8: an entry of an old term is committed by counting',
  'ack ABA: a truncation leaves the durable end where it was',
  'truncates on every append',
  'majority off by one for even sizes',
  'no check-quorum',
  'a learner is counted',
  'the leader reads locally',
  'stamp from a clock reading of the last tick',
  'cluster time without the clamp',
]

test.each(QUICK)('%s', async (name) => {
  const bug = bugs.find((candidate) => candidate.name === name)
  if (bug === undefined) throw new Error(`there is no bug "${name}"`)
  const caught = await hunt(bug)
  expect(isCaught(caught), JSON.stringify(caught, undefined, 1)).toBe(true)
})

test('every bug still fits the compiled core', () => {
  for (const { name, patches } of bugs) {
    for (const patch of patches) expect(() => checkPatch(patch), name).not.toThrow()
  }
})

test('at least 40 bugs, each with another name, and with a scenario where one is named', () => {
  expect(bugs.length).toBeGreaterThanOrEqual(40)
  expect(new Set(bugs.map(({ name }) => name)).size).toBe(bugs.length)
  for (const { scenario, seeds } of bugs) {
    if (scenario === undefined) expect(seeds).toBeGreaterThan(0)
    else expect(scenarios.some((candidate) => idsOf(candidate).includes(scenario))).toBe(true)
  }
})

test('a patch that does not fit is an error that says so', async () => {
  const patches = [{ file: 'raft/dist/core/log.js', find: 'nothing like that', replace: '' }]
  await expect(patchedCore(patches)).rejects.toThrow(
    'does not fit any more: raft/dist/core/log.js has 0 times',
  )
})
