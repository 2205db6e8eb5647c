// Test: waits, grants, ends of leases, and ends of sessions (docs/locks.md, sections 1, 6 and 7).

import { CAPS } from '@latchkey/protocol'
import { utf8 } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import { K, ask, askCommand, drawn } from '../testing/lock-test-commands.js'
import { MapTransaction } from '../testing/map-transaction.js'
import { tryLock } from './acquire.js'
import { ownerOfHold } from './hold-checks-and-answers.js'
import { isHeldWith, lockInfo, lockOwner, ticketOf } from './lock-reads.js'
import { enqueue, grantNext } from './queue.js'
import { release } from './release.js'

function world(...sessions: number[]): MapTransaction {
  const tx = new MapTransaction()
  for (const session of sessions.length ? sessions : [1]) tx.openSession(session)
  return tx
}
const ids = (tx: MapTransaction) => tx.queue(K).map(({ id }) => id)

describe('the queue', () => {
  test('waiters are granted in the order of arrival, one per release, and no other waiter is woken (K24)', () => {
    const tx = world()
    ask(tx, 'a')
    for (let i = 0; i < 1000; i++) ask(tx, `w${i}`, { wait: 0 })
    tx.entry(10, 1, () => release(tx, K, 'a', 0, false))
    expect(tx.grants.map(({ id }) => id)).toEqual(['w0'])
    expect(tx.queue(K)).toHaveLength(999)
    tx.entry(20, 1, () => release(tx, K, 'w0', 0, false))
    expect(tx.grants.map(({ id }) => id)).toEqual(['w1'])
  })

  test('K23: a release between the check and the wait is not missed, because asking and queueing are one step', () => {
    const tx = world()
    for (let round = 0; round < 1000; round++) {
      ask(tx, `a${round}`)
      ask(tx, `b${round}`, { wait: 0 })
      release(tx, K, `a${round}`, 0, false)
      expect(tx.hold(K)?.id).toBe(`b${round}`)
      release(tx, K, `b${round}`, 0, false)
    }
  })

  test('a grant after a release has the code FIRST_TIME; a grant after an expiry has NEW_ACQUIRE, at the first entry after the deadline', () => {
    const tx = world()
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'b', { wait: 0, lease: 100, context: 'b' })
    ask(tx, 'c', { wait: 0, lease: 100 })
    tx.entry(50, 1, () => release(tx, K, 'a', 0, false))
    expect(tx.grants.map((row) => drawn(ownerOfHold(row, tx.now)))).toEqual([
      'FIRST_TIME b t2 x1 until 150 rem -1 [b] @50',
    ])
    tx.tick(150)
    expect(tx.grants).toEqual([])
    tx.tick(151)
    expect(tx.grants.map((row) => drawn(ownerOfHold(row, tx.now)))).toEqual([
      'NEW_ACQUIRE c t3 x1 until 251 rem -2 - @151',
    ])
  })

  test('a waiter that asks again keeps its position, and its wait is never shortened', () => {
    const tx = world()
    ask(tx, 'a')
    ask(tx, 'b', { wait: 500 })
    ask(tx, 'c', { wait: 0 })
    ask(tx, 'b', { wait: 100 })
    expect(tx.queue(K).map(({ id, deadline }) => [id, deadline])).toEqual([
      ['b', 500],
      ['c', 0],
    ])
    ask(tx, 'b', { wait: 900 })
    ask(tx, 'c', { wait: 5 })
    expect(tx.queue(K).map(({ id, deadline }) => [id, deadline])).toEqual([
      ['b', 900],
      ['c', 0],
    ])
  })

  test('the queue is bounded: a caller beyond the cap is refused with ERR_BUSY, a caller that waits already is not', () => {
    const tx = world()
    ask(tx, 'a')
    ask(tx, 'b', { wait: 0 })
    tx.waiterCount = () => CAPS.waiters
    expect(tryLock(tx, 1, askCommand('c', { wait: 0 }))).toBe('ERR_BUSY')
    expect(tryLock(tx, 1, askCommand('c'))).toMatchObject([{ 0: 'a' }, false])
    const again = { key: K, id: 'b', lease: 100, context: null, fencingKey: null, permits: 0 }
    expect(enqueue(tx, { ...again, flow: null, within: [] }, 1, 0)).toBe(true)
    expect(ids(tx)).toEqual(['b'])
  })

  test('K33: a waiter whose wait is over is never granted the lock, not even by the expiry of the same entry', () => {
    const tx = world()
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'b', { wait: 100 })
    ask(tx, 'c', { wait: 101 })
    tx.tick(101)
    expect(tx.grants.map(({ id }) => id)).toEqual(['c'])
    expect(ids(tx)).toEqual([])
  })

  test('the tokens of a grant come from the counter of the waiter', () => {
    const tx = world()
    ask(tx, 'a')
    ask(tx, 'b', { wait: 0, fencingKey: utf8('f') })
    release(tx, K, 'a', 0, true)
    expect(tx.hold(K)).toMatchObject({ id: 'b', token: 1, fencingKey: utf8('f') })
    expect(ask(tx, 'x', { key: utf8('x') })[3]).toBe(2)
  })
})

