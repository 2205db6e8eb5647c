// Test: shared and exclusive holds of one lock, and permits of a semaphore: each row of the table in
// docs/locks.md, section 10.

import { utf8 } from '@latchkey/base'
import {
  KIND,
  OWNER_CODES,
  type OwnerResult,
  type ShareArg,
  lockKeyOf,
  renewedOwners,
} from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { type AskOptions, K, ask, askCommand } from '../testing/lock-test-commands.js'
import { MapTransaction } from '../testing/map-transaction.js'
import { renew, tryLock } from './acquire.js'
import { isHeldWith, lockInfo, ticketOf } from './lock-reads.js'
import { downgrade, rotate } from './downgrade-proclaim-rotate.js'
import { cancelWait, forceRelease, release, releaseAll, resize, steal } from './release.js'

const SHARED: ShareArg = [1, 0]
const codeOf = (owner: OwnerResult | undefined) => OWNER_CODES[owner?.[6] ?? -1]
const world = (...sessions: number[]): MapTransaction => {
  const tx = new MapTransaction()
  for (const session of [1, ...sessions]) tx.openSession(session, 60_000)
  return tx
}
const shared = (tx: MapTransaction, id: string, options: AskOptions = {}) =>
  ask(tx, id, { ...options, share: SHARED })
const holders = (tx: MapTransaction, key = K) => [
  ...(tx.hold(key) === undefined ? [] : [`${tx.hold(key)?.id}!`]),
  ...tx.sharedOf(key).map(({ id }) => id),
]
const waiting = (tx: MapTransaction, key = K) => tx.queue(key).map(({ id }) => id)

describe('a shared hold', () => {
  test('K61: stands beside shared ones, each with a token of its own; the next exclusive one has a higher token', () => {
    const tx = world()
    const tokens = ['a', 'b', 'c'].map((id) => shared(tx, id)[3])
    expect(tokens).toEqual([1, 2, 3])
    for (const id of ['b', 'a', 'c']) expect(codeOf(release(tx, K, id, 0, false))).toBe('RELEASED')
    expect(ask(tx, 'w')[3]).toBe(4)
  })

  test('K61: an exclusive asker is refused and queued; a later reader waits behind it, and nobody overtakes', () => {
    const tx = world()
    shared(tx, 'r1')
    expect(codeOf(ask(tx, 'w', { wait: 0 }))).toBe('HELD')
    expect(codeOf(shared(tx, 'r2', { wait: 0 }))).toBe('HELD')
    expect(codeOf(shared(tx, 'r3'))).toBe('HELD')
    expect([holders(tx), waiting(tx)]).toEqual([['r1'], ['w', 'r2']])
    release(tx, K, 'r1', 0, false)
    expect([holders(tx), waiting(tx)]).toEqual([['w!'], ['r2']])
  })

  test('K62: readers in a row are granted together, up to the next writer', () => {
    const tx = world()
    ask(tx, 'w')
    for (const id of ['r1', 'r2']) shared(tx, id, { wait: 0 })
    ask(tx, 'w2', { wait: 0 })
    shared(tx, 'r3', { wait: 0 })
    release(tx, K, 'w', 0, false)
    expect([holders(tx), waiting(tx)]).toEqual([
      ['r1', 'r2'],
      ['w2', 'r3'],
    ])
    expect(tx.grants.map(({ id }) => id)).toEqual(['r1', 'r2'])
  })

  test('K62: a writer that gives up lets the readers behind it in, by its time, by cancelling, and by the end of its session', () => {
    for (const end of ['time', 'cancel', 'session'] as const) {
      const tx = world(2)
      shared(tx, 'r1')
      ask(tx, 'w', { wait: 50, session: 2 })
      shared(tx, 'r2', { wait: 0 })
      if (end === 'time') tx.tick(51)
      if (end === 'cancel') cancelWait(tx, K, 'w')
      if (end === 'session') tx.end(2)
      expect([holders(tx), waiting(tx)], end).toEqual([['r1', 'r2'], []])
    }
  })

  test('K62: the hold that is over when the first waiter leaves is told as expired, and both happen in one entry', () => {
    const tx = world(2)
    ask(tx, 'w', { lease: 100 })
    ask(tx, 'gone', { wait: 50, session: 2 })
    shared(tx, 'r', { wait: 0 })
    tx.tick(101)
    expect(tx.told).toEqual(['left gone', 'expired w', 'acquired r'])
    expect(holders(tx)).toContain('r')
  })

  test('expires alone, and is then not held: the others stay', () => {
    const tx = world()
    shared(tx, 'short', { lease: 50 })
    shared(tx, 'long', { lease: 500 })
    ask(tx, 'w', { wait: 0 })
    tx.tick(51)
    expect(holders(tx)).toEqual(['long'])
    expect(codeOf(release(tx, K, 'short', 1, false))).toBe('NOT_OWNER')
    tx.tick(501)
    expect(holders(tx)).toEqual(['w!'])
  })

  test('is renewed and re-entered by its owner alone', () => {
    const tx = world()
    const token = shared(tx, 'a', { lease: 100 })[3]
    expect(codeOf(shared(tx, 'a', { token }))).toBe('REENTRANT')
    expect(codeOf(shared(tx, 'a', { token: token + 1 }))).toBe('HELD')
    const list = [
      [K, 'a', token, 900],
      [K, 'b', token, 900],
    ] as const
    expect(renewedOwners(list, renew(tx, list)).map(codeOf)).toEqual(['KEEP_LEASE', 'KEEP_LEASE_FAIL'])
    expect(codeOf(release(tx, K, 'a', token, false))).toBe('DECREMENTED')
    expect(codeOf(release(tx, K, 'a', token, false))).toBe('RELEASED')
  })

  test('K37: asking for the other mode under the own hold is a deadlock, in both directions, waiting or not', () => {
    for (const wait of [null, 0]) {
      const tx = world()
      shared(tx, 'a')
      expect(tryLock(tx, 1, askCommand('a', { wait }))).toMatchObject([{}, false, ['deadlock']])
      ask(tx, 'x', { key: utf8('other') })
      const other = askCommand('x', { key: utf8('other'), wait, share: SHARED })
      expect(tryLock(tx, 1, other)).toMatchObject([{}, false, ['deadlock']])
      expect(waiting(tx)).toEqual([])
    }
  })

  test('guards: its token counts only where the guard says so; an exclusive token counts for both', () => {
    const tx = world()
    const token = shared(tx, 'a')[3]
    expect([isHeldWith(tx, K, token), isHeldWith(tx, K, token, true)]).toEqual([false, true])
    expect(isHeldWith(tx, K, token + 1, true)).toBe(false)
    const of = utf8('other')
    const exclusive = ask(tx, 'x', { key: of })[3]
    expect([isHeldWith(tx, of, exclusive), isHeldWith(tx, of, exclusive, true)]).toEqual([true, true])
  })

  test('tickets, forced releases and releaseAll find it', () => {
    const tx = world()
    const [, , , first] = shared(tx, 'a')
    shared(tx, 'b')
    expect(ticketOf(tx, K, 'b')[0]).toBe('granted')
    expect(forceRelease(tx, K, first + 5)).toBe(false)
    expect(forceRelease(tx, K, first)).toBe(true)
    expect(holders(tx)).toEqual(['b'])
    expect(releaseAll(tx, [[K, 'b']])).toEqual([first + 1])
    expect(holders(tx)).toEqual([])
  })
})

