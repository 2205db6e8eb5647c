// Test: latches and barriers in the state machine: the order of work in an entry (CT3), restarts, deadlines,
// pushes, and limits.

import { CAPS, type Command, OP, READ } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { Parties } from './state/latches-and-barriers.js'
import { emptyMeta } from './state/meta-row.js'
import { World, k, record } from './testing/state-machine-with-own-log.js'

let w: World
let told: unknown[]
beforeEach(async () => {
  told = []
  w = await World.open({
    ended: (session, [of, name, id], [state, generation, index]) =>
      told.push([session, of, Buffer.from(name).toString(), id, state, generation, index]),
  })
})

const wait = (id: string, ms = 0): Command => [OP.waitLatch, k('l'), id, ms]
const enter = (id: string, parties: number, ms = 0): Command => [OP.enterBarrier, k('b'), id, parties, ms]
const look = (of: 0 | 1, id: string) => w.machine.read([READ.party, of, k(of === 0 ? 'l' : 'b'), id])

describe('through the log', () => {
  test('the end of each wait is pushed to its session, once, in the order of arrival', async () => {
    const other = await w.openSession()
    await w.one([OP.createLatch, k('l'), 1])
    await w.one(wait('a'))
    await w.answers([record(other, 1, wait('b'))])
    await w.one([OP.countDown, k('l'), 1])
    expect(told).toEqual([
      [w.session, 0, 'l', 'a', 'passed', 0, 0],
      [other, 0, 'l', 'b', 'passed', 0, 0],
    ])
    await w.one([OP.countDown, k('l'), 1])
    expect(told).toHaveLength(2)
  })

  test('CT3: a wait is over at the first entry behind its time, and before the commands of that entry', async () => {
    await w.one(enter('a', 2, 1_000))
    await w.tick(1_000)
    expect(look(1, 'a')).toEqual(['waiting', 1, 0, 1])
    expect(w.machine.nextDeadline()).toBe(w.time)
    w.time += 1
    expect(await w.one(enter('b', 2))).toEqual(['waiting', 1, 0, 1])
    expect(look(1, 'a')).toEqual(['unknown', 0, 0, 1])
    expect(told).toEqual([])
  })

  test('K72, CT3: the time of a session is over: the others hear it in the entry that ends it', async () => {
    const dying = await w.openSession(2_000)
    await w.answers([record(dying, 1, enter('a', 3))])
    await w.one(enter('b', 3))
    await w.tick(2_001)
    expect(told).toEqual([
      [dying, 1, 'b', 'a', 'broken', 1, 0],
      [w.session, 1, 'b', 'b', 'broken', 1, 0],
    ])
    expect(await w.one(enter('c', 2))).toEqual(['waiting', 2, 0, 1])
  })

  test('K72: an administrator ends the session of a party', async () => {
    const other = await w.openSession()
    await w.answers([record(other, 1, enter('a', 2))])
    await w.one(enter('b', 2))
    told = []
    await w.answers([record(other, 2, enter('c', 3))])
    await w.one(enter('d', 3))
    await w.raw([record(0, 0, [OP.endSession, other])])
    expect(told).toEqual([
      [other, 1, 'b', 'c', 'broken', 2, 0],
      [w.session, 1, 'b', 'd', 'broken', 2, 0],
    ])
    expect(look(1, 'c')).toEqual(['unknown', 0, 0, 0])
  })

  test('an idle session that waits at a latch does not give way to a new one', async () => {
    w = await World.open({ limits: { sessions: 2, sessionIdleMillis: 100 } })
    const waiting = await w.openSession(3_600_000)
    await w.one([OP.createLatch, k('l'), 1])
    await w.answers([record(waiting, 1, wait('a'))])
    await w.tick(10_000)
    await w.one([OP.keepAlive])
    expect(await w.openSession()).toMatch('as many sessions as it can keep')
    expect(look(0, 'a')).toEqual(['waiting', 0, 0, 1])
  })

  test('D2: all of it is there after a restart, with the same hash', async () => {
    await w.one([OP.createLatch, k('l'), 2])
    await w.one([OP.createLatch, k('gone'), 2])
    await w.one(wait('a', 5_000))
    await w.one(enter('p', 2))
    await w.one(enter('q', 2))
    await w.one(enter('r', 2, 9_000))
    await w.one([OP.removeLatch, k('gone')])
    await w.machine.flush()
    await w.one([OP.countDown, k('l'), 1])
    const before = w.machine.stateHash()
    const deadline = w.machine.nextDeadline()
    await w.restart()
    expect(w.machine.stateHash()).toEqual(before)
    expect(w.machine.nextDeadline()).toBe(deadline)
    expect(w.machine.openSessions.partyCounts).toEqual({
      latches: 1,
      barriers: 1,
      atLatches: 1,
      atBarriers: 1,
    })
    expect([look(0, 'a'), look(1, 'p'), look(1, 'r')]).toEqual([
      ['waiting', 0, 0, 1],
      ['passed', 1, 0, 1],
      ['waiting', 2, 0, 1],
    ])
    told = []
    expect(await w.one(enter('s', 2))).toEqual(['passed', 2, 1, 0])
    expect(await w.one([OP.countDown, k('l'), 1])).toBe(0)
    expect(told.map((one) => (one as unknown[]).slice(3))).toEqual([
      ['r', 'passed', 2, 0],
      ['a', 'passed', 0, 0],
    ])
  })
})

describe('the caps', () => {
  const tables = () => new Parties(emptyMeta())

  test('one latch more than may be is refused; one that is there is not', () => {
    const parties = tables()
    for (let i = 0; i < CAPS.latches; i++) parties.putLatch(k(`l${i}`), 1)
    expect(parties.putLatch(k('more'), 1)).toBe(false)
    expect(parties.putLatch(k('l7'), 0)).toBe(true)
    parties.deleteLatch(k('l8'))
    expect(parties.putLatch(k('more'), 1)).toBe(true)
  })

  test('the barrier that was used longest ago gives way, unless somebody waits there', () => {
    const parties = tables()
    const row = (i: number) => ({ name: k(`b${i}`), over: 0, parties: 2, used: parties.nextArrival() })
    for (let i = 0; i < CAPS.barriers; i++) expect(parties.putBarrier(row(i))).toBe(true)
    parties.putBarrier(row(0))
    const ticket = { of: 1 as const, id: 'me', session: 1, deadline: 0, generation: 1, index: 0 }
    parties.putParty({ ...ticket, name: k('b1'), arrival: parties.nextArrival(), state: 'waiting' })
    expect(parties.putBarrier(row(CAPS.barriers))).toBe(true)
    expect([0, 1, 2, 3].map((i) => parties.barrier(k(`b${i}`)) !== undefined)).toEqual([
      true,
      true,
      false,
      true,
    ])
  })

  test('parties of one and of all', () => {
    const parties = tables()
    let id = 0
    const come = (name: string, count: number) => {
      for (let i = 0; i < count; i++)
        parties.putParty({
          of: 0,
          name: k(name),
          id: `${id++}`,
          arrival: parties.nextArrival(),
          session: 1,
          deadline: 0,
          state: 'waiting',
          generation: 0,
          index: 0,
        })
    }
    come('one', CAPS.partiesOfOne)
    expect([parties.hasRoom(0, k('one')), parties.hasRoom(0, k('other'))]).toEqual([false, true])
    for (let at = CAPS.partiesOfOne; at < CAPS.parties; at += CAPS.partiesOfOne)
      come(`more ${at}`, CAPS.partiesOfOne)
    expect(parties.hasRoom(0, k('other'))).toBe(false)
  })
})
