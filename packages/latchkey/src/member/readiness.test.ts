// Test: whether a member can serve clients now: the member proves it again and again, and an old proof does
// not count.

import { type Clock, Emitter } from '@latchkey/base'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import type { Member } from './member.js'
import { Readiness } from './readiness.js'

const TIMEOUT = 1_000

type How = 'proves' | 'fails' | 'is held back'

/** A member that proves it can serve, or fails, or is waited for, as `how` says. */
function scene(how: How = 'proves') {
  const clock = new ManualClock()
  const state = { how, asked: [] as number[], held: [] as (() => void)[], kept: 0 }
  const noted: Clock = {
    now: () => clock.now(),
    instant: () => clock.instant(),
    after: (ms, run, options) => {
      if (options?.ref !== false) state.kept++
      return clock.after(ms, run)
    },
  }
  const ready = () => {
    state.asked.push(clock.now())
    if (state.how === 'proves') return Promise.resolve()
    return state.how === 'fails'
      ? Promise.reject(new Error('no leader'))
      : new Promise<void>((resolve) => void state.held.push(resolve))
  }
  const roles = new Emitter<{ role: { leader: string | undefined } }>()
  const node = { options: { electionTimeout: TIMEOUT }, on: roles.on.bind(roles) }
  const member = { ready, replica: { node } } as unknown as Member
  const readiness = new Readiness(member, noted)
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 50) {
      clock.advance(Math.min(50, left))
      await Promise.resolve()
    }
  }
  const leads = (leader: string | undefined) => roles.emit('role', { leader })
  return { clock, state, readiness, pass, leads }
}

test('a member is asked for a proof twice in an election timeout, four times until there is one', async () => {
  const { state, readiness, pass } = scene()
  expect(readiness.ready).toBe(false)
  await pass(0)
  await Promise.resolve()
  expect(readiness.ready).toBe(true)
  await pass(TIMEOUT * 4)
  expect(state.asked.length).toBeGreaterThanOrEqual(8)
  expect(state.asked.length).toBeLessThanOrEqual(10)
  expect(readiness.ready).toBe(true)
  const failing = scene('fails')
  await failing.pass(TIMEOUT * 4)
  expect(failing.state.asked.length).toBeGreaterThanOrEqual(16)
  expect(failing.state.asked.length).toBeLessThanOrEqual(17)
})

// Without it: a member that is cut off goes on to be ready, and the load balancer sends it all that it cannot
// serve.
test('a member that proves nothing any more is not ready at the latest two election timeouts later, and is again with the next proof', async () => {
  for (const how of ['fails', 'is held back'] as const) {
    const { state, readiness, pass } = scene()
    await pass(TIMEOUT * 3)
    expect(readiness.ready).toBe(true)
    state.how = how
    await pass(TIMEOUT * 0.9)
    expect(readiness.ready, how).toBe(true)
    await pass(TIMEOUT * 1.1)
    expect(readiness.ready, how).toBe(false)
    state.how = 'proves'
    await pass(TIMEOUT / 2 + 50)
    expect(readiness.ready, how).toBe(true)
  }
})

test('a proof counts from its asking: one that comes late proves what was, not what is', async () => {
  const { state, readiness, pass } = scene('is held back')
  await pass(TIMEOUT)
  expect(state.held.length).toBeGreaterThan(1)
  state.how = 'fails'
  await pass(TIMEOUT * 2)
  for (const prove of state.held) prove()
  await Promise.resolve()
  expect(readiness.ready).toBe(false)
})

test('no timer keeps the process, and none is left at the end', async () => {
  const { clock, state, readiness, pass } = scene()
  await pass(TIMEOUT)
  expect([state.kept, clock.armed]).toEqual([0, 1])
  readiness.close()
  const asked = state.asked.length
  await pass(TIMEOUT * 2)
  expect([clock.armed, state.asked.length]).toEqual([0, asked])
})

// Without it: a member that has just started is ready a quarter of an election timeout after its leader was
// elected, though it could serve at once.
test('a member that is not ready is asked at once when it learns of a leader', async () => {
  const { state, readiness, pass, leads } = scene('fails')
  await pass(50)
  state.how = 'proves'
  leads(undefined)
  expect(state.asked).toEqual([0])
  leads('b')
  await pass(50)
  expect([state.asked, readiness.ready]).toEqual([[0, 50], true])
  leads('c')
  await pass(100)
  expect(state.asked).toEqual([0, 50])
  readiness.close()
  await pass(TIMEOUT * 2)
  leads('a')
  expect(state.asked).toEqual([0, 50])
})