describe('downgrade', () => {
  test('keeps token, acquires and deadline, and lets the readers that wait first in, in the same entry', () => {
    const tx = world()
    const [, deadline, , token] = ask(tx, 'a')
    ask(tx, 'a')
    shared(tx, 'r', { wait: 0 })
    ask(tx, 'w', { wait: 0 })
    const owner = downgrade(tx, K, 'a', token)
    expect([codeOf(owner), owner[1], owner[3], owner[4]]).toEqual(['KEEP_LEASE', deadline, token, 2])
    expect([holders(tx), waiting(tx)]).toEqual([['a', 'r'], ['w']])
    expect(tx.sharedOf(K).map((row) => lockInfo(tx, row)?.[9])).toEqual([1, 1])
  })

  test('of a hold that is not the caller’s changes nothing', () => {
    const tx = world()
    expect(codeOf(downgrade(tx, K, 'a', 1))).toBe('NOT_HELD')
    ask(tx, 'b')
    expect(codeOf(downgrade(tx, K, 'a', 1))).toBe('NOT_OWNER')
    expect(holders(tx)).toEqual(['b!'])
  })
})

describe('K64: rotation', () => {
  test.each([
    ['exclusive', undefined],
    ['shared', SHARED],
  ] as const)('%s: a higher token; guards with the old one are refused, the owner is not', (_, share) => {
    const tx = world()
    const old = ask(tx, 'a', share === undefined ? {} : { share })[3]
    const token = rotate(tx, K, 'a', old)[3]
    expect(token).toBeGreaterThan(old)
    expect([isHeldWith(tx, K, old, true), isHeldWith(tx, K, token, true)]).toEqual([false, true])
    const renewal = [[K, 'a', old, 900]] as const
    expect(renewedOwners(renewal, renew(tx, renewal)).map((owner) => [codeOf(owner), owner[3]])).toEqual([
      ['KEEP_LEASE', token],
    ])
    expect(codeOf(ask(tx, 'a', { token: old, ...(share === undefined ? {} : { share }) }))).toBe('REENTRANT')
    expect(codeOf(release(tx, K, 'a', old, true))).toBe('RELEASED')
    expect(ask(tx, 'b')[3]).toBe(token + 1)
  })

  test('a token of an earlier ownership, of another lock, or from the future is not the owner’s', () => {
    const tx = world()
    const first = ask(tx, 'a')[3]
    release(tx, K, 'a', first, true)
    const second = ask(tx, 'a')[3]
    const third = rotate(tx, K, 'a', second)[3]
    for (const stale of [first, third + 1]) {
      expect(codeOf(rotate(tx, K, 'a', stale))).toBe('NOT_OWNER')
      expect(codeOf(release(tx, K, 'a', stale, true))).toBe('NOT_OWNER')
    }
    expect(codeOf(release(tx, K, 'a', second, true))).toBe('RELEASED')
    expect(codeOf(rotate(tx, K, 'a', third))).toBe('NOT_HELD')
  })

  test('a shared hold that was rotated is found by its new token, and is not twice in the list', () => {
    const tx = world()
    const [, , , old] = shared(tx, 'a')
    const token = rotate(tx, K, 'a', old)[3]
    expect([forceRelease(tx, K, old), forceRelease(tx, K, token), holders(tx)]).toEqual([false, true, []])
  })
})

