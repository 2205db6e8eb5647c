// Test: each row of the table of tryLockWith, in every combination of its conditions (docs/locks.md, section
// 2).

import { utf8 } from '@latchkey/base'
import { pack, type RenewalArg, renewedOwners, type CommandOf } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { K, ask, askCommand, drawn } from '../testing/lock-test-commands.js'
import { MapTransaction } from '../testing/map-transaction.js'
import { renew, tryLock } from './acquire.js'
import { CODE } from './hold-checks-and-answers.js'
import { release } from './release.js'

const STORED = ['none', 'own in force', 'own expired', "another's in force", "another's expired"] as const
const ROWS: readonly {
  readonly row: string
  readonly when: (c: Case) => boolean
  readonly owner: (c: Case) => string
}[] = [
  {
    row: 'none, no keepLease',
    when: (c) => c.stored === 'none' && !c.keep,
    owner: (c) => `FIRST_TIME me t8 x1 until 600 rem -1 ${c.given ?? '-'} @500`,
  },
  {
    row: 'none, keepLease',
    when: (c) => c.stored === 'none' && c.keep,
    owner: () => 'KEEP_LEASE_FAIL me t0 x0 until 0 rem max - @500',
  },
  {
    row: "expired, anyone's, no keepLease",
    when: (c) => c.stored.endsWith('expired') && !c.keep,
    owner: (c) => `NEW_ACQUIRE me t8 x1 until 600 rem -2 ${c.given ?? '-'} @500`,
  },
  {
    row: 'expired, keepLease',
    when: (c) => c.stored.endsWith('expired') && c.keep,
    owner: (c) => `KEEP_LEASE_FAIL ${c.rowId} t0 x0 until 0 rem max [old] @500`,
  },
  {
    row: 'same in force, keepLease',
    when: (c) => same(c) && c.keep,
    owner: () => 'KEEP_LEASE me t7 x2 until 900 rem -3 [old] @500',
  },
  {
    row: 'same in force, no keepLease',
    when: (c) => same(c) && !c.keep,
    owner: (c) => `REENTRANT me t7 x3 until 900 rem -4 ${c.given ?? '[old]'} @500`,
  },
  {
    row: "another's in force (or own under another token)",
    when: (c) => c.stored.endsWith('in force') && !same(c),
    owner: (c) => `HELD ${c.rowId} t0 x0 until 900 rem 400 [old] @500`,
  },
]

interface Case {
  readonly stored: (typeof STORED)[number]
  readonly keep: boolean
  readonly token: 'none' | 'match' | 'other'
  readonly context: string | null
  readonly waiters: number
  readonly given: string | undefined
  readonly rowId: string
}

const same = (c: Case) => c.stored === 'own in force' && c.token !== 'other'

function* everyCase(): Generator<Case> {
  for (const stored of STORED)
    for (const keep of [false, true])
      for (const token of ['none', 'match', 'other'] as const)
        for (const context of [null, '', 'new'])
          for (const waiters of [0, 2]) {
            // A queue exists only behind a hold in force (model.test.ts proves that law), so the other
            // combinations cannot occur.
            if (waiters > 0 && !stored.endsWith('in force')) continue
            const rowId = stored.startsWith('own') ? 'me' : 'other'
            yield {
              stored,
              keep,
              token,
              context,
              waiters,
              given: context === null ? undefined : `[${context}]`,
              rowId,
            }
          }
}

/**
 * The stored hold has token 7, two acquires and the context "old"; the cluster time is 500, and the request
 * asks for a lease of 100.
 */
function stateOf(c: Case): MapTransaction {
  const tx = new MapTransaction()
  tx.now = 500
  tx.openSession(1)
  for (let i = 0; i < 7; i++) tx.nextToken(null)
  if (c.stored !== 'none') {
    const deadline = c.stored.endsWith('in force') ? 900 : 499
    const row = {
      key: K,
      id: c.rowId,
      token: 7,
      firstToken: 7,
      acquires: 2,
      deadline,
      context: 'old',
      fencingKey: null,
    }
    tx.putHold({ ...row, session: 1, since: 0, touchBy: 0, code: 0, permits: 0, arrival: 0, flow: null })
  }
  for (let i = 0; i < c.waiters; i++) ask(tx, `w${i}`, { wait: 0 })
  return tx
}

const snapshot = (tx: MapTransaction) => JSON.stringify([[...tx.holds], tx.queue(K)])
const TOKENS = { none: 0, match: 7, other: 6 }

