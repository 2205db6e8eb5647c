// Test: the table of releaseLockWith in every combination of its conditions, and what a release does for
// waiters (docs/locks.md, section 3).

import { describe, expect, test } from 'vitest'
import { K, ask, drawn } from '../testing/lock-test-commands.js'
import { MapTransaction } from '../testing/map-transaction.js'
import { cancelWait, forceRelease, release, releaseAll } from './release.js'

interface Case {
  readonly stored: 'none' | 'own' | 'other'
  readonly over: boolean
  readonly acquires: 1 | 3
  readonly token: 'none' | 'match' | 'other'
  readonly all: boolean
  readonly waiters: 0 | 2
}
const TOKENS = { none: 0, match: 7, other: 6 }
const same = (c: Case) => c.stored === 'own' && c.token !== 'other'
const last = (c: Case) => c.all || c.acquires === 1

const ROWS: readonly { readonly row: string; readonly when: (c: Case) => boolean; readonly owner: string }[] =
  [
    { row: 'none', when: (c) => c.stored === 'none', owner: 'NOT_HELD me t0 x0 until 0 rem 0 - @500' },
    {
      row: 'same, in force, more acquires left',
      when: (c) => same(c) && !c.over && !last(c),
      owner: 'DECREMENTED me t7 x2 until 900 rem 0 [old] @500',
    },
    {
      row: 'same, in force, the last acquire or all',
      when: (c) => same(c) && !c.over && last(c),
      owner: 'RELEASED me t7 x0 until 900 rem 0 [old] @500',
    },
    {
      row: 'same, expired, untaken',
      when: (c) => same(c) && c.over,
      owner: 'EXPIRED me t7 x0 until 499 rem 0 [old] @500',
    },
    {
      row: "another's",
      when: (c) => c.stored === 'other' || (c.stored === 'own' && c.token === 'other'),
      owner: 'NOT_OWNER * t7 x0 until 0 rem 0 [old] @500',
    },
  ]

function* everyCase(): Generator<Case> {
  for (const stored of ['none', 'own', 'other'] as const)
    for (const over of [false, true])
      for (const acquires of [1, 3] as const)
        for (const token of ['none', 'match', 'other'] as const)
          for (const all of [false, true])
            for (const waiters of [0, 2] as const) {
              const inForce = stored !== 'none' && !over
              if (waiters === 0 || inForce) yield { stored, over, acquires, token, all, waiters }
            }
}

function stateOf(c: Case): MapTransaction {
  const tx = new MapTransaction()
  tx.now = 500
  tx.openSession(1)
  for (let i = 0; i < 7; i++) tx.nextToken(null)
  if (c.stored !== 'none') {
    const id = c.stored === 'own' ? 'me' : 'other'
    const row = { key: K, id, token: 7, firstToken: 7, acquires: c.acquires, deadline: c.over ? 499 : 900 }
    tx.putHold({
      ...row,
      context: 'old',
      fencingKey: null,
      session: 1,
      since: 0,
      touchBy: 0,
      code: 0,
      permits: 0,
      arrival: 0,
      flow: null,
    })
  }
  for (let i = 0; i < c.waiters; i++) ask(tx, `w${i}`, { wait: 0, lease: 200, context: `of w${i}` })
  return tx
}

describe('the truth table of releaseLockWith', () => {
  const cases = [...everyCase()]

  test(`each of ${cases.length} combinations is decided by exactly one row`, () => {
    for (const c of cases) {
      const rows = ROWS.filter(({ when }) => when(c)).map(({ row }) => row)
      expect(rows, JSON.stringify(c)).toHaveLength(1)
    }
  })

  test.each(ROWS)('$row', ({ row, when, owner }) => {
    const mine = cases.filter(when)
    expect(mine.length).toBeGreaterThan(0)
    for (const c of mine) {
      const tx = stateOf(c)
      const before = tx.hold(K)
      const told = drawn(release(tx, K, 'me', TOKENS[c.token], c.all))
      expect(told, JSON.stringify(c)).toBe(owner.replace('*', before?.id ?? '-'))
      expect(tx.hold(K)).toEqual(expectedRow(row, c, before))
      expect(tx.grants.map(({ id }) => id)).toEqual(row.includes('the last') && c.waiters ? ['w0'] : [])
    }
  })

  function expectedRow(row: string, c: Case, before: unknown): unknown {
    if (row === 'same, expired, untaken') return undefined
    if (row.includes('more acquires')) return { ...(before as object), acquires: 2 }
    if (!row.includes('the last')) return before
    if (!c.waiters) return undefined
    const grant = { key: K, id: 'w0', token: 8, firstToken: 8, acquires: 1, deadline: 700, context: 'of w0' }
    return {
      ...grant,
      fencingKey: null,
      session: 1,
      since: 500,
      touchBy: 700,
      code: 0,
      permits: 0,
      arrival: 3,
      flow: null,
    }
  }
})