describe('K66: steal', () => {
  const W = lockKeyOf(KIND.webLock, utf8('w'))
  test.each(['exclusive', 'shared', 'nobody'] as const)(
    'from %s: it is alone, before all who wait',
    (from) => {
      const tx = world()
      if (from === 'exclusive') ask(tx, 'a', { key: W })
      if (from === 'shared') for (const id of ['a', 'b']) ask(tx, id, { key: W, share: SHARED })
      if (from !== 'nobody') ask(tx, 'waits', { key: W, wait: 0 })
      const [owner, queued] = steal(tx, 1, { key: W, id: 'thief', lease: 900, context: null })
      expect([codeOf(owner), queued, holders(tx, W)]).toEqual(['FIRST_TIME', false, ['thief!']])
      expect(waiting(tx, W)).toEqual(from === 'nobody' ? [] : ['waits'])
      const tokens = tx.told.length
      expect(codeOf(release(tx, W, 'thief', owner[3], true))).toBe('RELEASED')
      expect([tokens > 0, holders(tx, W)]).toEqual([true, from === 'nobody' ? [] : ['waits!']])
    },
  )
})

describe('a semaphore', () => {
  const S = lockKeyOf(KIND.semaphore, utf8('s'))
  const take = (tx: MapTransaction, id: string, permits: number, of: number, options: AskOptions = {}) =>
    tryLock(tx, 1, askCommand(id, { key: S, share: [permits, of], ...options }))

  test('K63: never gives more permits than it has, and a small request does not overtake a large one', () => {
    const tx = world()
    take(tx, 'a', 2, 3)
    expect(take(tx, 'big', 3, 3, { wait: 0 })).toMatchObject([{ 0: 'a' }, true])
    expect(take(tx, 'small', 1, 3, { wait: 0 })).toMatchObject([{}, true])
    expect(take(tx, 'quick', 1, 3)).toMatchObject([{}, false])
    release(tx, S, 'a', 0, true)
    expect([holders(tx, S), waiting(tx, S)]).toEqual([['big'], ['small']])
    release(tx, S, 'big', 0, true)
    expect(holders(tx, S)).toEqual(['small'])
  })

  test('K63: another number of permits is refused with the present one, and nothing is changed', () => {
    const tx = world()
    take(tx, 'a', 1, 3)
    expect(take(tx, 'b', 1, 4, { wait: 0 })).toMatchObject([{}, false, ['mismatch', 3]])
    expect([holders(tx, S), waiting(tx, S)]).toEqual([['a'], []])
  })

  test('resize: a larger one grants at once, a smaller one takes nothing back', () => {
    const tx = world()
    take(tx, 'a', 2, 2)
    take(tx, 'b', 2, 2, { wait: 0 })
    resize(tx, S, 4)
    expect(holders(tx, S)).toEqual(['a', 'b'])
    resize(tx, S, 1)
    expect(holders(tx, S)).toEqual(['a', 'b'])
    expect(take(tx, 'c', 1, 1)).toMatchObject([{}, false])
    for (const id of ['a', 'b']) release(tx, S, id, 0, true)
    expect(take(tx, 'c', 1, 1)).toMatchObject([{ 6: 0 }, false])
  })
})
