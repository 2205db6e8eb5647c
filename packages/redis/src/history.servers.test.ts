// Test: several clients make thousands of random calls on one Redis and on three, and their answers never
// show two holders.

import { ClientClock } from '@latchkey/lock'
import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'
import { engineHistory } from '@latchkey/locks'
import { afterAll, expect, test } from 'vitest'
import { RedisConnection } from './redis-connection.js'
import { quorumEngine } from './quorum-locks.js'
import { RedisEngine } from './redis-lock-engine.js'
import { scriptsOf } from './lock-lua-scripts.js'
import { Subscription } from './pubsub-connection.js'
import { startServer } from './testing/servers.js'

/** HISTORY_OPERATIONS=50000 for a long run. */
const OPERATIONS = Number(process.env.HISTORY_OPERATIONS ?? 8_000)
const clock = systemClock(uptime)
const servers = await Promise.all([startServer(), startServer(), startServer()])
const clients = servers.map(({ client }) => client)
afterAll(() => Promise.all(servers.map((server) => server[Symbol.asyncDispose]())))

test('EN1, EN2: no two holds of a lock are in force at one moment of the server, and tokens rise', async () => {
  const [{ client }] = servers
  const engines = [1, 2].map(() => {
    const terms = { prefix: 'history:', scripts: scriptsOf(), survives: 'nothing' } as const
    const connection = new RedisConnection(client, clock)
    return new RedisEngine(connection, new Subscription(client, 'history:'), terms, () => {})
  })
  const report = await engineHistory(engines, { operations: OPERATIONS })
  await Promise.all(engines.map((engine) => engine.close()))
  expect(report.violations).toEqual([])
  // A fast machine makes its calls before the leases end, so it sees fewer holds.
  expect(report.holds).toBeGreaterThan(OPERATIONS / 200)
  console.log(`one server: calls: ${report.operations}, holds: ${report.holds}`)
}, 600_000)

test('EN1: no two majorities are for two holders at one moment, while no clock is set and nobody is paused', async () => {
  const time = new ClientClock(clock)
  const engines = [1, 2].map(() => quorumEngine(clients, { time }))
  const report = await engineHistory(engines, { operations: OPERATIONS })
  await Promise.all(engines.map((engine) => engine.close()))
  expect(report.violations).toEqual([])
  // A fast machine makes its calls before the leases end, so it sees fewer holds.
  expect(report.holds).toBeGreaterThan(OPERATIONS / 200)
  console.log(`three masters: calls: ${report.operations}, holds: ${report.holds}`)
}, 600_000)
