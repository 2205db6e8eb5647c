// Test: requests that a store repeats in the background: how long, how often, and that nothing remains when
// the store closes.

import { getEventListeners } from 'node:events'
import { LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { ProcessClock, settle, World } from '../testing/virtual-time.js'
import type { LockPort } from './lock-port-interface.js'
import { isWorthRetry, mayBeApplied, pause, untilAnswered } from './background-retry.js'

function scene() {
  const world = new World()
  const stop = new AbortController()
  const port = { clock: new ProcessClock(world), closed: stop.signal } as unknown as LockPort
  const close = () => stop.abort(new LatchkeyError('ERR_CLOSED'))
  /** Counts the timers and listeners that are left. */
  const left = () => [world.timers, getEventListeners(stop.signal, 'abort').length]
  return { world, port, close, left }
}

const over = (promise: Promise<unknown>) => {
  const state = { over: false }
  void promise.then(() => (state.over = true))
  return state
}

const BUSY = new LatchkeyError('ERR_NO_LEADER', undefined, { retryable: true })

test('a pause ends after its time or with the store, and leaves no timer or listener', async () => {
  const { world, port, close, left } = scene()
  const whole = over(pause(port, 100))
  await world.advance(99)
  expect([whole.over, left()]).toEqual([false, [1, 1]])
  await world.advance(1)
  expect([whole.over, left()]).toEqual([true, [0, 0]])
  const cut = over(pause(port, 60_000))
  await world.advance(10)
  close()
  await settle()
  expect([cut.over, left()]).toEqual([true, [0, 0]])
})

// Without this law one of two things happens. A release that was not answered is given up, and the lock stays
// held for the rest of its lease. Or ten thousand releases are sent without a pause to a leader that has just
// been elected.
test('a request is repeated until it is answered, with growing pauses of up to two seconds', async () => {
  const { world, port, left } = scene()
  const at: number[] = []
  let answers = false
  const request = async () => {
    at.push(world.now)
    if (!answers) throw BUSY
  }
  const end = over(untilAnswered(port, request, () => false))
  await world.advance(18_000)
  expect(at.slice(1).map((one, i) => one - (at[i] as number))).toEqual([
    50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000,
  ])
  expect(end.over).toBe(false)
  answers = true
  await world.advance(2_000)
  expect([end.over, at.length, left()]).toEqual([true, 15, [0, 0]])
})

test('the retries end when the request is refused for good, when `enough` is true, and when the store closes', async () => {
  const refused = scene()
  let asked = 0
  const forGood = async () => {
    asked++
    throw new LatchkeyError('ERR_FORBIDDEN')
  }
  await untilAnswered(refused.port, forGood, () => false)
  expect([asked, refused.left()]).toEqual([1, [0, 0]])

  const enough = scene()
  let tries = 0
  const end = over(
    untilAnswered(
      enough.port,
      () => Promise.reject(BUSY),
      () => ++tries === 3,
    ),
  )
  await enough.world.advance(10_000)
  expect([end.over, tries, enough.left()]).toEqual([true, 3, [0, 0]])

  const closing = scene()
  let sent = 0
  const request = async () => {
    sent++
    throw BUSY
  }
  const closed = over(untilAnswered(closing.port, request, () => false))
  await closing.world.advance(400)
  const before = sent
  closing.close()
  await closing.world.advance(10_000)
  expect([closed.over, sent, closing.left()]).toEqual([true, before, [0, 0]])
  await untilAnswered(closing.port, request, () => false)
  expect(sent).toBe(before)
})

test('which errors are worth a retry, and which leave a call that may have been applied', () => {
  const errors: [unknown, boolean, boolean][] = [
    [BUSY, true, false],
    [new LatchkeyError('ERR_OUTCOME_UNKNOWN'), true, true],
    [new LatchkeyError('ERR_TIMEOUT', undefined, { retryable: false, outcome: 'unknown' }), true, true],
    [
      new LatchkeyError('ERR_FORBIDDEN', undefined, { retryable: false, outcome: 'not-applied' }),
      false,
      false,
    ],
    [new LatchkeyError('ERR_CLOSED', undefined, { retryable: true, outcome: 'unknown' }), false, true],
    [new Error('anything'), false, true],
  ]
  for (const [error, again, applied] of errors)
    expect([isWorthRetry(error), mayBeApplied(error)], String(error)).toEqual([again, applied])
})
