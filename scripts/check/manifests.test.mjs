// Test: a package.json that does not agree with the sources is refused, for each field.

import { expect, test } from 'vitest'
import { check, moduleOf } from './manifests.mjs'
import { sample } from './sample.mjs'

const good = {
  name: '@latchkey/base',
  version: '0.1.0',
  description: 'x',
  license: 'Apache-2.0',
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20.19' },
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
  files: ['dist'],
  dependencies: { ws: '^8' },
}
const problems = (manifest, extra = {}) =>
  check(
    sample({
      'package.json': { license: 'Apache-2.0', workspaces: ['packages/base'] },
      'packages/base/package.json': manifest,
      'packages/base/tsconfig.json': {},
      'packages/base/src/index.ts': "import { WebSocket } from 'ws/lib/x'\nimport { z } from 'node:fs'",
      ...extra,
    }),
  ).problems

test('a true manifest passes', () => {
  expect(problems(good)).toEqual([])
})

test.each([
  [{ license: 'MIT' }, '"license"'],
  [{ type: 'commonjs' }, '"type"'],
  [{ sideEffects: true }, '"sideEffects"'],
  [{ engines: { node: '>=18' } }, '"engines.node"'],
  [{ description: '' }, 'description'],
  [{ files: [] }, '"files"'],
  [{ exports: {} }, '"exports" needs'],
  [
    { exports: { '.': { default: './dist/index.js', types: './dist/index.d.ts' } } },
    '"types" must come first',
  ],
  [
    { exports: { ...good.exports, './x': { types: './dist/x.d.ts', default: './dist/index.js' } } },
    'src/x.ts is not there',
  ],
  [{ bin: { base: './bin/base.js' } }, '"bin" names'],
  [{ dependencies: {} }, "add 'ws'"],
  [{ dependencies: { ws: '^8', pino: '^10' } }, "nothing imports 'pino'"],
])('%j is refused', (change, message) => {
  expect(problems({ ...good, ...change })).toEqual([expect.stringContaining(message)])
})

test('a workspace that the root does not name, and a name without a workspace', () => {
  const found = problems(good, { 'package.json': { license: 'Apache-2.0', workspaces: ['packages/raft'] } })
  expect(found).toEqual([
    expect.stringContaining("add 'packages/base'"),
    expect.stringContaining("'packages/raft'"),
  ])
})

test('the module that a specifier belongs to', () => {
  expect(['ws', 'ws/x', '@a/b', '@a/b/c', './x', 'node:fs'].map(moduleOf)).toEqual([
    'ws',
    'ws',
    '@a/b',
    '@a/b',
    undefined,
    undefined,
  ])
})
