import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const tests = fileURLToPath(new URL('./test/', import.meta.url))
const packages = fileURLToPath(new URL('./packages/', import.meta.url))

/** Tests that need servers, which `npm run test:engines` starts: vitest.servers.config.ts. */
export const SERVERS = '**/*.servers.test.ts'

/** Tests that need a browser, which `npm run test:browser` finds or installs: vitest.browser.config.ts. */
export const BROWSER = '**/*.browser.test.ts'

/** Tests that need Go, which `npm run test:go` finds or installs: vitest.go.config.ts. */
export const GO = '**/*.go.test.ts'

// Tests read the sources, so that no build stands between an edit and its test.
export const alias = [
  { find: /^@latchkey\/([a-z]+)$/, replacement: `${packages}$1/src/index.ts` },
  { find: /^@latchkey\/([a-z]+)\/([a-z-]+)$/, replacement: `${packages}$1/src/$2/index.ts` },
  { find: /^@latchkey\/test-([a-z]+)\/([a-z-]+)$/, replacement: `${tests}$1/src/$2.ts` },
  { find: /^latchkey\/testing$/, replacement: `${packages}latchkey/src/test-cluster/index.ts` },
  { find: /^latchkey$/, replacement: `${packages}latchkey/src/index.ts` },
]

/**
 * How long `expect.poll` waits. Vitest's own value is one second, and a machine that stands still for a second
 * would fail tests that use it.
 */
export const poll = { timeout: 20_000 }

/**
 * Three at a time on any machine: most tests wait for clocks and other processes, and leave their core to another. With two, two cores
 * were busy for two fifths of the time.
 */
const project = (name: string, include: string[], testTimeout = 60_000) => ({
  resolve: { alias },
  test: {
    name,
    include,
    exclude: [...configDefaults.exclude, SERVERS, BROWSER, GO],
    testTimeout,
    hookTimeout: 60_000,
    expect: { poll },
    maxWorkers: 3,
    sequence: { groupOrder: 0 },
  },
})

/** Real processes: after everything else. The time limits only end a test that hangs. */
const processes = (name: string) => {
  const { resolve, test } = project(name, [`test/${name}/src/**/*.test.ts`], 300_000)
  return { resolve, test: { ...test, hookTimeout: 200_000, sequence: { groupOrder: 1 } } }
}

const PACKAGES = [
  ...['base', 'protocol', 'raft', 'lock', 'kv', 'client', 'level', 'daemon', 'latchkey'],
  ...['locks', 'postgres', 'redis', 'etcd'],
]

export default defineConfig({
  test: {
    projects: [
      ...PACKAGES.map((name) => project(name, [`packages/${name}/src/**/*.test.ts`])),
      project('scripts', ['scripts/**/*.test.mjs']),
      // A simulated run has limits of its own, so the time limit only ends a test that hangs.
      project('sim', ['test/sim/src/**/*.test.ts'], 900_000),
      processes('chaos'),
      processes('e2e'),
      project('bench', ['test/bench/src/**/*.test.ts']),
    ],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'], exclude: ['**/*.test.ts'] },
  },
})
