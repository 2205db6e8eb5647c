// Test: each row of the tables in countdown-latches.ts, barriers.ts and latch-and-barrier-waits.ts. Then
// random steps are compared with a model of plain arrays.

import { type Random, seededRandom, utf8 } from '@latchkey/base'
import { OP, PARTY_OF, type PartyResult } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { BARRIERS_FULL, LATCHES_FULL, PARTIES_FULL } from '../commands/answer-encoding.js'
import { emptyMeta } from '../state/meta-row.js'
import { Parties } from '../state/latches-and-barriers.js'
import { MapParties, PartyModel } from '../testing/latch-and-barrier-model.js'
import { WorkOfTurn } from './work-limit-per-event-loop-turn.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'
import { enterBarrier } from './barriers.js'
import { countDown, createLatch, removeLatch, waitLatch } from './countdown-latches.js'
import { endParties, expireParties, leaveParties, moveParty } from './latch-and-barrier-waits.js'
import { partyOf } from './end-latch-and-barrier-waits.js'
import type { PartyTransaction } from './latch-and-barrier-tables.js'

const { latch: LATCH, barrier: BARRIER } = PARTY_OF
const L = utf8('l')

function finish<T>(work: WorkInTurns<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

/** The rules with short names, at one time. */
class Calls {
  readonly tx: PartyTransaction
  now = 1_000
  constructor(tx: PartyTransaction) {
    this.tx = tx
  }
  create = (count: number, name = L) => createLatch(this.tx, [OP.createLatch, name, count])
  down = (by = 1, name = L) => finish(countDown(this.tx, new WorkOfTurn(), [OP.countDown, name, by]))
  remove = (name = L) => finish(removeLatch(this.tx, new WorkOfTurn(), [OP.removeLatch, name]))
  wait = (id: string, wait = 0, session = 1, name = L) =>
    waitLatch(this.tx, this.now, session, [OP.waitLatch, name, id, wait])
  enter = (id: string, parties: number, wait = 0, session = 1, name = L) =>
    finish(
      enterBarrier(this.tx, new WorkOfTurn(), this.now, session, [OP.enterBarrier, name, id, parties, wait]),
    )
  leave = (of: 0 | 1, id: string, name = L) => leaveParties(this.tx, [[of, name, id]])[0]
  look = (of: 0 | 1, id: string, name = L) => partyOf(this.tx, of, name, id)
}

let tx: MapParties
let c: Calls
beforeEach(() => {
  tx = new MapParties()
  c = new Calls(tx)
})
const told = () => tx.told.map(({ id, state, generation, index }) => [id, state, generation, index])

describe('latches, row by row', () => {
  test('create: none: true; is there: false, and it stays as it is', () => {
    expect(c.create(2)).toBe(true)
    expect(c.create(9)).toBe(false)
    expect(tx.latch(L)).toBe(2)
  })
  test('create: no room for another: ERR_BUSY', () => {
    tx.namedRoom = 0
    expect(c.create(2)).toBe(LATCHES_FULL)
  })
  test('K71: countDown: none: null; more: the rest; the last: 0 and all who wait pass; open: 0', () => {
    expect(c.down()).toBeNull()
    c.create(3)
    expect(c.wait('a')).toEqual(['waiting', 0, 0, 3])
    expect(c.wait('b')).toEqual(['waiting', 0, 0, 3])
    expect(c.down(2)).toBe(1)
    expect(told()).toEqual([])
    expect(c.down(9)).toBe(0)
    expect(told()).toEqual([
      ['a', 'passed', 0, 0],
      ['b', 'passed', 0, 0],
    ])
    expect(c.down()).toBe(0)
    expect(told()).toHaveLength(2)
  })
  test('wait: none: absent; open: passed, and no party is kept', () => {
    expect(c.wait('a')).toEqual(['absent', 0, 0, 0])
    c.create(0)
    expect(c.wait('a')).toEqual(['passed', 0, 0, 0])
    expect(tx.parties).toEqual([])
  })
  test('wait: more, no room: ERR_BUSY; but one that waits already may ask again, and keeps its arrival', () => {
    c.create(1)
    c.wait('a', 500)
    tx.room = 1
    expect(c.wait('b')).toBe(PARTIES_FULL)
    expect(c.wait('a', 0, 2)).toEqual(['waiting', 0, 0, 1])
    expect(tx.parties).toMatchObject([{ id: 'a', arrival: 1, session: 2, deadline: 0 }])
  })
  test('K70: a wait that has an end keeps it, whatever becomes of the latch', () => {
    c.create(1)
    c.wait('a')
    c.down()
    expect(c.remove()).toBe(true)
    expect(c.wait('a')).toEqual(['passed', 0, 0, 0])
    expect(c.create(5)).toBe(true)
    expect(c.look(LATCH, 'a')).toEqual(['passed', 0, 0, 5])
    expect(c.leave(LATCH, 'a')).toEqual(['passed', 0, 0, 5])
    expect(c.look(LATCH, 'a')).toEqual(['unknown', 0, 0, 5])
  })
  test('remove: none: false; is there: true, and all who wait hear it', () => {
    expect(c.remove()).toBe(false)
    c.create(1)
    c.wait('a')
    c.wait('b')
    expect(c.remove()).toBe(true)
    expect(told()).toEqual([
      ['a', 'removed', 0, 0],
      ['b', 'removed', 0, 0],
    ])
    expect(tx.latch(L)).toBeUndefined()
  })
})

describe('barriers, row by row', () => {
  test('K73: nobody waits, one party: it passes at once, each time in the next generation', () => {
    expect(c.enter('a', 1)).toEqual(['passed', 1, 0, 0])
    expect(c.enter('b', 1)).toEqual(['passed', 2, 0, 0])
    expect(tx.parties).toEqual([])
  })
  test('K73: nobody passes before all are in; then all of them, in the order of their arrival', () => {
    expect(c.enter('a', 3)).toEqual(['waiting', 1, 0, 1])
    expect(c.enter('b', 3)).toEqual(['waiting', 1, 0, 2])
    expect(told()).toEqual([])
    expect(c.enter('c', 3)).toEqual(['passed', 1, 2, 0])
    expect(told()).toEqual([
      ['a', 'passed', 1, 0],
      ['b', 'passed', 1, 1],
    ])
    expect(c.enter('d', 2)).toEqual(['waiting', 2, 0, 1])
  })
  test('some wait for another number: mismatch with theirs, and nothing changes', () => {
    c.enter('a', 3)
    expect(c.enter('b', 2)).toEqual(['mismatch', 1, 0, 3])
    expect(tx.parties).toHaveLength(1)
  })
  test('one that waits already may ask again, also from another session', () => {
    c.enter('a', 3, 100)
    expect(c.enter('a', 3, 0, 2)).toEqual(['waiting', 1, 0, 1])
    expect(tx.parties).toMatchObject([{ session: 2, deadline: 0, arrival: 2 }])
  })
  test('no room for a party, or for another barrier: ERR_BUSY', () => {
    tx.room = 0
    expect(c.enter('a', 2)).toBe(PARTIES_FULL)
    expect(c.enter('a', 1)).toEqual(['passed', 1, 0, 0])
    tx.namedRoom = 1
    expect(c.enter('a', 2, 0, 1, utf8('other'))).toBe(BARRIERS_FULL)
  })
  test('K72: a session ends: the others hear it in that entry, and the next generation has another number', () => {
    c.enter('a', 3, 0, 1)
    c.enter('b', 3, 0, 2)
    endParties(tx, 1)
    expect(told()).toEqual([
      ['a', 'broken', 1, 0],
      ['b', 'broken', 1, 0],
    ])
    expect(c.look(BARRIER, 'a')).toEqual(['unknown', 0, 0, 0])
    expect(c.enter('c', 2)).toEqual(['waiting', 2, 0, 1])
    expect(c.enter('b', 3)).toEqual(['broken', 1, 0, 1])
    expect(c.enter('d', 2)).toEqual(['passed', 2, 1, 0])
  })
  test('K72: two parties of the session that ends break one generation, not two', () => {
    c.enter('a', 4, 0, 1)
    c.enter('b', 4, 0, 2)
    c.enter('c', 4, 0, 1)
    endParties(tx, 1)
    expect(tx.parties.map(({ id, state }) => [id, state])).toEqual([['b', 'broken']])
    expect(c.enter('d', 2)).toEqual(['waiting', 2, 0, 1])
  })
  test('K72: a session whose party has passed, or waits at a latch, breaks nothing', () => {
    c.enter('a', 2, 0, 1)
    c.enter('b', 2, 0, 2)
    c.enter('c', 2, 0, 3)
    c.create(1)
    c.wait('w', 0, 1)
    tx.told = []
    endParties(tx, 1)
    expect([told(), tx.parties.map(({ id }) => id)]).toEqual([[], ['c']])
  })
  test('who leaves, or whose wait is over, breaks nothing: its place may be taken again', () => {
    c.enter('a', 3, 100)
    c.enter('b', 3)
    c.enter('c', 3, 50)
    expect(told()).toHaveLength(2)
    tx.told = []
    c.enter('d', 3, 100)
    c.enter('e', 3)
    expireParties(tx, 1_100)
    expect(tx.parties.filter(({ state }) => state === 'waiting')).toHaveLength(2)
    expireParties(tx, 1_101)
    expect(c.leave(BARRIER, 'e')).toEqual(['waiting', 2, 0, 1])
    expect(c.leave(BARRIER, 'e')).toEqual(['unknown', 0, 0, 0])
    expect(told()).toEqual([])
    expect(c.enter('f', 2)).toEqual(['waiting', 2, 0, 1])
  })
  test('a party is moved to another session: that one takes it out, the old one does not', () => {
    c.enter('a', 3, 0, 1)
    c.enter('b', 3, 0, 2)
    expect(moveParty(tx, 7, [BARRIER, L, 'a'])).toEqual(['waiting', 1, 0, 2])
    expect(moveParty(tx, 7, [BARRIER, L, 'x'])).toEqual(['unknown', 0, 0, 2])
    endParties(tx, 1)
    expect(told()).toEqual([])
    endParties(tx, 7)
    expect(told()).toEqual([
      ['a', 'broken', 1, 0],
      ['b', 'broken', 1, 0],
    ])
  })
})

test('the end of many waits is cut into turns, and each turn is short', () => {
  c.create(1)
  for (let i = 0; i < 4_000; i++) tx.parties.push(party(i))
  const turn = new WorkOfTurn()
  let turns = 1
  const work = countDown(tx, turn, [OP.countDown, L, 1])
  // The maps of the test are slow with many rows.
  tx.putParty = () => {}
  while (work.next().done !== true) {
    turns++
    turn.begin()
  }
  expect(turns).toBeGreaterThan(3)
  expect(tx.told).toHaveLength(4_000)
})
const party = (arrival: number) => ({
  of: LATCH,
  name: L,
  id: `${arrival}`,
  arrival,
  session: 1,
  deadline: 0,
  state: 'waiting' as const,
  generation: 0,
  index: 0,
})

/** One random call, made to the rules and to the model; both must answer the same. */
function step(random: Random, calls: Calls, model: PartyModel): readonly [unknown, unknown, string] {
  const name = random.pick(['x', 'y'])
  const bytes = utf8(name)
  const id = `p${random.between(0, 12)}`
  const session = random.between(1, 6)
  const of = random.pick([LATCH, BARRIER])
  const wait = random.pick([0, 0, 40, 200])
  const deadline = wait === 0 ? 0 : calls.now + wait
  const kind = random.pick([
    'create',
    'down',
    'down',
    'remove',
    'wait',
    'wait',
    'enter',
    'enter',
    'enter',
    'leave',
    'move',
    'look',
    'end',
    'time',
  ])
  const both = (rule: unknown, expected: unknown) => [rule, expected, `${kind} ${name} ${id}`] as const
  switch (kind) {
    case 'create': {
      const count = random.between(0, 4)
      return both(calls.create(count, bytes), model.create(name, count))
    }
    case 'down': {
      const by = random.between(1, 3)
      return both(calls.down(by, bytes), model.countDown(name, by))
    }
    case 'remove':
      return both(calls.remove(bytes), model.remove(name))
    case 'wait':
      return both(calls.wait(id, wait, session, bytes), model.wait(name, id, session, deadline))
    case 'enter': {
      const parties = random.pick([1, 2, 3, 3, 3, 5])
      return both(
        calls.enter(id, parties, wait, session, bytes),
        model.enter(name, id, session, parties, deadline),
      )
    }
    case 'leave':
      return both(calls.leave(of, id, bytes), model.leave(of, name, id))
    case 'move':
      return both(moveParty(calls.tx, session, [of, bytes, id]), model.move(of, name, id, session))
    case 'look':
      return both(calls.look(of, id, bytes), model.look(of, name, id))
    case 'end':
      endParties(calls.tx, session)
      return both(null, model.endSession(session) ?? null)
    default:
      calls.now += random.between(0, 90)
      expireParties(calls.tx, calls.now)
      return both(null, model.expire(calls.now) ?? null)
  }
}

test.each([
  ['the maps of the tests', () => new MapParties(), 4_000],
  ['the tables of the state', () => new Parties(emptyMeta()), 100_000],
])('random steps answer as the model does, on %s', (_, make, steps) => {
  const random = seededRandom('parties')
  const calls = new Calls(make())
  const model = new PartyModel()
  const seen = new Set<string>()
  for (let i = 0; i < steps; i++) {
    const [rule, expected, what] = step(random, calls, model)
    expect(rule, `step ${i}: ${what}`).toEqual(expected)
    if (Array.isArray(rule)) seen.add((rule as unknown as PartyResult)[0])
  }
  expect([...seen].sort()).toEqual([
    'absent',
    'broken',
    'mismatch',
    'passed',
    'removed',
    'unknown',
    'waiting',
  ])
})
