// Test: expired keys are removed at the right entry, never earlier, a limited number at once, and the same
// keys on every member.

import { type Command, type EventResult, OP, READ, STEP } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { SimulatedRowStorage } from '../storage/simulated-row-store.js'
import { newMachine } from '../testing/apply-entries-and-hash-rows.js'
import { codeOf, show } from '../testing/results-as-text.js'
import { MEMBERS, World, k } from '../testing/state-machine-with-own-log.js'
import { EXPIRED_AN_ENTRY } from './key-expiry.js'

let w: World
beforeEach(async () => {
  w = await World.open()
})

const put = (key: string, life?: number): Command =>
  life === undefined ? [OP.put, null, k(key), k('v')] : [OP.put, null, k(key), k('v'), life]
const isThere = (key: string): unknown => w.machine.read([READ.contains, k(key)])
const remaining = (key: string): unknown => (w.machine.read([READ.getEntry, k(key)]) as unknown[][])[1]?.[4]
/** [revision, type, key, value, previous value] of each event of the history. */
function told(from: number): unknown[] {
  const events: EventResult[] = []
  const watch = w.machine.watch({ start: null, end: null }, from, {
    events: (more) => void events.push(...more),
    over: (error) => {
      throw error
    },
  })
  watch.more(1e6)
  w.clock.advance(0)
  w.clock.advance(0)
  watch.close()
  return events.map((event) => show(event))
}

