// Driver: the test suite for lock engines. The suite has one test for each law, and tests for each capability
// that an engine declares. The suite needs only the function `test` of a test runner.

import assert from 'node:assert/strict'
import { newId } from '@latchkey/base'
import { capabilityTests } from './capability-tests.js'
import { holdTests } from './hold-tests.js'
import { operatorTests } from './query-and-watch-tests.js'
import type { Register, Scene, SuiteClient, SuiteFactory, SuiteOptions, SuiteTest } from './suite-types.js'
import { waitTests } from './wait-tests.js'

export type { SuiteClient, SuiteFactory, SuiteOptions, SuiteTest } from './suite-types.js'

const DEFAULTS: SuiteOptions = { poll: '500ms', patience: '5s' }

/**
 * Registers the tests. Allow each test a minute, although most tests take a second.
 * ```ts
 * import { test } from 'node:test'
 * engineSuite(test, async ({ poll, patience }) => postgresLocks({ pool, poll, patience }))
 * ```
 */
export function engineSuite(test: SuiteTest, factory: SuiteFactory): void {
  const register: Register = (name, run) => void test(name, () => inScene(factory, run))
  register('the client has all the calls and capabilities of an engine', async (scene) => {
    const made = await scene.client()
    const { capabilities } = made
    const { locks } = made
    assert.deepEqual(
      [typeof locks.acquire, typeof made.getDistributedLock, typeof made.close],
      ['function', 'function', 'function'],
    )
    for (const [name, values] of Object.entries(VALUES))
      assert.ok(
        values.includes(capabilities[name as keyof typeof VALUES]),
        `capabilities.${name} must be one of ${values.join(', ')}; it is ${capabilities[name as keyof typeof VALUES]}`,
      )
  })
  holdTests(register)
  waitTests(register)
  operatorTests(register)
  capabilityTests(register)
}

const VALUES: Readonly<Record<keyof SuiteClient['capabilities'], readonly string[]>> = {
  fencing: ['enforced', 'told', 'none'],
  queue: ['fair', 'unfair'],
  wakeUp: ['push', 'poll'],
  survives: ['failover', 'restart', 'nothing'],
  time: ['server', 'cluster', 'client'],
}

async function inScene(factory: SuiteFactory, run: (scene: Scene) => Promise<void>): Promise<void> {
  const clients: SuiteClient[] = []
  const client = async (options: Partial<SuiteOptions> = {}) => {
    const made = await factory({ ...DEFAULTS, ...options })
    clients.push(made)
    return made
  }
  try {
    await run({ key: `suite/${newId()}`, client })
  } finally {
    await Promise.all(clients.map((one) => one.close()))
  }
}
