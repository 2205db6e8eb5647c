// Test: latchkey/testing as users use it: the examples with vitest, jest and node:test, and a process that
// ends by itself.

import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Without what the runner of this test tells its own processes. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|NODE_V8_COVERAGE|NODE_TEST|TEST$|NODE_ENV)/.test(name),
  ),
)
/** Both runners give a test 5 s, and a busy machine may need more to start three members. */
const PATIENT = '--testTimeout=60000'
const node = async (...args: string[]) => {
  const { stdout, stderr } = await run(process.execPath, args, { cwd: root, env, timeout: 100_000 })
  return stdout + stderr
}

test('the example with node:test', async () => {
  expect(await node('--test', '--test-reporter=tap', 'examples/testing-node-test/orders.test.mjs')).toMatch(
    /# pass 3\n/,
  )
})

test.each([
  ['as it stands', undefined],
  ['with fake timers from before the first import', { enableGlobally: true }],
])('the example with jest, %s', async (_, fakeTimers) => {
  const config = { rootDir: join(root, 'examples/testing-jest'), testMatch: ['**/*.test.mjs'], transform: {} }
  const out = await node(
    '--experimental-vm-modules',
    'node_modules/jest/bin/jest.js',
    PATIENT,
    ...(fakeTimers === undefined
      ? ['--rootDir', 'examples/testing-jest']
      : ['--config', JSON.stringify({ ...config, fakeTimers })]),
  )
  expect(out).toMatch(/Tests: +2 passed, 2 total/)
})

test('the example with vitest', async () => {
  const out = await node(
    'node_modules/vitest/vitest.mjs',
    'run',
    PATIENT,
    '--root',
    'examples/testing-vitest',
  )
  expect(out).toMatch(/3 passed/)
})

const MANY = `
  for (let i = 0; i < 20; i++) {
    const cluster = await testCluster({ clock: i % 2 === 0 ? 'real' : 'manual' })
    const remote = await cluster.connect()
    await remote.put('k', 'v')
    await cluster.stores.a.locks.acquire('k', { lease: '1h' })
    if (i % 3 === 0) await cluster.kill(await cluster.leader())
    await cluster.close()
  }
  // The last turn that was asked for is over.
  await new Promise((resolve) => setImmediate(resolve))
  const left = process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY|FS|Process)/.test(name))
  console.log('left: ' + left.join(', '))
`

test.each([
  ['import', `import { testCluster } from 'latchkey/testing'\n${MANY}`, '--input-type=module'],
  [
    'require',
    `const { testCluster } = require('latchkey/testing')\n;(async () => {${MANY}})()`,
    '--input-type=commonjs',
  ],
])('T9: 20 clusters leave nothing: the process ends by itself, %s', async (_, program, type) => {
  expect(await node('--no-warnings', type, '-e', program)).toBe('left: \n')
})

test('who imports latchkey gets nothing of the test cluster, nor of the daemon', () => {
  const source = join(root, 'packages/latchkey/src')
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file) || !existsSync(file)) return
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain("'@latchkey/daemon'")
    for (const [, from = ''] of text.matchAll(/from '(\.[^']+)'/g))
      visit(join(dirname(file), from).replace(/\.js$/, '.ts'))
  }
  visit(join(source, 'index.ts'))
  const names = [...seen].map((file) => relative(source, file))
  expect(names).toContain('open/open-member.ts')
  expect(names.filter((name) => name.startsWith('test-cluster/'))).toEqual([])
})
