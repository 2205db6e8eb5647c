// Test: each rule about floors refuses a wrong sample and accepts a right one.

import { expect, test } from 'vitest'
import { check } from './floors.mjs'
import { sample } from './sample.mjs'

const problems = (texts) => check(sample(texts)).problems

test.each([
  [
    'a lower floor imports a higher',
    'packages/base/src/a.ts',
    "import { x } from '@latchkey/protocol'",
    'base may import no other package',
  ],
  [
    'neighbours',
    'packages/client/src/a.ts',
    "import { x } from '@latchkey/kv'",
    'client may import base, protocol, lock',
  ],
  [
    'client never sees raft',
    'packages/client/src/a.ts',
    "import type { x } from '@latchkey/raft/node'",
    'client may import',
  ],
  [
    'kv takes a value of raft',
    'packages/kv/src/a.ts',
    "import { x } from '@latchkey/raft/node'",
    'types of raft only',
  ],
  [
    'everybody below the composition',
    'packages/level/src/a.ts',
    "import { open } from 'latchkey'",
    'level may import',
  ],
  [
    'relative path out of the package',
    'packages/lock/src/a.ts',
    "import { x } from '../../base/src/a.js'",
    'leaves the package',
  ],
  [
    'relative path out, in a test',
    'packages/lock/src/a.test.ts',
    "import { x } from '../../base/src/a.js'",
    'leaves the package',
  ],
  ['a test library in a source', 'packages/lock/src/a.ts', "import { x } from 'vitest'", 'only tests'],
  [
    'a native module elsewhere',
    'packages/client/src/a.ts',
    "import { ClassicLevel } from 'classic-level'",
    'belongs to kv alone',
  ],
  [
    'core names node',
    'packages/raft/src/core/a.ts',
    "import { x } from 'node:fs'",
    'decides, and may not name it',
  ],
  [
    'core names the vocabulary',
    'packages/raft/src/core/a.ts',
    "import { x } from '@latchkey/protocol'",
    'may not name it',
  ],
  [
    'core names more of base',
    'packages/raft/src/core/a.ts',
    "import { assert, Emitter } from '@latchkey/base'",
    'not Emitter',
  ],
  [
    'core names its neighbour',
    'packages/raft/src/core/a.ts',
    "import { x } from '../wal/a.js'",
    'own files only',
  ],
  [
    'lock rules name the objects',
    'packages/lock/src/rules/a.ts',
    "import { x } from '../holding/a.js'",
    'a higher floor',
  ],
  [
    'wal and net are neighbours',
    'packages/raft/src/wal/a.ts',
    "import { x } from '../net/a.js'",
    'its neighbour',
  ],
  [
    'the log knows the loop',
    'packages/raft/src/wal/a.ts',
    "import { x } from '../node/a.js'",
    'a higher floor',
  ],
  [
    'member knows the door',
    'packages/latchkey/src/member/a.ts',
    "import { x } from '../http/a.js'",
    'a higher floor',
  ],
  [
    'the sidecar knows the command',
    'packages/latchkey/src/sidecar/a.ts',
    "import { x } from '../cli/a.js'",
    'a higher floor',
  ],
])('%s', (_, path, text, message) => {
  expect(problems({ [path]: text })).toEqual([expect.stringContaining(message)])
})

test.each([
  [
    'packages/raft/src/core/a.ts',
    "import { assert, type Random } from '@latchkey/base'\nimport { x } from './types.js'",
  ],
  [
    'packages/kv/src/a.ts',
    "import type { Machine } from '@latchkey/raft/node'\nimport { x } from '@latchkey/lock'",
  ],
  ['packages/kv/src/a.ts', "import { ClassicLevel } from 'classic-level'\nimport { x } from 'node:fs'"],
  [
    'packages/raft/src/node/a.ts',
    "import { x } from '../wal/index.js'\nimport { y } from '../core/index.js'",
  ],
  [
    'packages/latchkey/src/cli/a.ts',
    "import { x } from '../open/index.js'\nimport { y } from '@latchkey/raft'",
  ],
  ['packages/lock/src/holding/a.ts', "import { x } from '../rules/index.js'"],
  ['packages/kv/src/rules/a.ts', "import type { Entry } from '@latchkey/raft/core'"],
  ['packages/lock/src/a.test.ts', "import { test } from 'vitest'\nimport { open } from 'latchkey'"],
  ['test/sim/src/a.ts', "import { x } from '@latchkey/raft'"],
])('%s may say %j', (path, text) => {
  expect(problems({ [path]: text })).toEqual([])
})

test('a circle of files is told once, with its way', () => {
  const texts = {
    'packages/base/src/a.ts': "import { b } from './b.js'",
    'packages/base/src/b.ts': "import { C } from './c.js'",
    'packages/base/src/c.ts': "import { a } from './a.js'",
    'packages/base/src/d.ts': "import { a } from './a.js'",
  }
  const found = problems(texts)
  expect(found).toEqual([
    expect.stringContaining('a.ts -> packages/base/src/b.ts -> packages/base/src/c.ts -> '),
  ])
})

test('a circle of types is one too', () => {
  const texts = {
    'packages/base/src/a.ts': "import { b } from './b.js'",
    'packages/base/src/b.ts': "import type { A } from './a.js'",
  }
  expect(problems(texts)).toEqual([expect.stringContaining('a circle of imports')])
})

test('a rule may use rules elsewhere in its package, not what acts', () => {
  const rule = "import { x } from '../state/a.js'"
  const path = 'packages/kv/src/rules/a.ts'
  expect(problems({ [path]: rule, 'packages/kv/src/state/a.ts': '// Rule: rows' })).toEqual([])
  expect(problems({ [path]: rule, 'packages/kv/src/state/a.ts': '// Driver: the disk' })).toEqual([
    expect.stringContaining('packages/kv/src/state/a.ts acts'),
  ])
})

test('what only tests are built from may use any floor', () => {
  const text = "import { x } from '../../memory/index.js'"
  expect(problems({ 'packages/raft/src/node/testing/a.ts': text })).toEqual([])
  expect(problems({ 'packages/raft/src/node/deep/a.ts': text })).toHaveLength(1)
})

test('an import of compiled output whose source was renamed', () => {
  const text = "import { x } from '../packages/base/dist/a.js'"
  expect(problems({ 'scripts/b.mjs': text, 'packages/base/src/a.ts': '' })).toEqual([])
  expect(problems({ 'scripts/b.mjs': text, 'packages/base/src/renamed.ts': '' })).toEqual([
    "scripts/b.mjs:1: imports '../packages/base/dist/a.js', but there is no packages/base/src/a.ts",
  ])
})
