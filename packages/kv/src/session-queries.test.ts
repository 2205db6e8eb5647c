// Test: queries of sessions while the state machine has stopped, or while its state is being replaced.

import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from './default-limits.js'
import { SessionsInState } from './session-queries.js'
import { HandClock, World } from './testing/state-machine-with-own-log.js'

test('C12: without a state no session is known, and only `list` throws', () => {
  const sessions = new SessionsInState(new HandClock(), DEFAULT_LIMITS, () => undefined)
  expect(sessions.size).toBe(0)
  expect(sessions.openerOf(7)).toBeUndefined()
  expect(sessions.whyNone()).toBeUndefined()
  expect(sessions.refusalFor('somebody')).toBeUndefined()
  expect(() => sessions.list()).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }))
})

test('C12: a closed machine behaves in the same way', async () => {
  const world = await World.open()
  await world.machine.close()
  expect(world.machine.openSessions.refusalFor('somebody')).toBeUndefined()
  expect(world.machine.openSessions.size).toBe(0)
})
