// Test: random calls on real stores give the same results as models of a few lines, for locks, sets,
// semaphores, elections, rotation, circles of flows, latches and barriers. `npm run models` makes 100,000
// steps with a new seed, and `npm test` makes a few with always the same seed. A failure prints the seed.

import { newId, seededRandom } from '@latchkey/base'
import type { Store } from '@latchkey/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testCluster } from '../test-cluster/index.js'
import { FlowRun } from './testing/models/random-deadlock-calls.js'
import { HeldRun, type World } from './testing/models/random-lock-and-semaphore-calls.js'
import { LatchAndBarrierRun } from './testing/models/random-latch-and-barrier-calls.js'

const IS_LONG = process.env.MODEL_STEPS !== undefined
const STEPS = Number(process.env.MODEL_STEPS ?? 3_000)
const SEED = process.env.MODEL_SEED ?? (IS_LONG ? newId() : 'short')
const KINDS = ['single', 'leader', 'follower', 'remote', 'all of them'] as const
type Kind = (typeof KINDS)[number]
/** Each with what a long run has met. */
const RULES = {
  'locks, semaphores, elections and sets': [HeldRun, 'granted after a wait', 'expired', 'ERR_ABORTED'],
  'circles of flows': [FlowRun, 'held', 'circle of one', 'circle of two'],
  'latches and barriers': [LatchAndBarrierRun, 'open', 'passed', 'ERR_TIMEOUT', 'ERR_ABORTED'],
} as const
/** Of each rule on each kind of store. */
const EACH = Math.ceil(STEPS / KINDS.length / Object.keys(RULES).length)

const opened = async () => {
  const [one, trio] = await Promise.all([
    testCluster({ members: 1, clock: 'manual' }),
    testCluster({ clock: 'manual' }),
  ])
  const leader = await trio.leader()
  const [follower, third] = trio.ids.filter((id) => id !== leader) as [typeof leader, typeof leader]
  const { stores } = trio
  const remote = await trio.connect()
  const of: Record<Kind, readonly Store[]> = {
    single: [one.stores.a],
    leader: [stores[leader]],
    follower: [stores[follower]],
    remote: [remote],
    'all of them': [stores[leader], stores[follower], stores[third], remote],
  }
  return { of, one, trio }
}

describe.each(KINDS)('%s', (kind) => {
  let clusters: Awaited<ReturnType<typeof opened>>
  beforeAll(async () => {
    clusters = await opened()
  })
  afterAll(() => Promise.all([clusters.one.close(), clusters.trio.close()]))

  test.each(Object.keys(RULES) as (keyof typeof RULES)[])(
    `%s do what the model does, MODEL_SEED=${SEED}`,
    async (rule) => {
      const [Run, ...met] = RULES[rule]
      const cluster = kind === 'single' ? clusters.one : clusters.trio
      const counts: Record<string, number> = {}
      const world: Omit<World, 'prefix'> = {
        stores: clusters.of[kind],
        random: seededRandom(`${SEED}/${rule}/${kind}`),
        advance: (ms) => cluster.advance(ms),
        count: (what) => {
          counts[what] = (counts[what] ?? 0) + 1
        },
      }
      let steps = 0
      for (let runs = 0; steps < EACH; runs++) {
        const run = new Run({ ...world, prefix: `${rule}/${runs}/` })
        for (let i = 0; i < 80 && steps < EACH; i++, steps++) if (!(await run.step())) break
        await run.end()
      }
      if (IS_LONG) console.log(kind, rule, steps, counts)
      expect(Object.keys(counts).length).toBeGreaterThan(2)
      if (IS_LONG) for (const what of met) expect(counts).toHaveProperty(what)
    },
    60_000 + EACH * 100,
  )
})
