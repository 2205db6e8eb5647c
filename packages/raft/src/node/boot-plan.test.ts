// Test: the truth table for the start of a member.

import { expect, test } from 'vitest'
import { planBoot } from './boot-plan.js'
import type { AppliedState } from './state-machine-interface.js'

const membership = { voters: ['a'], outgoing: [], learners: [], learnersNext: [], peers: {} }
const at = (index: number, term: number): AppliedState => ({ position: { index, term, time: 0 }, membership })
const log = (start: number, last: number) => ({
  start: at(start, 1).position,
  lastIndex: last,
  termAt: () => 1,
})

test.each([
  ['nothing at all', log(0, 0), undefined, 'fresh'],
  ['a whole log, no machine', log(0, 9), undefined, 'fresh'],
  ['S5: no machine, and the log begins later', log(5, 9), undefined, 'rebuild'],
  ['D17: the machine is older than the log begins', log(5, 9), at(4, 1), 'rebuild'],
  ['just before the first entry', log(5, 9), at(5, 1), 'go'],
  ['inside the log', log(5, 9), at(7, 1), 'go'],
  ['at its end', log(5, 9), at(9, 1), 'go'],
  ['D12: inside, but of another history', log(5, 9), at(7, 2), 'rebuild'],
  ['A3: beyond the log: the crash came within an install', log(5, 9), at(10, 1), 'restart-log'],
  ['a new log under an installed machine', log(0, 0), at(10, 1), 'restart-log'],
] as const)('%s', (_, extent, applied, plan) => {
  expect(planBoot(extent, applied).type).toBe(plan)
})
