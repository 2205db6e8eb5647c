// Test: each forbidden word is found where it has the forbidden meaning, and only there.

import { expect, test } from 'vitest'
import { sample } from './sample.mjs'
import { check } from './words.mjs'

const problems = (path, text) => check(sample({ [path]: text })).problems
const put = ['TO' + 'DO', 'FIX' + 'ME']

test.each([
  ['packages/base/src/a.test.ts', "test.skip('x', () => {})"],
  ['packages/base/src/a.test.ts', "describe.only('x', () => {})"],
  ['packages/base/src/a.test.ts', "it.todo('x')"],
  ['packages/base/src/a.test.ts', "xit('x', () => {})"],
  ['scripts/a.test.mjs', "test.skipIf(true)('x', () => {})"],
  ['packages/base/src/a.ts', `// ${put[0]}: later`],
  ['packages/base/src/a.ts', `/* ${put[1]} */`],
  ['packages/base/src/a.ts', 'const a = b as any'],
  ['packages/base/src/a.ts', '// @ts-ig' + 'nore\nconst a = 1'],
  ['packages/base/src/a.ts', '// @ts-expect-error because\nconst a = 1'],
  ['packages/base/src/a.ts', "const dir = '" + '/tm' + "p/x'"],
  ['README.md', 'see /wo' + 'rk/main'],
  ['docs/a.md', 'in `/ho' + 'me/me/x`'],
])('%s: %j is refused', (path, text) => {
  expect(problems(path, text)).toEqual([expect.stringContaining(`${path}:1: '`)])
})

test.each([
  ['packages/base/src/a.ts', "const words = 'test.skip( as any'"],
  ['packages/base/src/a.ts', 'set.only(1); queue.skip(2)'],
  ['packages/base/src/a.test.ts', '// @ts-expect-error: a number is refused\nf(1)'],
  ['packages/base/src/a.ts', "const path = root + '/dist/x'"],
  ['README.md', 'https://example.org/home/x and ./work/x and /var/lib/latchkey'],
])('%s: %j passes', (path, text) => {
  expect(problems(path, text)).toEqual([])
})
