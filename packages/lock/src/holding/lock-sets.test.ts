// Test: K80: a set of locks whose requests fail is asked for again after a pause, keeps its id, and leaves nothing
// behind when its caller gives up.

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
