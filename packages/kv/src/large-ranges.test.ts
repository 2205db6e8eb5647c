// Test: the deletion of a large range gives the right result, whether its rows are in memory, in a write, or
// stored.

import { type Random, seededRandom } from '@latchkey/base'
import { COMMAND_BUDGET, type Command, OP, READ, STEP } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import type { KvMachine } from './key-value-state-machine.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import { memoryLevelStorage } from './storage/memory-level-storage.js'
import type { RowStore } from './storage/row-store-interface.js'
import { hashOfRows } from './testing/apply-entries-and-hash-rows.js'
import { World, k } from './testing/state-machine-with-own-log.js'

const KEYS = 1_500
const name = (i: number) => `k${String(i).padStart(5, '0')}`
const key = (i: number) => k(name(i))

/** Counts the ranges that were not removed key by key. */
const large = { count: 0 }

type Model = Map<string, string>

const some = (random: Random, most: number) => {
  const from = random.between(0, KEYS)
  const count = Math.min(KEYS - from, random.between(1, most))
  return Array.from({ length: count }, (_, i) => from + i)
}

/** Draws a command, applies it to the model, and returns it with its expected answer. */
function draw(random: Random, model: Model, round: number): [Command, unknown] {
  if (random.chance(0.25)) {
    const wide = random.chance(0.7)
    const [a, b] = [random.between(0, wide ? 200 : KEYS), random.between(wide ? 1_200 : 0, KEYS)].sort(
      (x, y) => x - y,
    )
    const gone = [...model.keys()].filter((one) => one >= name(a as number) && one < name(b as number))
    for (const one of gone) model.delete(one)
    if (gone.length >= 500) large.count++
    return [[OP.deleteRange, null, key(a as number), key(b as number)], gone.length]
  }
  const keys = some(random, random.chance(0.3) ? 5 : 1_200)
  if (random.chance(0.3)) {
    const removed = keys.filter((i) => model.delete(name(i))).length
    return [[OP.deleteAll, null, keys.map(key)], removed]
  }
  for (const i of keys) model.set(name(i), `${round}/${i}`)
  return [[OP.putAll, null, keys.map((i) => [key(i), k(`${round}/${i}`)] as const)], undefined]
}

function valuesOf(machine: KvMachine): Model {
  const all = Array.from({ length: KEYS }, (_, i) => i)
  const values = machine.read([READ.multiGet, all.map(key)]) as (Uint8Array | null)[]
  return new Map(
    all.flatMap((i) => {
      const value = values[i]
      return value ? [[name(i), Buffer.from(value).toString()] as const] : []
    }),
  )
}

const sorted = (model: Model) => JSON.stringify([...model].sort(([a], [b]) => (a < b ? -1 : 1)))

test('A12: a random workload, written at random moments, and read again after restarts', async () => {
  for (let seed = 0; seed < 3; seed++) {
    const random = seededRandom(`ranges ${seed}`)
    const storage = new SimulatedRowStorage()
    const limits = { events: 2_000, eventBytes: 200_000 }
    const [w, never] = [
      await World.open({ storage, limits }),
      await World.open({ limits: { ...limits, flushMillis: 1e9, flushBytes: 1e9, overlayBytes: 1e9 } }),
    ]
    const model: Model = new Map()
    for (let round = 0; round < 30; round++) {
      const commands = Array.from({ length: random.between(1, 4) }, (_, i) =>
        draw(random, model, round * 10 + i),
      )
      const answers = await w.run(...commands.map(([command]) => command))
      for (const [i, [, answer]] of commands.entries())
        if (answer !== undefined) expect(answers[i]).toBe(answer)
      expect(await never.run(...commands.map(([command]) => command))).toEqual(answers)
      expect(sorted(valuesOf(w.machine))).toBe(sorted(model))
      expect(w.machine.stateHash()).toEqual(never.machine.stateHash())
      // The batch is being written while the next entries are applied.
      if (random.chance(0.5)) void w.machine.flush()
      if (random.chance(0.1)) await w.restart()
    }
    await w.machine.flush()
    const { spaces } = w.machine.stateHash()
    const rows = await hashOfRows((await storage.open()) as RowStore)
    expect(rows['data']).toBe(spaces['data'])
    await w.restart()
    expect(sorted(valuesOf(w.machine))).toBe(sorted(model))
  }
  expect(large.count).toBeGreaterThan(10)
})

