// Test: the largest command that is within the budget, and the same command with one row more.

import { utf8 } from '@latchkey/base'
import { expect, test } from 'vitest'
import { CAPS } from './fixed-limits.js'
import { overBudget, tooManyKeys } from './command-row-limits.js'
import { type Command, OP, STEP, type Step } from './command-and-read-wire-types.js'

const K = utf8('k')
const many = <const T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)
const PUT: Step = [STEP.put, K, K]
const RANGE: Step = [STEP.deleteRange, K, K]
const ONCE = [K, K, 1_000] as const

test.each<[name: string, most: number, command: (n: number) => Command, words: string]>([
  ['renewals', CAPS.commandHolds, (n) => [OP.renew, many(n, [K, 'id', 1, 1_000])], 'one call may renew 2048'],
  ['releases', CAPS.commandHolds, (n) => [OP.releaseAll, many(n, [K, 'id'])], 'one call may release 2048'],
  ['parties', CAPS.commandHolds, (n) => [OP.leaveParties, many(n, [1, K, 'id'])], 'one call may name 2048'],
  ['pairs of putAll', CAPS.commandRows, (n) => [OP.putAll, null, many(n, [K, K])], 'may touch 20000 rows'],
  ['keys of deleteAll', CAPS.commandRows, (n) => [OP.deleteAll, null, many(n, K)], 'may touch 20000 rows'],
  ['steps of a batch', CAPS.commandRows, (n) => [OP.batch, null, many(n, PUT)], 'may touch 20000 rows'],
  [
    'conditions and steps of a txn',
    CAPS.commandRows,
    (n) => [OP.txn, null, many(10, [0, 0, K, K]), many(n - 30, PUT), many(20, PUT)],
    'may touch 20000 rows',
  ],
  [
    'the steps of a txn and the row of its kept answer',
    CAPS.commandRows,
    (n) => [OP.txn, null, [], many(n - 1, PUT), [], ONCE],
    'may touch 20000 rows',
  ],
  ['ranges of a batch', CAPS.commandRanges, (n) => [OP.batch, null, many(n, RANGE)], 'may have 128'],
  [
    'ranges of both branches of a txn',
    CAPS.commandRanges,
    (n) => [OP.txn, null, [], many(n - 5, RANGE), many(5, RANGE)],
    'may have 128',
  ],
])('a command has at most as many as its budget allows: %s', (_, most, command, words) => {
  expect(overBudget(command(most))).toBeNull()
  expect(overBudget(command(most + 1))).toContain(words)
})

test('a read asks for at most as many keys as one read may have', () => {
  expect(tooManyKeys(CAPS.readKeys)).toBeNull()
  expect(tooManyKeys(CAPS.readKeys + 1)).toContain(`asks for ${CAPS.readKeys + 1} keys`)
})
