// Test: a mutation changes code but never text or comments, and the same seed makes the same mutation.

import { expect, test } from 'vitest'
import { isProduct } from '../check/files.mjs'
import { drawn, faultsOf } from './mutations.mjs'

const lines = (line) => faultsOf(line).map((fault) => fault.line)

test('each place that fits gives one fault', () => {
  expect(lines('  if (a <= b && c === d) return')).toEqual([
    '  if (a <= b && c !== d) return',
    '  if (a < b && c === d) return',
    '  if (a <= b || c === d) return',
    '  if (!(a <= b && c === d)) return',
  ])
  expect(lines('  this.#timer.cancel()')).toEqual([''])
  expect(lines('  const far = Math.max(near, 1)')).toEqual([
    '  const far = Math.min(near, 1)',
    '  const far = Math.max(near, 2)',
  ])
})

test('text, comments, types and lines of a log are left alone', () => {
  expect(lines("  const said = 'a + b is true' // 1 + 1")).toEqual([])
  expect(lines('  // a < b')).toEqual([])
  expect(lines('  readonly done: true')).toEqual([])
  expect(lines("  | readonly ['done', true]")).toEqual([])
  expect(lines("import { a } from './a.js'")).toEqual([])
  expect(lines("  if (1 === a) this.#logger.warn('one', { a })")).toEqual([])
})

test('the same seed draws the same, another seed draws others', () => {
  const all = Array.from({ length: 100 }, (_, i) => i)
  expect(drawn(all, 5, 7)).toEqual(drawn(all, 5, 7))
  expect(drawn(all, 5, 7)).not.toEqual(drawn(all, 5, 8))
  expect(drawn([1, 2], 5, 1)).toHaveLength(2)
})

test('faults are drawn only in what users run', () => {
  const paths = [
    'core/raft.ts',
    'core/raft.test.ts',
    'net/testing/crew.ts',
    'core/traces/run.ts',
    'suite/hold.ts',
  ]
  expect(paths.map((path) => isProduct(`packages/raft/src/${path}`))).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
  expect(['test/sim/src/main.ts', 'packages/kv/README.md'].some(isProduct)).toBe(false)
})