test('60,000 keys at once, written in slices as one batch; keys that are put later stay', async () => {
  const w = await World.open({ storage: memoryLevelStorage() })
  const put = async (from: number) => {
    const pairs = Array.from({ length: 10_000 }, (_, i) => [k(`x${from + i}`), k('v')] as const)
    await w.one([OP.putAll, null, pairs])
  }
  for (const from of [100_000, 110_000, 120_000, 130_000, 140_000, 150_000]) await put(from)
  await w.machine.flush()
  expect(
    await w.run(
      [OP.deleteRange, null, k('x'), k('y')],
      [OP.put, null, k('x100007'), k('again')],
      [OP.deleteRange, null, k('x'), k('y')],
      [OP.put, null, k('x120000'), k('last')],
    ),
  ).toEqual([60_000, expect.any(Number), 1, expect.any(Number)])
  await w.machine.flush()
  const [view, rows] = (await w.machine.read([READ.page, 0, false, null, null, false, 10, 'keys'])) as [
    number,
    [Uint8Array, null][],
  ]
  expect([view, rows.map(([one]) => Buffer.from(one).toString())]).toEqual([0, ['x120000']])
  await w.machine.close()
})

test('A15: a large range is read in several turns, however fast its pages come', async () => {
  let turns = 0
  const nextTurn = (run: () => void) => {
    turns++
    setImmediate(run)
  }
  const w = await World.open({ nextTurn })
  for (let from = 10_000; from < 40_000; from += 10_000)
    await w.one([
      OP.putAll,
      null,
      Array.from({ length: 10_000 }, (_, i) => [k(`x${from + i}`), k('v')] as const),
    ])
  await w.machine.flush()
  const before = turns
  expect(await w.one([OP.deleteRange, null, k('x'), k('y')])).toBe(30_000)
  expect(turns - before).toBeGreaterThanOrEqual(30)
  // All of its events are there, in order, in pieces that were encoded on the way.
  const told: string[] = []
  let upTo = 0
  const watch = w.machine.watch({ start: null, end: null }, 4, {
    events: (events, to) => {
      for (const [, type, key] of events) if (type === 1) told.push(Buffer.from(key).toString())
      upTo = to
    },
    over: (error) => {
      throw error
    },
  })
  watch.more(1_000_000)
  for (let i = 0; i < 100 && upTo < 4; i++) w.clock.advance(1)
  expect(told).toEqual(Array.from({ length: 30_000 }, (_, i) => `x${10_000 + i}`))
})

test('as a step of a batch a range has a limit of keys; beyond it nothing is changed', async () => {
  const w = await World.open({ limits: { budget: { ...COMMAND_BUDGET, rows: 21 } } })
  for (let i = 0; i < 21; i++) await w.one([OP.put, null, k(`x${i}`), k('')])
  const before = w.machine.revision
  const clear: Command = [OP.batch, null, [[STEP.deleteRange, k('x'), k('y')]]]
  const refusal = expect.stringMatching(
    /more than 21 rows.*Nothing was changed.*give a large range a deleteRange of its own/,
  )
  expect(await w.one(clear)).toEqual([expect.any(Number), refusal, false, false])
  expect(w.machine.revision).toBe(before)
  expect(await w.one([OP.deleteAll, null, [k('x5')]])).toBe(1)
  expect(await w.one(clear)).toEqual([before + 2, [20]])
  expect(await w.one([OP.deleteRange, null, k('a'), k('z')])).toBe(0)
})
