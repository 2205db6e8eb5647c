// Test: watches: they start at a revision, keep the order, and have no gap and no repeat. Also: compaction,
// slow readers, restarts, and a change to another member (C11).

import { seededRandom } from '@latchkey/base'
import { type EventResult, type LatchkeyError, OP, STEP } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Watch } from './kv-store-types.js'
import { show } from './testing/results-as-text.js'
import { World, k } from './testing/state-machine-with-own-log.js'

interface Seen {
  readonly events: unknown[]
  readonly upTo: number[]
  readonly over: LatchkeyError[]
  readonly watch: Watch
}

let w: World
beforeEach(async () => {
  w = await World.open({ limits: { events: 10, eventBytes: 2_000, watches: 5 } })
})

const EVERYTHING = { start: null, end: null }
function watch(
  from: number,
  range: { start: Uint8Array | null; end: Uint8Array | null } = EVERYTHING,
  world = w,
): Seen {
  const seen = { events: [] as unknown[], upTo: [] as number[], over: [] as LatchkeyError[] }
  const opened = world.machine.watch(range, from, {
    events: (events, upTo) => {
      seen.events.push(...events.map(show))
      seen.upTo.push(upTo)
    },
    over: (error) => void seen.over.push(error),
  })
  return { ...seen, watch: opened }
}
const put = (key: string, value: string) => [OP.put, null, k(key), k(value)] as const
const served = (seen: Seen, credit: number) => {
  seen.watch.more(credit)
  w.clock.advance(0)
  w.clock.advance(0)
}
const revisions = (seen: Seen) => seen.events.map((event) => (event as unknown[])[0])

test('the lag is that of the slowest watch: of the revisions that it has not read', async () => {
  const lags = () => w.machine.figures.watchLags
  expect(lags()).toEqual({ keys: 0, locks: 0, renewals: 0 })
  const [slow, fast] = [watch(0), watch(0)]
  served(fast, 100)
  for (let i = 0; i < 4; i++) await w.run(put('k', `${i}`))
  served(fast, 100)
  expect([revisions(fast).length, lags().keys]).toEqual([4, 4])
  served(slow, 3)
  expect(lags().keys).toBe(1)
  slow.watch.close()
  expect([lags(), w.machine.figures.watches]).toEqual([{ keys: 0, locks: 0, renewals: 0 }, 1])
})

// Without this law: a member with one watch that waits uses a whole core.
test('watches that have all events, or want no more, plan nothing for a later turn', async () => {
  const before = w.clock.armed
  const [reads, slow] = [watch(0), watch(0)]
  served(reads, 100)
  served(slow, 1)
  for (let i = 0; i < 3; i++) await w.run(put('k', `${i}`))
  for (let turn = 0; turn < 10; turn++) w.clock.advance(0)
  expect([revisions(reads).length, revisions(slow).length, w.clock.armed - before]).toEqual([3, 1, 0])
  served(slow, 100)
  for (let turn = 0; turn < 10; turn++) w.clock.advance(0)
  expect([revisions(slow).length, w.clock.armed - before]).toEqual([3, 0])
})

test('events that were sent do not change, whatever is written later', async () => {
  const world = await World.open()
  const told: EventResult[] = []
  const watch = world.machine.watch(EVERYTHING, 0, {
    events: (events) => void told.push(...events),
    over: () => {},
  })
  watch.more(1_000_000)
  world.clock.advance(0)
  for (let i = 0; i < 100; i++) {
    await world.run(...Array.from({ length: 32 }, (_, n) => put('k', `${i}/${n}`)))
    await world.machine.flush()
  }
  const values = Array.from({ length: 3_200 }, (_, n) => `${Math.floor(n / 32)}/${n % 32}`)
  expect(told.map((event) => (show(event) as unknown[])[3])).toEqual(values)
})

