// Test: K80: a set of locks whose requests fail is asked for again after a pause, keeps its id, and leaves nothing
// behind when its caller gives up. A set is renewed, and is returned only with enough time left.

import { type Command, LatchkeyError, OP } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { codeOf, finish, scene, stateOf } from '../testing/store-in-virtual-time.js'

const KEYS = ['a', 'b']
const asked = (sent: readonly Command[]) => sent.filter(([op]) => op === OP.tryLockAll).length
const REFUSED = new LatchkeyError('ERR_NO_LEADER', undefined, { retryable: true, outcome: 'not-applied' })
/** Without a pause, the caller would ask without an end. */
const TOO_MANY = 1_000

// Without this law: while an election lasts a second, each caller sends a hundred thousand requests.
test('a set that a member refuses for now is asked for again after a pause, until it is granted', async () => {
  const { world, port, locking } = scene()
  port.fault = () => (port.sent.length < TOO_MANY ? REFUSED : undefined)
  const call = locking.locks.acquireAll(KEYS, { lease: '10s', wait: '60s' })
  await world.advance(5_000)
  expect(await stateOf(call)).toBe('pending')
  expect(port.sent.length).toBeGreaterThan(10)
  expect(port.sent.length).toBeLessThanOrEqual(101)
  port.fault = () => undefined
  const set = await finish(world, call)
  expect([set.held, new Set(port.sent.map((command) => command[1])).size]).toEqual([true, 1])
  await finish(world, set.release())
})

test('tryAcquireAll does not ask again', async () => {
  const { world, port, locking } = scene()
  port.fault = () => (port.sent.length < TOO_MANY ? REFUSED : undefined)
  expect(await codeOf(world, locking.locks.tryAcquireAll(KEYS))).toBe('ERR_NO_LEADER')
  expect(asked(port.sent)).toBe(1)
})

test.each(['ERR_BUSY', 'ERR_UNAUTHORIZED'] as const)('%s ends the wait for a set at once', async (code) => {
  const { world, port, locking } = scene()
  port.fault = () => new LatchkeyError(code, undefined, { outcome: 'not-applied' })
  expect(await codeOf(world, locking.locks.acquireAll(KEYS, { wait: '60s' }))).toBe(code)
  expect(asked(port.sent)).toBe(1)
})

test('K80: a set whose caller gives up while a request has no answer is given back, every key of it', async () => {
  const { world, port, locking, process } = scene()
  port.fault = (command) => (command[0] === OP.tryLockAll ? 'lose answer' : undefined)
  const call = locking.locks.acquireAll(KEYS, { lease: '60s', wait: '1s' })
  expect(await codeOf(world, call)).toBe('ERR_TIMEOUT')
  await world.advance(1_000)
  const other = process()
  const set = await finish(world, other.locking.locks.acquireAll(KEYS, { wait: '5s' }))
  expect(set.held).toBe(true)
})

test('K80: a release that gets no answer rejects, and goes on in the background', async () => {
  const { world, port, store, locking } = scene()
  const set = await finish(world, locking.locks.acquireAll(KEYS, { lease: '60s' }))
  port.fault = (command) => (command[0] === OP.releaseAll ? 'lose request' : undefined)
  const released = set.release()
  expect(set.held).toBe(false)
  expect(await codeOf(world, released)).toBe('ERR_OUTCOME_UNKNOWN')
  port.fault = () => undefined
  await world.advance(10_000)
  expect(store.tx.holds.size).toBe(0)
})

test('a set is renewed until its release; with renew: false it ends with its lease', async () => {
  const { world, locking } = scene()
  const kept = await finish(world, locking.locks.acquireAll(KEYS, { lease: '10s' }))
  const short = await finish(world, locking.locks.acquireAll(['c', 'd'], { lease: '10s', renew: false }))
  await world.advance(60_000)
  expect([kept.held, short.held]).toEqual([true, false])
  await finish(world, kept.release())
})

test('a set whose answer took more than half of the lease is renewed before its caller gets it', async () => {
  const { world, port, locking } = scene()
  port.travel = () => (asked(port.sent) === 1 ? 3_000 : 0)
  const set = await finish(world, locking.locks.acquireAll(KEYS, { lease: '10s', renew: false }))
  expect(set.remainingMillis()).toBeGreaterThan(9_000)
})

// Without this law: the caller gets a set, works, and another caller holds the same locks.
test('tryAcquireAll never gives a set whose lease is over before its answer arrives', async () => {
  const { world, locking, store } = scene({ delay: 600 })
  expect(await codeOf(world, locking.locks.tryAcquireAll(KEYS, { lease: '1s' }))).toBe('ERR_NO_LEADER')
  await world.advance(1_000)
  expect(store.tx.holds.size).toBe(0)
})
