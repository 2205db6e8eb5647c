// Test: watches of locks: all members make the same events from the same entries, even after restarts, and
// the history has a limited size.

import { seededRandom } from '@latchkey/base'
import {
  type EventResult,
  type LatchkeyError,
  LOCK_EVENT,
  type LockStateResult,
  OP,
  READ,
  WATCH_OF,
  type WatchOf,
  unpack,
} from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import type { KvMachine } from './key-value-state-machine.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import { applyAll, newMachine } from './testing/apply-entries-and-hash-rows.js'
import { drawWorkload } from './testing/random-commands.js'
import { World, k } from './testing/state-machine-with-own-log.js'

const EVERYTHING = { start: null, end: null }
const NAMES = new Map<number, string>(Object.entries(LOCK_EVENT).map(([name, number]) => [number, name]))

const shown = ([index, type, key, value]: EventResult): string =>
  `${index} ${NAMES.get(type)} ${Buffer.from(key).toString()} ${JSON.stringify(unpack(value as Uint8Array))}`

function follow(machine: KvMachine, from: number, told: string[], of: WatchOf = WATCH_OF.locks) {
  const over: LatchkeyError[] = []
  const sink = {
    events: (events: readonly EventResult[]) => void told.push(...events.map(shown)),
    over: (error: LatchkeyError) => void over.push(error),
  }
  machine.watch(EVERYTHING, from, sink, '', of).more(1_000_000)
  return over
}

describe('K60: all members send the same events of locks, and each event once', () => {
  test.each([1, 2, 3, 5, 6, 7, 8, 9])(
    'seed %s: one member runs through, the other one restarts',
    async (seed) => {
      const entries = drawWorkload(seed, 200)
      const steady = newMachine(new SimulatedRowStorage())
      await steady.open()
      const told: string[] = []
      follow(steady, 1, told)
      await applyAll(steady, entries)
      const random = seededRandom(`restarts ${seed}`)
      const storage = new SimulatedRowStorage()
      let other = newMachine(storage)
      await other.open()
      const toldByOther: string[] = []
      follow(other, 1, toldByOther)
      for (let at = 0; at < entries.length; ) {
        const slice = entries.slice(at, at + random.between(1, 20))
        await applyAll(other, slice)
        at += slice.length
        if (!random.chance(0.4)) continue
        await other.close()
        other = newMachine(storage)
        expect((await other.open())?.position.index).toBe(at)
        follow(other, at + 1, toldByOther)
      }
      expect(toldByOther).toEqual(told)
      expect(new Set(told.map((line) => line.split(' ')[1]))).toContain('expired')
    },
  )
})

const tryLock = (id: string, keepLease = false) =>
  [OP.tryLock, k('l'), null, keepLease, id, 1_000, 0, null, 0] as const

test('renewals are recorded while they are watched, and sent only to the watches that want them', async () => {
  const w = await World.open()
  const [plain, all] = [[] as string[], [] as string[]]
  follow(w.machine, 0, plain)
  await w.run(tryLock('me'), tryLock('me', true))
  follow(w.machine, 0, all, WATCH_OF.renewals)
  await w.run(tryLock('me', true))
  w.clock.advance(0)
  expect(plain.map((line) => line.split(' ')[1])).toEqual(['acquired'])
  expect(all.map((line) => line.split(' ')[1])).toEqual(['renewed'])
})

// Without this law: an election that begins to watch hears of the leaders of other elections.
test('K60: a watch of locks begins with the holds of its range, and with no hold that has ended', async () => {
  const w = await World.open()
  const held = (key: string, lease: number) =>
    [OP.tryLock, k(key), null, false, 'me', lease, 0, null, 0] as const
  await w.run(
    held('a/1', 60_000),
    held('a/2', 1_000),
    held('a/3', 60_000),
    held('b', 60_000),
    held('c', 60_000),
  )
  const holds = (start: string | null, end: string | null) => {
    const range = [start === null ? null : k(start), end === null ? null : k(end)] as const
    const [index, , rows] = w.machine.read([READ.lockState, ...range]) as LockStateResult
    expect(index).toBe(w.machine.position.index)
    return rows.map(([key, id]) => `${Buffer.from(key).toString()} ${id}`)
  }
  expect(holds(null, null)).toEqual(['a/1 me', 'a/2 me', 'a/3 me', 'b me', 'c me'])
  expect(holds('a/2', 'a/3')).toEqual(['a/2 me'])
  expect(holds('a/', 'a0')).toEqual(['a/1 me', 'a/2 me', 'a/3 me'])
  expect(holds('a/3', null)).toEqual(['a/3 me', 'b me', 'c me'])
  expect(holds(null, 'b')).toEqual(['a/1 me', 'a/2 me', 'a/3 me'])
  await w.tick(2_000)
  expect(holds('a/', 'a0')).toEqual(['a/1 me', 'a/3 me'])
})

test('the history is limited: a watch that is further behind ends with ERR_COMPACTED', async () => {
  const w = await World.open()
  for (let n = 0; n < 20; n++) {
    await w.run(
      ...Array.from({ length: 450 }, () => [
        tryLock('me'),
        [OP.release, k('l'), 'me', 0, true] as const,
      ]).flat(),
    )
  }
  const recent: string[] = []
  expect(() => follow(w.machine, 1, [])).toThrow('no longer reaches back')
  follow(w.machine, w.log.length, recent)
  w.clock.advance(0)
  expect(recent).toHaveLength(900)
})

test('the history is limited in bytes, too: a few hundred changes of locks with long texts', async () => {
  const w = await World.open()
  const [key, id] = [k('l'.repeat(4_000)), 'i'.repeat(4_000)]
  const acquire = [OP.tryLock, key, null, false, id, 1_000, 0, 'c'.repeat(4_000), 0] as const
  const release = [OP.release, key, id, 0, true] as const
  // 800 events, which have more than 8 MiB and are fewer than the most events.
  for (let n = 0; n < 40; n++) await w.run(...Array.from({ length: 10 }, () => [acquire, release]).flat())
  expect(() => follow(w.machine, 1, [])).toThrow('no longer reaches back')
  const recent: string[] = []
  follow(w.machine, w.log.length, recent)
  w.clock.advance(0)
  expect(recent).toHaveLength(20)
})
