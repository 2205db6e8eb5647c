// Test: if the only member that a store has was removed from the cluster, waiting calls and later calls fail
// with this reason.

import { utf8 } from '@latchkey/base'
import { LatchkeyError, OP } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import type { LinkEvents } from '../link-interface.js'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

/** A store over a link into its own process, with a session. */
async function embedded() {
  const { world, cluster, store } = scene('embedded')
  let told: LinkEvents | undefined
  const dial = (events: LinkEvents, signal: AbortSignal) => {
    told = events
    return cluster.dialTo('a')(events, signal)
  }
  const client = store({ route: { dial } })
  const warm = follow(client.merge('log', 'warm'))
  await world.run(50)
  expect(codeOf(warm)).toBe('ok')
  const strand = (reason: LatchkeyError | undefined) => told?.memberRemoved(reason)
  return { world, cluster, client, strand }
}

const removed = () => new LatchkeyError('ERR_CLOSED', 'a was removed from its cluster')

// Without it: a lock object asks for ever whether an acquire that it gave up was granted, in a process whose
// member is no member any more.
test('M12: what was sent ends as unknown, what was not as not applied, and nobody waits for the number of a call any more', async () => {
  const { world, cluster, client, strand } = await embedded()
  cluster.mute = true
  const sent = follow(client.merge('log', 'x', { timeout: 60_000 }))
  const left = client.lockPort.command([OP.merge, null, utf8('log'), utf8('left')], { timeout: 20 })
  const leaving = follow(left.result)
  await world.run(50)
  const gone = follow(left.whenFinal())
  await world.run(5)
  expect([sent, leaving, gone].map(codeOf)).toEqual(['pending', 'ERR_OUTCOME_UNKNOWN', 'pending'])
  cluster.elect(undefined)
  await world.run(5)
  const waiting = follow(client.merge('log', 'y', { timeout: 60_000 }))
  const read = follow(client.get('k', { timeout: 60_000 }))
  const watch = follow(client.watch({ key: 'k' }).next())
  await world.run(5)
  expect([waiting, read, watch].map(codeOf)).toEqual(['pending', 'pending', 'pending'])
  strand(removed())
  await world.run(5)
  const outcomes = [sent, waiting, read].map(({ fate }) => fate.is === 'failed' && fate.error.outcome)
  expect(outcomes).toEqual(['unknown', 'not-applied', 'not-applied'])
  expect([sent, waiting, read, watch, gone].map(codeOf)).toEqual([
    'ERR_OUTCOME_UNKNOWN',
    'ERR_CLOSED',
    'ERR_CLOSED',
    'ERR_CLOSED',
    'ERR_CLOSED',
  ])
  expect(waiting.fate.is === 'failed' && waiting.fate.error.message).toMatch(/a was removed/)
  // It is known from now on; what needs no cluster is answered.
  const later = follow(client.get('k'))
  const stale = follow(client.get('k', { consistency: 'stale' }))
  await world.run(20)
  expect([codeOf(later), codeOf(stale)]).toEqual(['ERR_CLOSED', 'ok'])
})

test('M12: one that is a member again is used again, under a new session', async () => {
  const { world, cluster, client, strand } = await embedded()
  strand(removed())
  await world.run(100)
  strand(undefined)
  const seen = follow(client.merge('log', 'again'))
  await world.run(100)
  expect(codeOf(seen)).toBe('ok')
  expect(cluster.machine.data.get('log')).toBe('warm,again')
  expect(cluster.machine.sessions.size).toBe(2)
})