describe('ttl', () => {
  test('A19: a key is removed never before its time, and at the first entry of a tenth of a second after it', async () => {
    w.time = 1_000
    await w.one(put('a', 250))
    expect(w.machine.nextDeadline()).toBe(1_250)
    await w.tick(250)
    expect([isThere('a'), remaining('a')]).toEqual([true, 0])
    await w.tick(49)
    expect([isThere('a'), w.machine.nextDeadline()]).toEqual([true, 1_299])
    await w.tick(1)
    expect([isThere('a'), w.machine.nextDeadline()]).toEqual([false, 1_000 + 30_000])
  })

  test('the removal takes a revision of its own, and its event says why', async () => {
    await w.one(put('a', 100))
    await w.one(put('b', 100))
    await w.tick(300)
    expect(w.machine.revision).toBe(3)
    expect(told(3)).toEqual([
      [3, 2, 'a', null, 'v'],
      [3, 2, 'b', null, 'v'],
    ])
    await w.tick(300)
    expect(w.machine.revision).toBe(3)
  })

  test('A20: a put without a ttl ends the life of the put before; one with a ttl begins a new life', async () => {
    await w.one(put('a', 100))
    await w.one(put('a'))
    await w.one(put('b', 100))
    await w.one(put('b', 5_000))
    await w.tick(1_000)
    expect([isThere('a'), remaining('a'), isThere('b'), remaining('b')]).toEqual([
      true,
      undefined,
      true,
      4_000,
    ])
    await w.tick(5_000)
    expect([isThere('a'), isThere('b')]).toEqual([true, false])
  })

  const OTHER_PUTS: [string, Command][] = [
    ['putAll', [OP.putAll, null, [[k('a'), k('2')]]]],
    ['getAndPut', [OP.getAndPut, null, k('a'), k('2')]],
    ['compareAndPut', [OP.compareAndPutAll, null, [[k('a'), k('7'), k('2')]]]],
    ['a put of a batch', [OP.batch, null, [[STEP.put, k('a'), k('2')]]]],
    ['a put of a txn', [OP.txn, null, [], [[STEP.put, k('a'), k('2')]], []]],
  ]
  test.each(OTHER_PUTS)('A20: %s ends the life too', async (_, command) => {
    await w.one([OP.put, null, k('a'), k('7'), 100])
    await w.one(command)
    await w.tick(1_000)
    expect(show(w.machine.read([READ.get, k('a')]))).toBe('2')
  })

  const CHANGES: [string, Command][] = [
    ['increment', [OP.increment, null, k('a'), 1]],
    ['merge', [OP.merge, null, k('a'), k('1')]],
    ['an increment of a batch', [OP.batch, null, [[STEP.increment, k('a'), 1]]]],
  ]
  test.each(CHANGES)('%s keeps the life of the key', async (_, command) => {
    await w.one([OP.put, null, k('a'), k('7'), 500])
    await w.tick(200)
    await w.one(command)
    expect(remaining('a')).toBe(300)
    await w.tick(400)
    expect(isThere('a')).toBe(false)
  })

  test('in putAll, batch and txn; a get step shows the time that remains at its entry', async () => {
    await w.one([
      OP.putAll,
      null,
      [
        [k('a'), k('1'), 100],
        [k('b'), k('1')],
      ],
    ])
    await w.one([OP.batch, null, [[STEP.put, k('c'), k('1'), 100]]])
    const steps = [
      [STEP.put, k('d'), k('1'), 100],
      [STEP.get, k('d')],
      [STEP.get, k('b')],
    ] as const
    expect(show(await w.one([OP.txn, null, [], steps, []]))).toEqual([
      true,
      3,
      [true, [3, 3, 1, '1', 100], [1, 1, 1, '1']],
    ])
    await w.tick(1_000)
    expect(['a', 'b', 'c', 'd'].map(isThere)).toEqual([false, true, false, false])
  })

  test('touch gives an existing key a new life, without a revision and without an event', async () => {
    await w.run(put('a', 100), put('b'), put('c', 0))
    const { revision } = w.machine
    expect(await w.run(...['a', 'b', 'c', 'x'].map((key): Command => [OP.touch, null, k(key), 700]))).toEqual(
      [true, true, true, false],
    )
    expect([w.machine.revision, ...['a', 'b', 'c'].map(remaining)]).toEqual([revision, 700, 700, 700])
    await w.tick(600)
    expect(['a', 'b', 'c'].map(isThere)).toEqual([true, true, true])
    await w.tick(300)
    expect(['a', 'b', 'c'].map(isThere)).toEqual([false, false, false])
    expect(show(w.machine.read([READ.getEntry, k('a')]))).toBeNull()
  })

  test('touch under a guard that is not in force changes nothing', async () => {
    await w.one(put('a', 300))
    expect(codeOf(await w.one([OP.touch, [k('l'), 1], k('a'), 9_000]))).toBe('ERR_FENCED')
    expect(remaining('a')).toBe(300)
  })

  test('a key that is deleted, alone or in a range, leaves nothing behind that harms a later put of that key', async () => {
    await w.run(put('a', 200), put('b', 200), put('c', 200))
    await w.one([OP.deleteAll, null, [k('a')]])
    await w.one([OP.deleteRange, null, k('b'), k('d')])
    await w.run(put('a'), put('b'), put('c', 900))
    await w.tick(500)
    expect(['a', 'b', 'c'].map(isThere)).toEqual([true, true, true])
    expect(w.machine.stateHash().spaces.expiry?.startsWith('1-')).toBe(true)
    await w.tick(900)
    expect(['a', 'b', 'c'].map(isThere)).toEqual([true, true, false])
    expect(w.machine.stateHash().spaces.expiry?.startsWith('0-')).toBe(true)
  })

  test('versions go on when a key gets another life', async () => {
    for (const life of [undefined, 900, 0, 5_000, undefined]) await w.one(put('a', life))
    expect(show(w.machine.read([READ.getEntry, k('a')]))).toEqual([5, [1, 5, 5, 'v']])
  })
})