describe('which events are sent', () => {
  test('put, delete, previous value; a batch in the order of its operations, with one revision; a deleteRange with one event for each key', async () => {
    const seen = watch(0)
    served(seen, 100)
    await w.run(put('b', '1'), put('a', '1'))
    await w.one([
      OP.batch,
      null,
      [
        [STEP.put, k('b'), k('2')],
        [STEP.delete, k('a')],
        [STEP.put, k('a'), k('3')],
      ],
    ])
    await w.one([OP.deleteRange, null, k('a'), k('z')])
    expect(seen.events).toEqual([
      [1, 0, 'b', '1', null],
      [2, 0, 'a', '1', null],
      [3, 0, 'b', '2', '1'],
      [3, 1, 'a', null, '1'],
      [3, 0, 'a', '3', null],
      [4, 1, 'a', null, '3'],
      [4, 1, 'b', null, '2'],
    ])
    expect(seen.upTo.at(-1)).toBe(4)
  })

  test('no events for commands that change nothing, for locks and for sequences', async () => {
    const seen = watch(0)
    served(seen, 100)
    await w.run(
      [OP.deleteAll, null, [k('a')]],
      [OP.nextSequence, null, k('a'), 1],
      [OP.tryLock, k('a'), null, false, 'me', 1_000, 0, null, null],
    )
    expect(seen.events).toEqual([])
  })

  test('a range includes its start and not its end', async () => {
    const seen = watch(0, { start: k('b'), end: k('d') })
    served(seen, 100)
    await w.run(put('a', ''), put('b', ''), put('c', ''), put('d', ''))
    expect(revisions(seen)).toEqual([2, 3])
  })

  test('`from` is included; 0 begins after the current revision; a future revision is waited for', async () => {
    await w.run(put('a', '1'), put('a', '2'), put('a', '3'))
    const [two, now, future] = [watch(2), watch(0), watch(6)]
    for (const seen of [two, now, future]) served(seen, 100)
    await w.run(put('a', '4'), put('a', '5'), put('a', '6'))
    expect(revisions(two)).toEqual([2, 3, 4, 5, 6])
    expect(revisions(now)).toEqual([4, 5, 6])
    expect(revisions(future)).toEqual([6])
  })

  test('a watch that its owner closed gets nothing more; one that is closed with the store gets ERR_CLOSED', async () => {
    const [one, two] = [watch(0), watch(0)]
    for (const seen of [one, two]) served(seen, 100)
    one.watch.close()
    await w.one(put('a', '1'))
    expect([one.events.length, two.events.length]).toEqual([0, 1])
    await w.machine.close()
    expect(two.over.map(({ code }) => code)).toEqual(['ERR_CLOSED'])
    expect(one.over).toEqual([])
  })
})

