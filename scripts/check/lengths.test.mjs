// Test: the check counts the lines of files and functions, and accepts a longer one with a reason.

import { expect, test } from 'vitest'
import { check } from './lengths.mjs'
import { sample } from './sample.mjs'

const body = (lines) => Array.from({ length: lines }, (_, i) => `  use(${i})`).join('\n')
const problems = (path, text) => check(sample({ [path]: text })).problems
const long = `export function long(use: (i: number) => void) {\n${body(70)}\n}\n`

test('a function over 60 lines needs its reason on the line above', () => {
  expect(problems('packages/base/src/a.ts', long)).toEqual([
    expect.stringContaining('packages/base/src/a.ts:1: '),
  ])
  expect(problems('packages/base/src/a.ts', `// long: one table\n${long}`)).toEqual([])
  expect(problems('packages/base/src/a.ts', `// long:\n${long}`)).toHaveLength(1)
  expect(
    problems('packages/base/src/a.ts', `export function short(use: (i: number) => void) {\n${body(40)}\n}\n`),
  ).toEqual([])
})

test('a method and an arrow count too', () => {
  expect(
    problems('test/sim/src/a.ts', `export class A {\n  m(use: (i: number) => void) {\n${body(70)}\n  }\n}\n`),
  ).toHaveLength(1)
  expect(problems('scripts/a.mjs', `export const f = (use) => {\n${body(70)}\n}\n`)).toHaveLength(1)
})

test('a describe may be long, a test in it may not', () => {
  const inside = (text) => `describe('x', () => {\n${text}\n})\n`
  expect(problems('packages/base/src/a.test.ts', inside(body(70)))).toEqual([])
  expect(problems('packages/base/src/a.test.ts', `test('x', () => {\n${body(70)}\n})\n`)).toHaveLength(1)
})

test('a file over 400 lines needs its reason at the top', () => {
  const file = Array.from({ length: 401 }, (_, i) => `export const a${i} = ${i}`).join('\n')
  expect(problems('packages/base/src/a.ts', `${file}\n`)).toEqual([
    expect.stringContaining('packages/base/src/a.ts:'),
  ])
  expect(problems('packages/base/src/a.ts', `// Rule: a table\n// long: rows of data\n${file}\n`)).toEqual([])
})