describe('a life that ends with a session', () => {
  const close = (session: number) =>
    w.answers([{ session, number: 0, done: 0, body: Uint8Array.of(0x91, 3) }])

  test('A21: the key is removed at the entry after the end of the session, whatever ended the session', async () => {
    await w.one(put('mine', 0))
    const other = await w.openSession(5_000)
    await w.answers([
      { session: other, number: 1, done: 0, body: Uint8Array.of(0x95, 10, 0xc0, 0xc4, 1, 0x61, 0xc4, 0, 0) },
    ])
    expect(['mine', 'a'].map(isThere)).toEqual([true, true])
    expect(remaining('a')).toBeUndefined()
    await close(other)
    expect(w.machine.nextDeadline()).toBe(-1)
    await w.tick(0)
    expect(['mine', 'a'].map(isThere)).toEqual([true, false])
    expect(told(3).at(-1)).toEqual([3, 3, 'a', null, ''])
    await w.tick(31_000)
    expect(isThere('mine')).toBe(false)
    expect(w.machine.stateHash().spaces.expiry).toMatch(/^0-/)
  })

  test('A20: a later put by any session, and a touch, separate the key from the session', async () => {
    await w.run(put('a', 0), put('b', 0), put('c', 0))
    const first = w.session
    w.session = await w.openSession()
    await w.run(put('a'), put('b', 60_000))
    await close(first)
    await w.tick(0)
    expect(['a', 'b', 'c'].map(isThere)).toEqual([true, true, false])
  })

  test('a session with keys of its own is not ended for a new session', async () => {
    w = await World.open({ limits: { sessions: 2, sessionIdleMillis: 10 } })
    await w.openSession()
    await w.one(put('a', 0))
    w.time += 5_000
    await w.openSession()
    await w.tick(0)
    expect(isThere('a')).toBe(true)
  })
})

describe('bounds', () => {
  const many = (count: number, life: number): Command => [
    OP.putAll,
    null,
    Array.from({ length: count }, (_, i) => [k(`k${String(i).padStart(5, '0')}`), k('v'), life] as const),
  ]

  test('A22: one entry removes a limited number of keys and the next entries go on, also for a session with many keys', async () => {
    for (const life of [100, 0]) {
      w = await World.open()
      const count = 2 * EXPIRED_AN_ENTRY + 7
      await w.one(many(count, life))
      if (life === 0)
        await w.answers([{ session: w.session, number: 0, done: 0, body: Uint8Array.of(0x91, 3) }])
      const left: number[] = []
      for (let i = 0; i < 4; i++) {
        await w.tick(i === 0 ? 300 : 0)
        const page = w.machine.read([READ.page, 0, false, null, null, false, 10_000, 'keys'])
        left.push(((await page) as unknown[][])[1]?.length as number)
      }
      expect(left).toEqual([EXPIRED_AN_ENTRY + 7, 7, 0, 0].map((rest) => Math.min(rest, 1_000)))
      expect(w.machine.revision).toBe(4)
    }
  })

  test('A22: of large values fewer are removed at once', async () => {
    const big = Buffer.alloc(300_000)
    for (let i = 0; i < 6; i++) await w.one([OP.put, null, k(`b${i}`), big, 100])
    await w.tick(300)
    expect(Array.from({ length: 6 }, (_, i) => isThere(`b${i}`))).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ])
    await w.tick(0)
    await w.tick(0)
    expect(isThere('b5')).toBe(false)
  })

  test('A23: a restart in the middle of a removal ends in the same state', async () => {
    await w.run(many(2 * EXPIRED_AN_ENTRY, 100), put('later', 3_000), put('mine', 0))
    await w.tick(300)
    await w.machine.flush()
    await w.restart()
    await w.tick(0)
    await w.tick(5_000)
    await w.tick(40_000)
    const other = newMachine(new SimulatedRowStorage(), {})
    await other.open()
    await other.apply(w.log, () => MEMBERS)
    expect(w.machine.stateHash()).toEqual(other.stateHash())
    expect([isThere('later'), isThere('mine')]).toEqual([false, false])
    expect(w.machine.stateHash().spaces.expiry).toMatch(/^0-/)
  })
})