describe('releaseLockWith, line by line', () => {
  test('K9: an unlock under the old token after expiry and a new grant changes nothing', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 100 })
    tx.now = 101
    ask(tx, 'b')
    expect(drawn(release(tx, K, 'a', 1, true))).toBe('NOT_OWNER b t2 x0 until 0 rem 0 - @101')
    expect(tx.hold(K)).toMatchObject({ id: 'b', acquires: 1 })
  })

  test('K10: an unlock by a stranger, a second unlock, and an unlock with an unknown token', () => {
    const tx = new MapTransaction()
    ask(tx, 'a')
    expect(drawn(release(tx, K, 'b', 0, false))).toContain('NOT_OWNER a')
    expect(drawn(release(tx, K, 'a', 99, false))).toContain('NOT_OWNER a')
    expect(drawn(release(tx, K, 'a', 1, false))).toContain('RELEASED a')
    expect(drawn(release(tx, K, 'a', 1, false))).toContain('NOT_HELD a')
  })

  test('K11: an unlock after the deadline, before another acquirer took the lock, is answered EXPIRED and is no success', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 100 })
    tx.now = 101
    expect(drawn(release(tx, K, 'a', 0, false))).toContain('EXPIRED')
    expect(drawn(release(tx, K, 'a', 0, false))).toContain('NOT_HELD')
  })

  test('K12: an unlock of a lock that never existed is answered NOT_HELD and is no success', () => {
    expect(drawn(release(new MapTransaction(), K, 'a', 0, false))).toContain('NOT_HELD a t0 x0')
  })

  test('a decrement leaves the deadline unchanged', () => {
    const tx = new MapTransaction()
    ask(tx, 'a')
    ask(tx, 'a')
    tx.now = 400
    expect(drawn(release(tx, K, 'a', 0, false))).toContain('DECREMENTED a t1 x1 until 1000')
  })
})

describe('forced release and cancelled waits', () => {
  test('forceRelease ends exactly that hold, with all its acquires, and grants the lock to the next waiter in the same entry', () => {
    const tx = new MapTransaction()
    tx.openSession(1)
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'a', { lease: 100 })
    ask(tx, 'b', { wait: 0, lease: 100 })
    expect(forceRelease(tx, K, 2)).toBe(false)
    expect(forceRelease(tx, K, 1)).toBe(true)
    expect(tx.hold(K)).toMatchObject({ id: 'b', token: 2 })
    expect(forceRelease(tx, K, 1)).toBe(false)
    tx.tick(101)
    expect(forceRelease(tx, K, 2)).toBe(false)
  })

  test('K28: cancelWait leaves the queue, or releases the grant so that the next waiter gets it', () => {
    const tx = new MapTransaction()
    tx.openSession(1)
    ask(tx, 'a')
    for (const id of ['b', 'c', 'd']) ask(tx, id, { wait: 0 })
    expect(cancelWait(tx, K, 'b')).toEqual(['queued', null])
    release(tx, K, 'a', 0, false)
    expect(cancelWait(tx, K, 'c')).toMatchObject(['granted', { 0: 'c', 3: 2 }])
    expect(tx.hold(K)).toMatchObject({ id: 'd', token: 3 })
    expect(cancelWait(tx, K, 'c')).toEqual(['unknown', null])
    expect(cancelWait(tx, K, 'nobody')).toEqual(['unknown', null])
    expect(tx.hold(K)).toMatchObject({ id: 'd' })
  })

  test('K43: releaseAll releases the holds and cancels the waits of one client, also where its own waiter is the next', () => {
    const tx = new MapTransaction()
    const other = Uint8Array.of(9)
    tx.openSession(1)
    ask(tx, 'a')
    ask(tx, 'a')
    for (const id of ['b', 'c']) ask(tx, id, { wait: 0 })
    const answer = releaseAll(tx, [
      [K, 'a'],
      [other, 'a'],
      [K, 'b'],
    ])
    expect(answer).toEqual([1, 0, 0])
    expect(tx.hold(K)).toMatchObject({ id: 'c', token: 2 })
    expect(releaseAll(tx, [[K, 'a']])).toEqual([0])
    expect(tx.hold(K)).toMatchObject({ id: 'c' })
  })

  test('a ticket whose hold expired is unknown, and its row is deleted', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 100 })
    tx.tick(101)
    expect(cancelWait(tx, K, 'a')).toEqual(['unknown', null])
    expect(tx.hold(K)).toBeUndefined()
  })
})
