// Test: numbers that are stored as decimal text: increment, increment as a step, and conditions that compare
// numbers.

import { type ConditionArg, FIELD, IS, OP, READ, STEP } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { codeOf, show } from '../testing/results-as-text.js'
import { World, k } from '../testing/state-machine-with-own-log.js'

const MOST = Number.MAX_SAFE_INTEGER

let w: World
beforeEach(async () => {
  w = await World.open()
})

const add = (by: number, key = 'n') => w.one([OP.increment, null, k(key), by])
const stored = (key = 'n') => show(w.machine.read([READ.get, k(key)]))

describe('increment', () => {
  test('an absent value is 0; the answer is the new value and its revision; an increment by 0 is a write too', async () => {
    expect(await add(5)).toEqual([5, 1])
    expect(await add(-12)).toEqual([-7, 2])
    expect(await add(0)).toEqual([-7, 3])
    expect(stored()).toBe('-7')
    expect(await add(0, 'other')).toEqual([0, 4])
    expect(stored('other')).toBe('0')
  })

  test('up to the last safe integer of either sign, and not beyond', async () => {
    expect(await add(MOST)).toEqual([MOST, 1])
    expect(codeOf(await add(1))).toBe('ERR_TOO_LARGE')
    expect(stored()).toBe(String(MOST))
    expect(await add(-MOST)).toEqual([0, 2])
    expect(await add(-MOST)).toEqual([-MOST, 3])
    expect(codeOf(await add(-1))).toBe('ERR_TOO_LARGE')
    expect(await add(MOST)).toEqual([0, 4])
  })

  test.each([
    '',
    ' 1',
    '1 ',
    '+1',
    '-0',
    '01',
    '1.5',
    '1e3',
    '0x10',
    'seven',
    '9007199254740992',
    '-9007199254740993',
    '1'.repeat(400),
  ])('%j is no number and is not changed', async (value) => {
    await w.one([OP.put, null, k('n'), k(value)])
    expect(codeOf(await add(1))).toBe('ERR_NOT_A_NUMBER')
    expect(stored()).toBe(value)
    expect(w.machine.revision).toBe(1)
  })

  test('a step sees the steps before it and answers with the new value; a step that fails undoes all steps', async () => {
    const steps = [
      [STEP.put, k('n'), k('4')],
      [STEP.increment, k('n'), 6],
      [STEP.increment, k('n'), -1],
    ] as const
    expect(await w.one([OP.batch, null, steps])).toEqual([1, [true, 10, 9]])
    const bad = [
      [STEP.increment, k('n'), 1],
      [STEP.put, k('w'), k('x')],
      [STEP.increment, k('w'), 1],
    ] as const
    expect(codeOf(await w.one([OP.batch, null, bad]))).toBe('ERR_NOT_A_NUMBER')
    expect(codeOf(await w.one([OP.txn, null, [], bad, []]))).toBe('ERR_NOT_A_NUMBER')
    expect([stored(), w.machine.revision]).toEqual(['9', 1])
  })
})

describe('conditions on a value as a number', () => {
  const holds = async (...when: ConditionArg[]) =>
    ((await w.one([OP.txn, null, when, [], []])) as unknown[])[0] as boolean

  // As texts '9' < '10' would be false.
  const rows: [stored: string | null, is: keyof typeof IS, value: number, expected: boolean][] = [
    ['9', '<', 10, true],
    ['10', '<', 9, false],
    ['10', '=', 10, true],
    ['10', '!=', 10, false],
    ['-10', '<', -9, true],
    ['-9007199254740991', '<', MOST, true],
    ['9007199254740991', '>', -MOST, true],
    ['9007199254740991', '>', MOST - 1, true],
    [null, '=', 0, true],
    [null, '<', 1, true],
    [null, '>', -1, true],
    [null, '!=', 0, false],
  ]
  test.each(rows)('%s %s %s: %s', async (value, is, operand, expected) => {
    if (value !== null) await w.one([OP.put, null, k('n'), k(value)])
    expect(await holds([FIELD.number, IS[is], k('n'), operand])).toBe(expected)
  })

  test('a value that is no number ends the txn with an error, if the conditions before it hold', async () => {
    await w.one([OP.put, null, k('n'), k('x')])
    const compared: ConditionArg = [FIELD.number, IS['='], k('n'), 0]
    const txn = [
      OP.txn,
      null,
      [compared],
      [[STEP.put, k('a'), k('1')]],
      [[STEP.put, k('a'), k('2')]],
    ] as const
    expect(codeOf(await w.one(txn))).toBe('ERR_NOT_A_NUMBER')
    expect(stored('a')).toBeNull()
    expect(await holds([FIELD.version, IS['='], k('n'), 5], compared)).toBe(false)
  })
})