describe('sessions', () => {
  test('K21: a waiter whose session ended while it queued is skipped; K22: it does not block the queue', () => {
    const tx = world(1)
    tx.openSession(2, 50)
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'b', { wait: 0, session: 2 })
    ask(tx, 'c', { wait: 0, session: 1 })
    tx.tick(51)
    expect(ids(tx)).toEqual(['c'])
    tx.tick(101)
    expect(tx.grants.map(({ id }) => id)).toEqual(['c'])
  })

  test('K21: a waiter that is still in the queue is not granted the lock when its session or its wait is over', () => {
    const tx = world(1, 2)
    ask(tx, 'a', { lease: 5_000 })
    ask(tx, 'dead', { wait: 0, session: 2 })
    ask(tx, 'tired', { wait: 50 })
    ask(tx, 'c', { wait: 0 })
    tx.sessions.delete(2)
    tx.now = 51
    tx.holds.clear()
    grantNext(tx, K, 0)
    expect(tx.hold(K)).toMatchObject({ id: 'c' })
    expect(ids(tx)).toEqual([])
  })

  test('the end of a session removes its waiters, never a hold', () => {
    const tx = world(1, 2)
    ask(tx, 'a', { session: 2, lease: 60_000 })
    ask(tx, 'b', { key: utf8('other'), session: 1, lease: 60_000 })
    ask(tx, 'c', { key: utf8('other'), session: 2, wait: 0 })
    tx.end(2)
    expect(tx.hold(K)).toMatchObject({ id: 'a' })
    expect(tx.queue(utf8('other'))).toEqual([])
    tx.tick(59_000)
    expect(tx.hold(K)).toMatchObject({ id: 'a', deadline: 60_000 })
  })

  test('K22: a grant that its session does not touch ends within min(lease, session life)', () => {
    const tx = world(1)
    tx.openSession(2, 200)
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'b', { wait: 0, session: 2, lease: 60_000 })
    ask(tx, 'c', { wait: 0, session: 1, lease: 60_000 })
    tx.tick(101)
    // The answer has the deadline that is promised until the session touches the grant, not the whole lease
    // of 60 s.
    expect(tx.grants.map((row) => drawn(ownerOfHold(row, tx.now)))).toEqual([
      'NEW_ACQUIRE b t2 x1 until 301 rem -2 - @101',
    ])
    tx.tick(301)
    expect(tx.hold(K)).toMatchObject({ id: 'b' })
    tx.tick(302)
    expect(tx.hold(K)).toMatchObject({ id: 'c', token: 3 })
  })

  test('any command of the session touches its grants, which are then in force for their whole lease', () => {
    const tx = world(1, 2)
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'b', { wait: 0, session: 2, lease: 60_000 })
    tx.tick(101)
    tx.entry(200, 2, () => {})
    expect(tx.hold(K)).toMatchObject({ id: 'b', touchBy: 0, deadline: 60_101 })
    tx.tick(40_000)
    expect(isHeldWith(tx, K, 2)).toBe(true)
  })

  test('an untouched grant that ended is an expired row: its owner is answered EXPIRED', () => {
    const tx = world(1)
    tx.openSession(2, 200)
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'b', { wait: 0, session: 2, lease: 60_000 })
    tx.tick(101)
    tx.tick(400)
    expect(drawn(release(tx, K, 'b', 2, false))).toContain('EXPIRED b t2')
  })
})

