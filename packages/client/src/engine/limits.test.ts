// Test: a call ends before its answer at its deadline or when its signal aborts, also if only one of the two
// is given.

import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

type Limits = { timeout?: number; signal?: AbortSignal }

/** A store whose member takes everything and answers nothing, and one call of each kind. */
async function unanswered() {
  const { world, cluster, warmStore } = scene()
  const client = await warmStore()
  cluster.silent.add('a')
  const calls: Record<string, (limits: Limits) => Promise<unknown>> = {
    'a command': (limits) => client.put('k', 'w', limits),
    'a read': (limits) => client.get('k', limits),
    'a stale read': (limits) => client.get('k', { ...limits, consistency: 'stale' }),
    'a question about the cluster': (limits) => client.status(limits),
    'a change of the cluster': (limits) => client.members.remove('b', limits),
  }
  return { world, client, calls: Object.entries(calls) }
}

// Without it: somebody gives a call a signal for the day on which the process stops, and the call waits until
// that day.
test('C14: a call with a signal that does not fire still ends at its deadline, not before, and its listener comes off the signal', async () => {
  const { world, calls } = await unanswered()
  const stop = new AbortController()
  const seen = calls.map(([, call]) => follow(call({ timeout: 300, signal: stop.signal })))
  const byDefault = calls.map(([, call]) => follow(call({ signal: stop.signal })))
  await world.run(299)
  expect(seen.map(codeOf)).toEqual(calls.map(() => 'pending'))
  await world.run(10)
  expect(seen.map(codeOf)).toEqual([
    'ERR_OUTCOME_UNKNOWN',
    'ERR_TIMEOUT',
    'ERR_TIMEOUT',
    'ERR_TIMEOUT',
    'ERR_OUTCOME_UNKNOWN',
  ])
  expect(byDefault.map(codeOf)).toEqual(calls.map(() => 'pending'))
  await world.run(4_700)
  for (const one of byDefault) expect(['ERR_OUTCOME_UNKNOWN', 'ERR_TIMEOUT']).toContain(codeOf(one))
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
  stop.abort()
  await world.run(1)
  for (const one of [...seen, ...byDefault]) expect(one.told).toBe(1)
})

test('C14: a call with a deadline ends at its signal, where that fires first; its deadline says nothing more', async () => {
  const { world, calls } = await unanswered()
  const stop = new AbortController()
  const seen = calls.map(([, call]) => follow(call({ timeout: 300, signal: stop.signal })))
  await world.run(100)
  expect(seen.map(codeOf)).toEqual(calls.map(() => 'pending'))
  stop.abort()
  await world.run(1)
  expect(seen.map(codeOf)).toEqual(calls.map(() => 'ERR_ABORTED'))
  await world.run(1_000)
  for (const one of seen) expect(one.told).toBe(1)
})
