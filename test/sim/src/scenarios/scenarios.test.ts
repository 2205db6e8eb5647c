// Test: every directed scenario gives its demanded results, and breaks no law.

import { expect, test } from 'vitest'
import { realModules } from '../raft/raft-modules.js'
import { scenarios } from './all.js'
import { play } from './scenario.js'

test.each(scenarios.map((scenario) => [scenario.title, scenario] as const))('%s', async (_, scenario) => {
  expect((await play(scenario, realModules)).message).toBe('')
})