describe('CT3: order within an entry', () => {
  test('sessions, then waiters, then holds by deadline and key, each with its next grant, then the command', () => {
    const tx = world(1)
    tx.openSession(2, 99)
    const [x, y] = [utf8('x'), utf8('y')]
    ask(tx, 'a', { key: y, lease: 90 })
    ask(tx, 'a', { key: x, lease: 90 })
    ask(tx, 'a', { lease: 80 })
    for (const [name, key] of [
      ['y', y],
      ['x', x],
      ['k', K],
    ] as const) {
      ask(tx, 'dead', { key, wait: 0, session: 2 })
      ask(tx, 'tired', { key, wait: 99 })
      ask(tx, `next of ${name}`, { key, wait: 0 })
    }
    const late = tx.entry(100, 1, () => ask(tx, 'late'))
    expect(tx.grants.map(({ id, token }) => [id, token])).toEqual([
      ['next of k', 4],
      ['next of x', 5],
      ['next of y', 6],
    ])
    expect(drawn(late)).toContain('HELD next of k')
  })

  test('expired rows stay until another acquirer takes the lock, their owner releases them, or an hour is over', () => {
    const tx = world()
    ask(tx, 'a', { lease: 100 })
    tx.tick(3_600_100)
    expect(tx.hold(K)).toMatchObject({ id: 'a', deadline: 100 })
    tx.tick(3_600_101)
    expect(tx.hold(K)).toBeUndefined()
  })
})

describe('reads', () => {
  test('K39: a guard holds at the deadline but not after it, and only with the token of the hold', () => {
    const tx = world()
    ask(tx, 'a', { lease: 100 })
    tx.tick(100)
    expect([isHeldWith(tx, K, 1), isHeldWith(tx, K, 2), isHeldWith(tx, utf8('z'), 1)]).toEqual([
      true,
      false,
      false,
    ])
    tx.tick(101)
    expect(isHeldWith(tx, K, 1)).toBe(false)
  })

  test('a ticket is queued, granted or unknown', () => {
    const tx = world()
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'b', { wait: 0, lease: 100 })
    expect(ticketOf(tx, K, 'b')).toEqual(['queued', null])
    expect(ticketOf(tx, K, 'x')).toEqual(['unknown', null])
    tx.tick(101)
    const [state, owner] = ticketOf(tx, K, 'b')
    expect([state, owner && drawn(owner)]).toEqual(['granted', 'NEW_ACQUIRE b t2 x1 until 201 rem -2 - @101'])
    tx.tick(202)
    expect(ticketOf(tx, K, 'b')).toEqual(['unknown', null])
  })

  test('K36: a query leaves expired holds out, and never shows more than the remaining time', () => {
    const tx = world()
    ask(tx, 'a', { lease: 100, context: 'c' })
    ask(tx, 'b', { wait: 0 })
    tx.now = 60
    const row = tx.hold(K)
    expect(row && lockInfo(tx, row)).toEqual([K, 'a', 'c', 1, 1, 40, 1, 60, null, 0])
    expect(row && lockInfo(tx, row, true)?.[8]).toEqual([['b', null, 60, 0]])
    expect(drawn(lockOwner(tx, K))).toBe('HELD a t1 x1 until 100 rem 40 [c] @60')
    tx.now = 101
    expect(row && lockInfo(tx, row)).toBeUndefined()
    expect(drawn(lockOwner(tx, K))).toBe('NOT_HELD - t0 x0 until 0 rem 0 - @101')
  })
})
