// Test: a lock file with a missing package, a registry address or an old copy of a manifest is refused, and
// complete-lock.mjs adds what is missing.

import { expect, test } from 'vitest'
import { completed } from '../complete-lock.mjs'
import { check, missing } from './lockfile.mjs'
import { sample } from './sample.mjs'

const manifest = { name: '@latchkey/base', dependencies: { ws: '^8' } }
const whole = {
  '': { name: 'x' },
  'packages/base': { dependencies: { ws: '^8' } },
  'node_modules/ws': { version: '8.0.0', dev: true, optionalDependencies: { 'ws-linux-x64-musl': '^1.2.3' } },
  'node_modules/ws-linux-x64-musl': { version: '1.2.3', optional: true },
}
const problems = (packages) =>
  check(sample({ 'package-lock.json': { packages }, 'packages/base/package.json': manifest })).problems

test('a whole lock passes', () => {
  expect(problems(whole)).toEqual([])
})

test('a hole is told, and mended', () => {
  const { 'node_modules/ws-linux-x64-musl': _, ...holed } = whole
  expect(problems(holed)).toEqual([
    expect.stringContaining("no entry for 'ws-linux-x64-musl', optional for node_modules/ws"),
  ])
  const mended = completed({ packages: holed })
  expect(missing(mended.packages)).toEqual([])
  expect(mended.packages['node_modules/ws-linux-x64-musl']).toEqual({
    version: '1.2.3',
    dev: true,
    optional: true,
    os: ['linux'],
    cpu: ['x64'],
    libc: ['musl'],
  })
})

test('an entry nested beside its asker counts', () => {
  const nested = {
    ...whole,
    'node_modules/ws/node_modules/deep': { optionalDependencies: { 'ws-linux-x64-musl': '1' } },
  }
  expect(missing(nested)).toEqual([])
})

test('an address and a stale copy of a manifest are refused', () => {
  const fetched = {
    ...whole,
    'node_modules/ws': { ...whole['node_modules/ws'], resolved: 'https://example.org/ws.tgz' },
  }
  expect(problems(fetched)).toEqual([expect.stringContaining('"resolved" address')])
  expect(problems({ ...whole, 'packages/base': {} })).toEqual([
    expect.stringContaining('has other "dependencies"'),
  ])
})