describe('the truth table of tryLockWith', () => {
  const cases = [...everyCase()]

  test(`each of ${cases.length} combinations is decided by exactly one row`, () => {
    const uses = new Map(ROWS.map(({ row }) => [row, 0]))
    for (const c of cases) {
      const matching = ROWS.filter(({ when }) => when(c))
      expect(
        matching.map(({ row }) => row),
        JSON.stringify(c),
      ).toHaveLength(1)
      const [only] = matching
      if (only) uses.set(only.row, (uses.get(only.row) ?? 0) + 1)
    }
    expect([...uses.values()].every((count) => count > 0)).toBe(true)
  })

  test.each(ROWS)('$row', ({ when, owner }) => {
    for (const c of cases.filter(when)) {
      const tx = stateOf(c)
      const before = snapshot(tx)
      const options = { keepLease: c.keep, token: TOKENS[c.token], context: c.context, lease: 100 }
      expect(drawn(ask(tx, 'me', options)), JSON.stringify(c)).toBe(owner(c))
      const refused = /HELD|FAIL/.test(owner(c))
      expect(snapshot(tx) === before, `a refusal writes nothing: ${JSON.stringify(c)}`).toBe(
        refused || unmoved(c),
      )
      expect(tx.queue(K).map(({ id }) => id)).toEqual(c.waiters ? ['w0', 'w1'] : [])
    }
  })

  /** A renewal that does not move the deadline leaves the row unchanged. */
  const unmoved = (c: Case) => same(c) && c.keep
})

/** The owners in the answer to a command of renewals. */
const renewed = (tx: MapTransaction, list: CommandOf<'renew'>[1]) => renewedOwners(list, renew(tx, list))

