// Test: several clients make thousands of random calls on three etcd servers, and their answers never show
// two holders.

import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'
import { ClientClock } from '@latchkey/lock'
import { engineHistory } from '@latchkey/locks'
import { afterAll, expect, test } from 'vitest'
import { etcdEngine } from './etcd-locks.js'
import { startServers } from './testing/servers.js'

/** HISTORY_OPERATIONS=50000 for a long run. */
const OPERATIONS = Number(process.env.HISTORY_OPERATIONS ?? 3_000)
const servers = await startServers()
afterAll(() => servers[Symbol.asyncDispose]())

test('EN1, EN2: no two holds of a lock are in force at one moment of the clients, and tokens rise', async () => {
  const time = new ClientClock(systemClock(uptime))
  const engines = [1, 2].map(() => etcdEngine(servers.client, { prefix: 'history/', time }))
  const report = await engineHistory(engines, { operations: OPERATIONS })
  await Promise.all(engines.map((engine) => engine.close()))
  expect(report.violations).toEqual([])
  // A fast machine makes its calls before the leases end, so it sees fewer holds.
  expect(report.holds).toBeGreaterThan(OPERATIONS / 200)
  console.log(`calls: ${report.operations}, holds: ${report.holds}`)
}, 900_000)
