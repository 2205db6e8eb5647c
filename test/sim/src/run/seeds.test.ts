// Test: fixed seeds, fresh seeds, and the same run twice.

import { randomInt } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { drawOptions, PROFILES } from '../swarm/options.js'
import { realCore } from './load-core.js'
import { run } from './run.js'

const passes = (seed: number, profile?: (typeof PROFILES)[number]) => {
  const { verdict, law, message, hash } = run(drawOptions(seed, profile), realCore)
  const replay = `npm run sim -- --seed ${seed}${profile === undefined ? '' : ` --profile ${profile}`}`
  expect(`${verdict} ${law} ${message}`.trim(), replay).toBe('pass')
  return hash
}

test('fixed seeds', () => {
  for (let seed = 1; seed <= 50; seed++) passes(seed)
})

test('fresh seeds', () => {
  const first = randomInt(1, 2 ** 31)
  for (let seed = first; seed < first + 10; seed++) passes(seed)
})

describe('each profile', () => {
  test.each(PROFILES)('%s', (profile) => {
    for (let seed = 5_000; seed < 5_004; seed++) passes(seed, profile)
  })
})

test('two runs of a seed are the same to the byte, in whatever order', () => {
  const seeds = Array.from({ length: 12 }, (_, i) => 7_000 + i)
  const hashes = seeds.map((seed) => run(drawOptions(seed), realCore).hash)
  const again = [...seeds].reverse().map((seed) => run(drawOptions(seed), realCore).hash)
  expect(again.reverse()).toEqual(hashes)
  expect(new Set(hashes).size).toBe(seeds.length)
})

test('a trace does not change what happens', () => {
  const options = drawOptions(42)
  expect(run(options, realCore, { trace: true }).hash).toBe(run(options, realCore).hash)
})

test('a fault left out leaves the other faults as they are', () => {
  const options = drawOptions(11)
  const { faults } = run(options, realCore)
  const some = faults.filter(({ number }) => number % 2 === 0)
  const half = run(options, realCore, { faults: some })
  expect(half.faults).toEqual(some)
  expect(half.verdict).toBe('pass')
})
