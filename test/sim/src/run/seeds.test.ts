// Test: a quick run of fixed seeds, and two equal runs of the same seed.

import { describe, expect, test } from 'vitest'
import { drawOptions, RAFT_WORKLOADS } from '../raft/options.js'
import { realModules } from '../raft/raft-modules.js'
import { run } from '../raft/run-seed.js'

const passes = async (seed: number, workload?: (typeof RAFT_WORKLOADS)[number]) => {
  const { verdict, law, message, hash } = await run(drawOptions(seed, workload), realModules)
  const replay = `npm run sim -- --seed ${seed}${workload === undefined ? '' : ` --workload ${workload}`}`
  expect(`${verdict} ${law} ${message}`.trim(), replay).toBe('pass')
  return hash
}

test('fixed seeds', async () => {
  for (let seed = 1; seed <= 50; seed++) await passes(seed)
})

describe('each workload', () => {
  test.each(RAFT_WORKLOADS)('%s', async (workload) => {
    for (let seed = 5_000; seed < 5_004; seed++) await passes(seed, workload)
  })
})

const hashOf = async (seed: number, mode = {}) => (await run(drawOptions(seed), realModules, mode)).hash

test('two runs of a seed are the same to the byte, in whatever order', async () => {
  const seeds = Array.from({ length: 12 }, (_, i) => 7_000 + i)
  const hashes = new Map<number, string>()
  for (const seed of seeds) hashes.set(seed, await hashOf(seed))
  for (const seed of [...seeds].reverse()) expect(await hashOf(seed)).toBe(hashes.get(seed))
  expect(new Set(hashes.values()).size).toBe(seeds.length)
})

test('a trace does not change what happens', async () => {
  expect(await hashOf(42, { trace: true })).toBe(await hashOf(42))
})

test('a fault left out leaves the other faults as they are', async () => {
  const options = drawOptions(11)
  const { faults } = await run(options, realModules)
  const some = faults.filter(({ number }) => number % 2 === 0)
  const half = await run(options, realModules, { faults: some })
  expect(half.faults).toEqual(some)
  expect(half.verdict).toBe('pass')
})
