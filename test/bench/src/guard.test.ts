// Test: how many entries, syncs and frames a thousand commands need under a fixed load. These counts are the
// same on every machine. A higher count is a regression, or a decision that must be written down here. The
// bench measures times.

import type { ClientStore } from '@latchkey/client'
import { expect, test } from 'vitest'
import { type Counts, CountedWorld } from './testing/counted-world.js'

const CALLERS = 256
const ROUNDS = 8
const VALUE = new Uint8Array(256).fill(120)

type Load = (store: ClientStore, caller: number) => Promise<void>

interface Case {
  readonly callers: number
  /** Of one caller. */
  readonly commands: number
  readonly run: Load
  /**
   * For a thousand commands; disks and network of all three members together. A tenth to a quarter over what
   * it was.
   */
  readonly most: Counts
}

const lockPairs: Load = async (store, caller) => {
  const lock = store.getDistributedLock(`lock/${caller}`, '10s')
  for (let i = 0; i < ROUNDS; i++) {
    expect(await lock.tryLock()).toBe(true)
    await lock.unlock()
  }
}
const puts: Load = async (store, caller) => {
  for (let i = 0; i < ROUNDS; i++) await store.put(`key/${caller}`, VALUE)
}
const putsOfOne: Load = async (store) => {
  for (let i = 0; i < 100; i++) await store.put('key/one', VALUE)
}

const CASES: Readonly<Record<string, Case>> = {
  'locks taken and released, 256 callers': {
    callers: CALLERS,
    commands: ROUNDS * 2,
    run: lockPairs,
    most: {
      ...{ entries: 5, syncs: 15, logBytes: 280_000, frames: 20, frameBytes: 170_000 },
      ...{ levelBatches: 2, levelBytes: 16_000 },
    },
  },
  'puts of 256 B, 256 callers': {
    callers: CALLERS,
    commands: ROUNDS,
    run: puts,
    most: {
      ...{ entries: 5, syncs: 15, logBytes: 1_000_000, frames: 18, frameBytes: 650_000 },
      ...{ levelBatches: 2, levelBytes: 1_800_000 },
    },
  },
  'puts of 256 B, one caller': {
    callers: 1,
    commands: 100,
    run: putsOfOne,
    most: {
      ...{ entries: 1_000, syncs: 3_200, logBytes: 2_600_000, frames: 4_200, frameBytes: 740_000 },
      ...{ levelBatches: 40, levelBytes: 1_800_000 },
    },
  },
}

async function costOf({ callers, commands, run }: Case): Promise<Counts> {
  const world = await CountedWorld.start()
  const store = await world.connect()
  const work = () => Promise.all(Array.from({ length: callers }, (_, caller) => run(store, caller)))
  const counts = await world.costOf(callers * commands, work)
  await world.close(store)
  return counts
}

test.each(Object.entries(CASES))('%s', async (_, load) => {
  const counts = await costOf(load)
  const over = (Object.keys(counts) as (keyof Counts)[]).filter((name) => counts[name] > load.most[name])
  expect(over, JSON.stringify(counts)).toEqual([])
  // What is not counted at all is not guarded.
  const nothing = (Object.keys(counts) as (keyof Counts)[]).filter((name) => counts[name] === 0)
  expect(nothing, JSON.stringify(counts)).toEqual([])
})

test('the same load costs the same, to the last byte', async () => {
  const load = CASES['locks taken and released, 256 callers'] as Case
  expect(await costOf(load)).toEqual(await costOf(load))
})

test('under 256 callers a member syncs its log less than once for twenty commands', async () => {
  const { syncs } = await costOf(CASES['locks taken and released, 256 callers'] as Case)
  expect(syncs / 3 / 1000).toBeLessThan(0.05)
})
