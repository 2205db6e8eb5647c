// Test: the check finds ids in test names, traces and scenarios, and refuses unknown ids and laws without a
// test.

import { expect, test } from 'vitest'
import { sample } from './sample.mjs'
import { check, lines, titles } from './laws.mjs'

const house = {
  'docs/laws.md': '# x\n\n- **E1** a vote\n- **E2** two votes\n- **L1** a log\n- **K1** a lock\n',
}
const run = (texts) => check(sample({ ...house, ...texts }))

test('the register is read', () => {
  expect(lines(house['docs/laws.md'])).toEqual([
    ['E1', 'a vote'],
    ['E2', 'two votes'],
    ['L1', 'a log'],
    ['K1', 'a lock'],
  ])
})

test('an id that no test names is refused', () => {
  const texts = { 'packages/raft/src/a.test.ts': "test('E1: x', () => {})\ntest('E2, L1: y', () => {})" }
  expect(run(texts)).toEqual({
    problems: [expect.stringContaining('no test names K1 of docs/laws.md')],
    notes: ['3 of 4 scenarios are named by a test'],
  })
  const rest = { 'packages/lock/src/a.test.ts': "test('K1: z', () => {})" }
  expect(run({ ...texts, ...rest }).problems).toEqual([])
})

test('traces and the simulator name ids too', () => {
  const texts = {
    'packages/raft/src/traces/a.txt': '# E1 E2: x\n# more\n\nL1 is no head\n',
    'test/sim/src/scenarios.ts': "export const all = { 'K1: a lock': 1 }",
  }
  expect(run(texts).problems).toEqual([expect.stringContaining('no test names L1 of')])
})

test('an unknown id is refused', () => {
  const { problems } = run({ 'packages/raft/src/a.test.ts': "test('E9: x', () => {})" })
  expect(problems).toContainEqual(expect.stringContaining("'E9' is not in docs/laws.md"))
})

test('an id in a comment must be in the register, and there once', () => {
  const all = { 'packages/raft/src/a.test.ts': "test('E1, E2, L1, K1: x', () => {})" }
  const comment = { 'packages/raft/src/b.ts': '/** N1: one event. */' }
  expect(run({ ...all, ...comment }).problems).toEqual([
    expect.stringContaining("'N1' is not in docs/laws.md"),
  ])
  const register = { 'docs/laws.md': `${house['docs/laws.md']}- **N1** a law\n- **E1** again\n` }
  expect(run({ ...all, ...comment, ...register }).problems).toEqual([
    expect.stringContaining('E1 stands there twice'),
  ])
  expect(run({ ...all, 'docs/laws.md': `${house['docs/laws.md']}- **N1** a law\n` }).problems).toEqual([
    expect.stringContaining('no code names N1'),
  ])
})

test('the register itself must be there', () => {
  expect(check(sample({ 'README.md': '' })).problems).toEqual([
    expect.stringContaining('docs/laws.md is missing'),
  ])
})

test.each([
  ["test('E1: a', () => { f('E2') })", ['E1: a']],
  ["describe('L1 and L2', () => {\n  it(`K1 ${x}`, f)\n})", ['L1 and L2', 'K1 ']],
  ["test.each([['E1: row', 1]])('%s', f)", ['E1']],
  ["// test('E1: comment')", []],
  ["const a = 'E1'", []],
])('titles of %j', (text, expected) => {
  expect(titles(text).filter((title) => /[A-Z][0-9]/.test(title))).toEqual(expect.arrayContaining(expected))
  if (expected.length === 0) expect(titles(text)).toEqual([])
})
