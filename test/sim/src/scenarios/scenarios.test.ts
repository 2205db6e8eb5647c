// Test: every directed scenario, with all laws watching.

import { expect, test } from 'vitest'
import { realCore } from '../run/load-core.js'
import { scenarios } from './all.js'
import { play } from './scenario.js'

test.each(scenarios.map((scenario) => [scenario.title, scenario] as const))('%s', (_, scenario) => {
  expect(() => play(scenario, realCore)).not.toThrow()
})
