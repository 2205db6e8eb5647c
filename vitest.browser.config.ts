import { defineConfig } from 'vitest/config'
import { alias, BROWSER, poll } from './vitest.config.js'

// The page in a real browser. One file at a time: some of them measure.
export default defineConfig({
  resolve: { alias },
  test: {
    include: [BROWSER],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll },
    fileParallelism: false,
  },
})