describe('C11: history', () => {
  test('by count: the oldest revisions are dropped, and a watch that needs them ends with ERR_COMPACTED', async () => {
    const slow = watch(0)
    for (let i = 1; i <= 12; i++) await w.one(put('a', String(i)))
    expect(() => watch(2)).toThrow(expect.objectContaining({ code: 'ERR_COMPACTED' }))
    const reaches = watch(3)
    served(reaches, 100)
    expect(revisions(reaches)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(slow.over.map(({ code }) => code)).toEqual(['ERR_COMPACTED'])
    expect(slow.events).toEqual([])
  })

  test('by bytes; a revision is dropped as a whole', async () => {
    await w.one([OP.putAll, null, ['a', 'b', 'c'].map((key) => [k(key), new Uint8Array(300)] as const)])
    await w.one([OP.put, null, k('d'), new Uint8Array(900)])
    watch(1)
    await w.one([OP.put, null, k('e'), new Uint8Array(900)])
    expect(() => watch(1)).toThrow('begins at revision 2')
    expect(() => watch(2)).not.toThrow()
  })

  test('a revision that is too large for the history drops all before it', async () => {
    await w.one(put('a', '1'))
    const seen = watch(0)
    served(seen, 100)
    await w.one([OP.putAll, null, Array.from({ length: 11 }, (_, i) => [k(`k${i}`), k('')] as const)])
    expect(seen.over.map(({ code }) => code)).toEqual(['ERR_COMPACTED'])
    const after = watch(0)
    served(after, 100)
    await w.one(put('a', '2'))
    expect(revisions(after)).toEqual([3])
  })

  test('the history survives a restart and is the same at every member', async () => {
    for (let i = 1; i <= 15; i++) await w.one(put('a', String(i)))
    const before = watch(7)
    served(before, 100)
    await w.restart()
    await w.one([
      OP.batch,
      null,
      [
        [STEP.put, k('a'), new Uint8Array(700)],
        [STEP.put, k('b'), new Uint8Array(700)],
      ],
    ])
    const after = watch(8)
    served(after, 100)
    expect(revisions(before).slice(-1)).toEqual([15])
    expect(revisions(after)).toEqual([8, 9, 10, 11, 12, 13, 14, 15, 16, 16])
    const other = await World.open({ limits: { events: 10, eventBytes: 2_000 } })
    other.log.length = 0
    await other.machine.apply(w.log.slice(1), () => ({
      voters: [],
      outgoing: [],
      learners: [],
      learnersNext: [],
      peers: {},
    }))
    expect(other.machine.stateHash().spaces['events']).toBe(w.machine.stateHash().spaces['events'])
  })
})

describe('back-pressure', () => {
  test('nothing is sent without credit; then as much as the credit allows, and never a part of a revision', async () => {
    const seen = watch(0)
    await w.run(put('a', '1'), put('a', '2'))
    await w.one([
      OP.putAll,
      null,
      [
        [k('a'), k('3')],
        [k('b'), k('3')],
        [k('c'), k('3')],
      ],
    ])
    await w.one(put('a', '4'))
    expect(seen.events).toEqual([])
    served(seen, 1)
    expect(revisions(seen)).toEqual([1])
    served(seen, 2)
    expect(revisions(seen)).toEqual([1, 2, 3, 3, 3])
    served(seen, 2)
    expect(revisions(seen)).toEqual([1, 2, 3, 3, 3])
    served(seen, 1)
    expect(revisions(seen)).toEqual([1, 2, 3, 3, 3, 4])
  })

  test('a watch without matching events gets the revision that it has reached', async () => {
    w = await World.open()
    const seen = watch(0, { start: k('x'), end: null })
    served(seen, 1)
    for (let i = 0; i < 1_100; i++) await w.one(put('a', ''))
    expect(seen.events).toEqual([])
    expect(seen.upTo).toEqual([1_024])
  })

  test('a long history is sent in several turns, in order', async () => {
    w = await World.open()
    for (let i = 0; i < 2_000; i++) await w.one(put('a', ''))
    const seen = watch(1)
    seen.watch.more(5_000)
    w.clock.advance(0)
    expect(seen.events.length).toBe(512)
    for (let i = 0; i < 5; i++) w.clock.advance(0)
    expect(revisions(seen)).toEqual(Array.from({ length: 2_000 }, (_, i) => i + 1))
  })

  test('A18: for any number of watches from old revisions one turn reads a limited number of events; the watches alternate, and all catch up', async () => {
    const world = await World.open()
    for (let i = 0; i < 20; i++)
      await world.run(...Array.from({ length: 50 }, (_, n) => put(`${i}/${n}`, 'v')))
    const far = Array.from({ length: 30 }, () => watch(1, EVERYTHING, world))
    for (const { watch: one } of far) one.more(1_000_000)
    const told = () => far.reduce((sum, { events }) => sum + events.length, 0)
    let before = 0
    let turns = 0
    for (; told() < 30_000 && turns < 1_000; turns++) {
      world.clock.advance(0)
      // Each revision counts, and each of its events.
      expect(told() - before).toBeLessThanOrEqual(2_100)
      before = told()
      if (turns === 8) expect(far.every(({ events }) => events.length > 0)).toBe(true)
    }
    expect(turns).toBeLessThan(30)
    for (const seen of far) expect(revisions(seen)).toEqual(Array.from({ length: 1_000 }, (_, i) => i + 1))
  })

  test('watches that are up to date get the same events as watches that read the history, for random watches', async () => {
    for (let seed = 1; seed <= 15; seed++) {
      const random = seededRandom(`watches ${seed}`)
      w = await World.open({ limits: { watches: 100 } })
      const key = () => k('abcd'.charAt(random.between(0, 4)) + '012'.charAt(random.between(0, 3)))
      const bound = () => (random.chance(0.3) ? null : k('abcde'.charAt(random.between(0, 5))))
      const all: { range: { start: Uint8Array | null; end: Uint8Array | null }; from: number; seen: Seen }[] =
        []
      const credits = new Map<Seen, number>()
      for (let step = 0; step < 150; step++) {
        const chance = random.between(0, 100)
        if (chance < 12 && all.length < 40) {
          const range = { start: bound(), end: bound() }
          const from = w.machine.revision + 1
          all.push({ range, from, seen: watch(random.chance(0.5) ? 0 : from, range) })
        } else if (chance < 40 && all.length > 0) {
          const { seen } = random.pick(all)
          const credit = random.between(1, 20)
          credits.set(seen, (credits.get(seen) ?? 0) + credit)
          seen.watch.more(credit)
        } else if (chance < 50) w.clock.advance(0)
        else if (chance < 90) await w.run(put(key().toString(), `${step}`))
        else
          await w.one([
            OP.putAll,
            null,
            [...new Set([key(), key()].map(String))].map((one) => [k(one), k('')] as const),
          ])
        // Never more events than were allowed, except for the rest of a revision.
        for (const { seen } of all) expect(seen.events.length).toBeLessThan((credits.get(seen) ?? 0) + 2)
      }
      for (const { seen } of all) seen.watch.more(10_000)
      for (let i = 0; i < 3; i++) w.clock.advance(0)
      for (const { range, from, seen } of all) {
        const alone = watch(from, range)
        served(alone, 10_000)
        expect(seen.events, `seed ${seed}`).toEqual(alone.events)
        expect(seen.upTo).toEqual([...seen.upTo].sort((a, b) => a - b))
        alone.watch.close()
      }
      await w.machine.close()
    }
  })

  test('watches with the same range get the same list object', async () => {
    const lists: (readonly unknown[])[] = []
    for (let i = 0; i < 3; i++) {
      const sink = { events: (events: readonly unknown[]) => void lists.push(events), over: () => {} }
      w.machine.watch({ start: k('a'), end: k('b') }, 0, sink).more(100)
    }
    w.clock.advance(0)
    await w.run(put('a', '1'), put('z', '1'), put('a', '2'))
    expect(lists.length).toBe(3)
    expect(lists[0]).toHaveLength(2)
    expect(new Set(lists).size).toBe(1)
  })

  test('a sink that throws ends its watch, and no other watch notices', async () => {
    const bad = w.machine.watch(EVERYTHING, 0, {
      events: () => {
        throw new Error('sink')
      },
      over: () => {
        throw new Error('again')
      },
    })
    bad.more(10)
    const good = watch(0)
    served(good, 10)
    expect(await w.run(put('a', '1'), put('a', '2'))).toEqual([1, 2])
    expect(revisions(good)).toEqual([1, 2])
  })

  test('C35: one client may open only a share of the watches, so that others can watch', async () => {
    const world = await World.open({ limits: { watches: 5, watchesOfOne: 3 } })
    const sink = { events: () => {}, over: () => {} }
    const open = (by: string) => world.machine.watch({ start: null, end: null }, 0, sink, by)
    const mine = [open('greedy'), open('greedy'), open('greedy')]
    expect(() => open('greedy')).toThrow(expect.objectContaining({ code: 'ERR_BUSY' }))
    open('modest')
    mine[0]?.close()
    mine[0]?.close()
    open('greedy')
    expect(() => open('greedy')).toThrow(expect.objectContaining({ code: 'ERR_BUSY' }))
    open('modest')
    expect(() => open('third')).toThrow(expect.objectContaining({ code: 'ERR_BUSY' }))
  })

  test('too many watches: ERR_BUSY', () => {
    for (let i = 0; i < 5; i++) watch(0)
    expect(() => watch(0)).toThrow(expect.objectContaining({ code: 'ERR_BUSY' }))
  })
})
