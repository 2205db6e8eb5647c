// Test: a file whose first line does not name its kind is refused. An index that only exports needs no kind.

import { expect, test } from 'vitest'
import { check } from './kinds.mjs'
import { sample } from './sample.mjs'

const problems = (path, text) => check(sample({ [path]: text })).problems

test.each([
  ['packages/base/src/a.ts', 'export const a = 1'],
  ['packages/base/src/a.ts', '// Thing: wrong kind\nexport const a = 1'],
  ['packages/base/src/a.ts', '// Rule:\nexport const a = 1'],
  ['packages/base/src/a.test.ts', '// Rule: not a test\n'],
  ['packages/base/src/index.ts', "export { a } from './a.js'\nexport const b = 1"],
  ['packages/latchkey/bin/latchkey.js', "#!/usr/bin/env node\nimport '../dist/x.js'"],
  ['scripts/a.mjs', 'export const a = 1'],
])('%s with %j is refused', (path, text) => {
  expect(problems(path, text)).toEqual([expect.stringContaining(`${path}:1: start with`)])
})

test.each([
  ['packages/base/src/a.ts', '// Rule: what it decides\n'],
  ['packages/base/src/a.ts', "// Driver's port: one way out\n"],
  ['packages/base/src/a.ts', '// Types: words\n'],
  ['packages/base/src/a.test.ts', '// Test: what it proves\n'],
  [
    'packages/base/src/index.ts',
    "export { a,\n b } from './a.js'\nexport type { B } from './b.js'\nexport * from './c.js'\n",
  ],
  ['packages/base/src/index.ts', 'export {}\n'],
  ['packages/latchkey/bin/latchkey.js', '#!/usr/bin/env node\n// Driver: the command\n'],
])('%s with %j passes', (path, text) => {
  expect(problems(path, text)).toEqual([])
})
