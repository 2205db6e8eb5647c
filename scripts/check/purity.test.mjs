// Test: code that decides may not use a clock, random numbers, the process or a promise. Other code needs a
// reason.

import { expect, test } from 'vitest'
import { check } from './purity.mjs'
import { sample } from './sample.mjs'

const problems = (path, text) => check(sample({ [path]: text })).problems

test.each([
  'const t = Date.now()',
  'const t = new Date()',
  'const t = performance.now()',
  'const r = Math.random()',
  'const r = Math.log(2)',
  'const e = process.env.X',
  'setTimeout(f, 1)',
  'queueMicrotask(f)',
  'async function f() {}',
  'const f = async () => 1',
  'type P = Promise<number>',
  'for (const k in o) f(k)',
  'a.localeCompare(b)',
  'crypto.randomUUID()',
])('%j may not stand in a rule folder', (text) => {
  for (const folder of ['packages/raft/src/core', 'packages/lock/src/rules', 'packages/kv/src/rules']) {
    expect(problems(`${folder}/a.ts`, text)).toEqual([expect.stringContaining(`${folder}/a.ts:1: `)])
  }
})

test.each([
  '// Date.now() in words, Promise too',
  "const s = 'await Date.now()'",
  'const row = { process: 1, async: true }; row.process + message.Date',
  'const wal = Math.floor(1.5)',
])('%j may', (text) => {
  expect(problems('packages/raft/src/core/a.ts', text)).toEqual([])
})

test('a driver takes time from its port, or says why not', () => {
  expect(problems('packages/kv/src/a.ts', 'const t = Date.now()')).toEqual([
    expect.stringContaining("take base's Clock"),
  ])
  expect(problems('packages/kv/src/a.ts', '// clock: a log line only\nconst t = Date.now()')).toEqual([])
  expect(problems('packages/base/src/clock.ts', 'const t = Date.now()')).toEqual([])
  expect(problems('packages/kv/src/a.test.ts', 'const t = Date.now()')).toEqual([])
})