describe('tryLockWith, line by line', () => {
  test('a hold is in force at its deadline and over one millisecond later: now > deadline', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 100 })
    tx.now = 100
    expect(drawn(ask(tx, 'b'))).toContain('HELD a t0 x0 until 100 rem 0')
    tx.now = 101
    expect(drawn(ask(tx, 'b'))).toContain('NEW_ACQUIRE b t2')
  })

  test('a renewal with a shorter lease never moves the deadline backwards', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 10_000 })
    expect(drawn(ask(tx, 'a', { lease: 50, keepLease: true }))).toContain('until 10000')
    expect(drawn(ask(tx, 'a', { lease: 50 }))).toContain('until 10000')
    tx.now = 9_999
    expect(drawn(ask(tx, 'a', { lease: 50 }))).toContain('until 10049')
  })

  test('K13: an acquirer that meets its own expired row gets a new ownership, with count 1 and a new token', () => {
    const tx = new MapTransaction()
    for (let i = 0; i < 3; i++) ask(tx, 'a', { lease: 100 })
    tx.now = 101
    expect(drawn(ask(tx, 'a', { lease: 100 }))).toContain('NEW_ACQUIRE a t2 x1')
    expect(drawn(release(tx, K, 'a', 1, false))).toContain('NOT_OWNER a t2')
    expect(drawn(release(tx, K, 'a', 1, true))).toContain('NOT_OWNER a t2')
    expect(tx.hold(K)).toMatchObject({ token: 2, acquires: 1 })
  })

  test('K8: a renewal under the old token does not extend the new hold', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 100 })
    tx.now = 101
    ask(tx, 'a', { lease: 100 })
    const [old] = renewed(tx, [[K, 'a', 1, 5000]])
    expect(old && drawn(old)).toBe('HELD a t0 x0 until 201 rem 100 - @101')
    expect(tx.hold(K)?.deadline).toBe(201)
  })

  test('renewals answer without contexts; the rows keep theirs', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { context: 'x'.repeat(4096) })
    const [kept, refused] = renewed(tx, [
      [K, 'a', 0, 9000],
      [K, 'b', 0, 9000],
    ])
    expect([kept?.[5], refused?.[5], tx.hold(K)?.context?.length]).toEqual([null, null, 4096])
  })

  test('K7: a renewal after the release creates nothing', () => {
    const tx = new MapTransaction()
    ask(tx, 'a')
    release(tx, K, 'a', 1, false)
    const [late] = renewed(tx, [[K, 'a', 1, 1000]])
    expect(late && drawn(late)).toBe('KEEP_LEASE_FAIL a t0 x0 until 0 rem max - @0')
    expect(tx.hold(K)).toBeUndefined()
  })

  test('K20: no renewal succeeds after the hold expired or another acquirer took the lock', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 100, context: 'mine' })
    tx.now = 101
    const [over] = renewed(tx, [[K, 'a', 1, 1000]])
    expect(over && drawn(over)).toBe('KEEP_LEASE_FAIL a t0 x0 until 0 rem max - @101')
    ask(tx, 'b')
    const [taken] = renewed(tx, [[K, 'a', 1, 1000]])
    expect(taken && drawn(taken)).toContain('HELD b')
  })

  test('many renewals in one command, each with its own owner, in their order', () => {
    const tx = new MapTransaction()
    const [x, y] = [utf8('x'), utf8('y')]
    ask(tx, 'a', { key: x })
    ask(tx, 'b', { key: y })
    tx.now = 10
    const answers = renewed(tx, [
      [x, 'a', 1, 1000],
      [y, 'a', 1, 1000],
      [K, 'a', 0, 1000],
      [y, 'b', 2, 2000],
    ])
    expect(answers.map(drawn)).toEqual([
      'KEEP_LEASE a t1 x1 until 1010 rem -3 - @10',
      'HELD b t0 x0 until 1000 rem 990 - @10',
      'KEEP_LEASE_FAIL a t0 x0 until 0 rem max - @10',
      'KEEP_LEASE b t2 x1 until 2010 rem -3 - @10',
    ])
  })

  test('a renewal that only moves the deadline is answered with the remaining time, any other with the whole owner', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 100 })
    tx.now = 10
    expect(renew(tx, [[K, 'a', 1, 1000]])).toEqual([10, [1000]])
    expect(renew(tx, [[K, 'a', 1, 50]])).toEqual([10, [1000]])
    const [, unnamed] = renew(tx, [[K, 'a', 0, 1000]])
    expect(unnamed).toEqual([['a', 1010, -3, 1, 1, null, CODE.KEEP_LEASE, 10]])
    ask(tx, 'a', { lease: 100 })
    const twice = renewed(tx, [[K, 'a', 1, 1000]])
    expect(twice).toEqual([['a', 1010, -3, 1, 2, null, CODE.KEEP_LEASE, 10]])
  })

  test('ten thousand renewals are answered with a few bytes each', () => {
    const tx = new MapTransaction()
    const list = Array.from({ length: 10_000 }, (_, i): RenewalArg => [utf8(`l${i}`), 'a', i + 1, 10_000])
    for (const [key] of list) ask(tx, 'a', { key })
    expect(pack(renew(tx, list)).length).toBeLessThan(31_000)
    expect(renewed(tx, list).every((owner, i) => owner[1] === 10_000 && owner[3] === i + 1)).toBe(true)
  })

  test('K33: a request without a wait never queues, and a renewal never does', () => {
    const tx = new MapTransaction()
    tx.openSession(1)
    ask(tx, 'a')
    expect(tryLock(tx, 1, askCommand('b'))).toMatchObject({ 1: false })
    expect(tryLock(tx, 1, askCommand('b', { keepLease: true, wait: 100 }))).toMatchObject({ 1: false })
    expect(tryLock(tx, 1, askCommand('a', { token: 9, wait: 100 }))).toMatchObject({ 1: false })
    expect(tx.queue(K)).toEqual([])
    expect(tryLock(tx, 1, askCommand('b', { wait: 100 }))).toMatchObject({ 1: true })
  })
})

describe('fencing tokens (docs/locks.md, 4)', () => {
  test('K15: each fencing key has its counter; each new ownership takes the next token, reentry and renewal keep theirs', () => {
    const tx = new MapTransaction()
    const f = utf8('f')
    expect(ask(tx, 'a')[3]).toBe(1)
    expect(ask(tx, 'a')[3]).toBe(1)
    expect(ask(tx, 'a', { keepLease: true })[3]).toBe(1)
    expect(ask(tx, 'b', { key: utf8('other') })[3]).toBe(2)
    expect(ask(tx, 'c', { key: utf8('third'), fencingKey: f })[3]).toBe(1)
    release(tx, K, 'a', 0, true)
    expect(ask(tx, 'a')[3]).toBe(3)
    tx.now = 5000
    expect(ask(tx, 'a')[3]).toBe(4)
    expect(ask(tx, 'd', { key: utf8('fourth'), fencingKey: f })[3]).toBe(2)
  })

  test('K15: the counter of a row that was reclaimed goes on', () => {
    const tx = new MapTransaction()
    ask(tx, 'a', { lease: 100 })
    tx.tick(100 + 3_600_000)
    expect(tx.hold(K)).toMatchObject({ id: 'a', token: 1, deadline: 100 })
    tx.tick(100 + 3_600_001)
    expect(tx.hold(K)).toBeUndefined()
    expect(drawn(ask(tx, 'b'))).toContain('FIRST_TIME b t2')
  })
})
