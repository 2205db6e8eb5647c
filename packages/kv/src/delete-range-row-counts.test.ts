// Test: a deleteRange gives the same result with and without an earlier count of its keys, whatever changes
// between the count and the command.

import { type Random, seededRandom } from '@latchkey/base'
import { type Command, OP, STEP, encodeCommand } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { GatedStorage } from './testing/row-store-paused-by-tests.js'
import { hashOfRows } from './testing/apply-entries-and-hash-rows.js'
import { World, k } from './testing/state-machine-with-own-log.js'

const KEYS = 900
const name = (i: number) => `k${String(i).padStart(5, '0')}`
const LIMITS = { events: 100, eventBytes: 20_000 }
const range = (from: number, to: number): Command => [OP.deleteRange, null, k(name(from)), k(name(to))]

function draw(random: Random): Command {
  const key = () => k(name(random.between(0, KEYS)))
  const chance = random.between(0, 100) / 100
  if (chance < 0.6) return [OP.put, null, key(), k('v'.repeat(random.between(0, 20)))]
  if (chance < 0.75) return [OP.deleteAll, null, [key(), key()]]
  if (chance < 0.95)
    return [
      OP.batch,
      null,
      [
        [STEP.merge, key(), k('m')],
        [STEP.delete, key()],
      ],
    ]
  const from = random.between(0, KEYS)
  return range(from, from + random.between(0, 30))
}

const fill = (count: number): Command => [
  OP.putAll,
  null,
  Array.from({ length: count }, (_, i) => [k(name(i)), k(`first ${i}`)] as const),
]

test('A12, A15: rows that change during a survey are counted as they are in the end', async () => {
  let used = 0
  for (let seed = 0; seed < 8; seed++) {
    const random = seededRandom(`survey ${seed}`)
    const storage = new GatedStorage()
    const w = await World.open({ storage, limits: LIMITS })
    const plain = await World.open({ limits: LIMITS })
    const both = async (...commands: Command[]) => {
      const answers = await w.run(...commands)
      expect(await plain.run(...commands)).toEqual(answers)
      expect(w.machine.stateHash()).toEqual(plain.machine.stateHash())
      return answers
    }
    for (let round = 0; round < 4; round++) {
      await both(fill(KEYS))
      if (random.chance(0.6)) await w.machine.flush()
      for (let i = random.between(0, 20); i > 0; i--) await both(draw(random))
      const command = range(random.between(0, 50), random.between(KEYS - 50, KEYS + 50))
      storage.holdPages()
      const surveyed = w.machine.survey(encodeCommand(command))
      for (let i = random.between(0, 20); i > 0; i--) {
        const drawn = draw(random)
        if (drawn[0] === OP.deleteRange) continue
        await both(drawn)
        if (random.chance(0.2)) void w.machine.flush()
      }
      storage.letPages()
      await surveyed
      for (let i = random.between(0, 10); i > 0; i--) await both(draw(random))
      if (random.chance(0.2)) await w.machine.flush()
      // With a survey nothing has to be read: the command is answered although no page can be read.
      storage.holdPages()
      let done = false
      const applying = both(command).then(() => {
        done = true
      })
      for (let turn = 0; turn < 20 && !done; turn++) await new Promise((resolve) => setImmediate(resolve))
      if (done) used++
      storage.letPages()
      await applying
      await both(draw(random), range(0, KEYS))
    }
    await w.machine.flush()
    const { spaces } = w.machine.stateHash()
    const store = await storage.open()
    if (store === undefined) throw new Error('no store')
    expect((await hashOfRows(store))['data']).toBe(spaces['data'])
    await w.machine.close()
  }
  expect(used).toBeGreaterThan(12)
})

test('a survey belongs to its own state, has a limit of changes, and is not used for events that the history keeps', async () => {
  const w = await World.open({ limits: LIMITS })
  expect(w.machine.survey(encodeCommand([OP.put, null, k('a'), k('b')]))).toBeUndefined()
  expect(w.machine.survey(Uint8Array.of(1, 2, 3))).toBeUndefined()
  await w.one(fill(50))
  await w.machine.survey(encodeCommand(range(0, KEYS)))
  const events: unknown[] = []
  const watch = w.machine.watch({ start: null, end: null }, 2, {
    events: (some) => events.push(...some),
    over: () => {},
  })
  watch.more(1_000)
  expect(await w.one(range(0, KEYS))).toBe(50)
  w.clock.advance(1)
  expect(events.length).toBe(50)
  // Too many keys have changed, so the range is read again.
  await w.one(fill(KEYS))
  await w.machine.survey(encodeCommand(range(0, 90_000)))
  for (let i = 0; i < 3; i++)
    await w.one([
      OP.putAll,
      null,
      Array.from({ length: 900 }, (_, n) => [k(name(2_000 + i * 900 + n)), k('')] as const),
    ])
  expect(await w.one(range(0, 90_000))).toBe(KEYS + 2_700)
  // A survey whose command never comes ends by itself, and another large deleteRange in its range ends it
  // too.
  await w.one(fill(KEYS))
  await w.machine.survey(encodeCommand(range(0, KEYS)))
  expect(await w.one(range(0, KEYS + 1))).toBe(KEYS)
  expect(await w.one(range(0, KEYS))).toBe(0)
  w.clock.advance(60_000)
})

test('a survey that becomes useless while it runs makes room for later surveys', async () => {
  const storage = new GatedStorage()
  const w = await World.open({ storage, limits: LIMITS })
  await w.one(fill(KEYS))
  for (let round = 0; round < 10; round++) {
    await w.machine.flush()
    storage.holdPages()
    const surveyed = w.machine.survey(encodeCommand(range(0, 90_000)))
    expect(surveyed, `round ${round}`).toBeDefined()
    // The member counts no more than 2,000 keys that change during a survey.
    for (let part = 0; part < 3; part++)
      await w.one([
        OP.putAll,
        null,
        Array.from({ length: 900 }, (_, i) => [k(name(2_000 + part * 900 + i)), k('')] as const),
      ])
    storage.letPages()
    await surveyed
  }
  expect(await w.one(range(0, 90_000))).toBe(KEYS + 2_700)
})
