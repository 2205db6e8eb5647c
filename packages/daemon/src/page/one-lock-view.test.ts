// Test: what the view of one lock shows, also after a change, a refusal or a click.

import { expect, test, vi } from 'vitest'
import { OneLock } from './one-lock-view.js'
import { Refusal } from './member-requests.js'
import { LOCK_WATCH, lock, member } from './testing/scripted-member.js'
import { body, click, opened, seen, useSimulatedDocument, wait } from './testing/simulated-document.js'

useSimulatedDocument()

const queue = [
  { id: 'w-1', context: 'bob', waitedMillis: 1_000, mode: 'exclusive' },
  { id: 'w-2', waitedMillis: 61_000, mode: 'shared' },
]
const held = lock('orders/42', { context: 'ana', waiters: 2, queue, acquires: 2 })
const past = (type: string, agoMillis: number, fencingToken = 8) => ({
  type,
  id: 'id-before',
  context: 'eve',
  fencingToken,
  agoMillis,
})
const lockAnswers = {
  [LOCK_WATCH]: {},
  '/v1/locks?': { locks: [held], next: null },
  '/v1/locks/orders%2F42:history': {
    sinceMillis: 60_000,
    history: [past('queued', 7_000, 0), past('acquired', 6_000), past('expired', 5_000)],
  },
}

// long: one view, followed through all its states
test('one lock: its holder, its waiters and its history, as time passes and as it changes', async () => {
  const { console, asked, answers, tell } = member({ ...lockAnswers })
  const view = new OneLock(console, 'orders%2F42')
  const root = await opened(view)
  expect(seen(root)).toEqual([
    '(warn) ana holds it. 2 callers wait.',
    'Holder: ana',
    'Held for: 2.0 s',
    'Lease left: 30 s',
    'Fencing token: 9',
    'Mode: exclusive',
    'Acquired: 2 times',
    'Id: id-of-orders/42',
    '[Release by force…]',
    'Waiting',
    '1 | bob | 1.0 s | exclusive | w-1',
    '2 | w-2 | 61 s | shared | w-2',
    'History',
    'Everything since 11:59:00: the member remembers 1,024 changes of all locks, and forgets them when it is restarted.',
    '11:59:59 | 1.0 s | began to wait | bob | –',
    '11:59:58 | 2.0 s | (good) acquired | ana | 9',
    '11:59:55 | 5.0 s | (bad) lease ended | eve | 8',
    '11:59:54 | 6.0 s | (good) acquired | eve | 8',
    '11:59:53 | 7.0 s | began to wait | eve | –',
    '11:58:59 | 61 s | began to wait | w-2 | –',
  ])
  const meter = root.querySelector('meter')
  expect(meter?.value).toBe(1)
  await wait(15_000)
  expect(meter?.value).toBeCloseTo(0.95, 1)
  tell(LOCK_WATCH, { ...past('released', 0, 9), id: held.id, context: 'ana', key: 'orders/42' })
  tell(LOCK_WATCH, { ...past('rotated', 0, 9), id: 'other', key: 'another' })
  answers['/v1/locks?'] = { locks: [lock('orders/42'), lock('orders/42', { id: 'second' })], next: null }
  await wait(1_000)
  expect(seen(root)).toEqual([
    '(good) 2 holders share it. Nobody waits.',
    'Holder: id-of-orders/42',
    'Held for: 2.9 s',
    'Lease left: 29 s',
    'Fencing token: 9',
    'Mode: exclusive',
    'Acquired: once',
    'Id: id-of-orders/42',
    '[Release by force…]',
    'Holder: second',
    'Held for: 2.9 s',
    'Lease left: 29 s',
    'Fencing token: 9',
    'Mode: exclusive',
    'Acquired: once',
    'Id: second',
    '[Release by force…]',
    'Waiting',
    'Nobody waits.',
    'History',
    'Everything since 11:59:00: the member remembers 1,024 changes of all locks, and forgets them when it is restarted.',
    '12:00:15 | 1.0 s | released | ana | 9',
    '12:00:13 | 2.9 s | (good) acquired | second | 9',
    '12:00:13 | 2.9 s | (good) acquired | id-of-orders/42 | 9',
    '11:59:55 | 21 s | (bad) lease ended | eve | 8',
    '11:59:54 | 22 s | (good) acquired | eve | 8',
    '11:59:53 | 23 s | began to wait | eve | –',
  ])
  answers['/v1/locks?'] = { locks: [lock('orders/421')], next: null }
  await wait(2_000)
  expect(seen(root).slice(0, 4)).toEqual(['(good) Nobody holds it.', 'Waiting', 'Nobody waits.', 'History'])
  expect(asked.filter((path) => path.includes('history'))).toHaveLength(1)
  view.stop()
  console.history.close()
  await wait(0)
  expect(vi.getTimerCount()).toBe(0)
})

