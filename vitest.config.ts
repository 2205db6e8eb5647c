import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const tests = fileURLToPath(new URL('./test/', import.meta.url))
const packages = fileURLToPath(new URL('./packages/', import.meta.url))

// Tests read the sources, so that no build stands between an edit and its test.
const alias = [
  { find: /^@latchkey\/([a-z]+)$/, replacement: `${packages}$1/src/index.ts` },
  { find: /^@latchkey\/([a-z]+)\/([a-z-]+)$/, replacement: `${packages}$1/src/$2/index.ts` },
  { find: /^@latchkey\/test-([a-z]+)\/([a-z-]+)$/, replacement: `${tests}$1/src/$2.ts` },
  { find: /^latchkey\/testing$/, replacement: `${packages}latchkey/src/test-cluster/index.ts` },
  { find: /^latchkey$/, replacement: `${packages}latchkey/src/index.ts` },
]

/** Two at a time on any machine: what waits for a clock leaves the core to another, and no run is busier than the smallest. */
const project = (name: string, include: string[], testTimeout = 10_000) => ({
  resolve: { alias },
  test: { name, include, testTimeout, hookTimeout: 30_000, maxWorkers: 2, sequence: { groupOrder: 0 } },
})

/** Real processes: after everything else. */
const processes = (name: string, testTimeout: number) => {
  const { resolve, test } = project(name, [`test/${name}/src/**/*.test.ts`], testTimeout)
  return { resolve, test: { ...test, sequence: { groupOrder: 1 } } }
}

export default defineConfig({
  test: {
    projects: [
      ...['base', 'protocol', 'raft', 'lock', 'kv', 'client', 'level', 'latchkey'].map((name) =>
        project(name, [`packages/${name}/src/**/*.test.ts`]),
      ),
      project('scripts', ['scripts/**/*.test.mjs'], 60_000),
      project('sim', ['test/sim/src/**/*.test.ts'], 120_000),
      processes('chaos', 120_000),
      processes('e2e', 120_000),
      project('bench', ['test/bench/src/**/*.test.ts'], 60_000),
    ],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'], exclude: ['**/*.test.ts'] },
  },
})
