import { defineConfig } from 'vitest/config'
import { alias, SERVERS, poll } from './vitest.config.js'

// The lock engines against real servers. One file at a time: some of them kill the server that all use.
export default defineConfig({
  resolve: { alias },
  test: {
    include: [SERVERS],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll },
    fileParallelism: false,
  },
})