test('one lock: only another holder builds the button anew, so that it keeps the focus', async () => {
  const { console, answers } = member({ ...lockAnswers })
  const root = await opened(new OneLock(console, 'orders%2F42'))
  const [button] = root.all('button')
  answers['/v1/locks?'] = {
    locks: [{ ...held, remainingMillis: 10_000, waiters: 0, queue: [] }],
    next: null,
  }
  await wait(2_000)
  expect(root.all('button')[0]).toBe(button)
  expect(seen(root).slice(0, 8)).toEqual([
    '(good) ana holds it. Nobody waits.',
    'Holder: ana',
    'Held for: 3.9 s',
    'Lease left: 8.1 s',
    'Fencing token: 9',
    'Mode: exclusive',
    'Acquired: 2 times',
    'Id: id-of-orders/42',
  ])
  answers['/v1/locks?'] = { locks: [{ ...held, fencingToken: 10 }], next: null }
  await wait(2_000)
  expect(root.all('button')[0]).not.toBe(button)
})

test('one lock: a release by force is asked first, and says what came of it', async () => {
  const force = '/v1/locks/orders%2F42:forceRelease'
  const { console, answers, posted, said } = member({ ...lockAnswers, [force]: { released: 1 } })
  const root = await opened(new OneLock(console, 'orders%2F42'))
  await click(root, 'Release by force…')
  expect(body.all('dialog').flatMap(seen)).toEqual([
    'Release orders/42 by force?',
    'ana is not asked, and may still be working: from then on, only writes with its fencing token 9 are refused. The first waiter gets the lock.',
    '[Cancel]',
    '[Release by force]',
  ])
  await click(body, 'Cancel')
  expect([body.all('dialog'), posted]).toEqual([[], []])
  for (const answer of [{ released: 1 }, { released: 0 }, new Refusal(503, 'X', 'no leader')]) {
    answers[force] = answer
    await click(root, 'Release by force…')
    await click(body, 'Release by force')
  }
  // After a refusal the dialog stays, says why, and lets the person try again.
  expect(body.all('dialog').flatMap(seen)).toEqual([
    'Release orders/42 by force?',
    'ana is not asked, and may still be working: from then on, only writes with its fencing token 9 are refused. The first waiter gets the lock.',
    'no leader',
    '[Cancel]',
    '[Release by force]',
  ])
  expect(posted).toEqual([
    [
      '/v1/locks/orders%2F42:forceRelease',
      {
        fencingToken: 9,
      },
    ],
    [
      '/v1/locks/orders%2F42:forceRelease',
      {
        fencingToken: 9,
      },
    ],
    [
      '/v1/locks/orders%2F42:forceRelease',
      {
        fencingToken: 9,
      },
    ],
  ])
  expect(said).toEqual(['orders/42 is released.', 'That hold had already ended.'])
  answers['/v1/locks?'] = { locks: [lock('orders/42')], next: null }
  await wait(2_000)
  body.all('dialog')[0]?.close()
  await click(root, 'Release by force…')
  expect(body.all('dialog').flatMap(seen)[1]).toMatch(/ are refused\. The lock is free then\.$/)
  const reader = await opened(
    new OneLock(member({ ...lockAnswers }, { rights: ['read'] }).console, 'orders%2F42'),
  )
  expect(reader.all('button')).toEqual([])
})

test('a history that the member refuses says why', async () => {
  const refused = new Refusal(403, 'ERR_FORBIDDEN', 'the token has no right to watch')
  const { console } = member({ ...lockAnswers, '/v1/locks?': { locks: [] }, [LOCK_WATCH]: refused })
  const root = await opened(new OneLock(console, 'orders%2F42'))
  await wait(1_000)
  expect(seen(root)).toEqual([
    '(good) Nobody holds it.',
    'Waiting',
    'Nobody waits.',
    'History',
    'Everything since 11:59:00: the member remembers 1,024 changes of all locks, and forgets them when it is restarted.',
    '11:59:55 | 6.0 s | (bad) lease ended | eve | 8',
    '11:59:54 | 7.0 s | (good) acquired | eve | 8',
    '11:59:53 | 8.0 s | began to wait | eve | –',
  ])
  const nothing = member({ '/v1/locks?': new Refusal(503, 'X', 'no leader'), [LOCK_WATCH]: {} })
  expect(seen(await opened(new OneLock(nothing.console, 'k')))).toEqual([
    'no leader',
    'Waiting',
    'Nobody waits.',
    'History',
    'Nothing has happened yet.',
  ])
})
