import { defineConfig } from 'vitest/config'
import { alias, GO, poll } from './vitest.config.js'

// What needs Go, which scripts/go.sh finds or installs.
export default defineConfig({
  resolve: { alias },
  test: { include: [GO], testTimeout: 300_000, hookTimeout: 60_000, expect: { poll } },
})
