// Test: several clients make thousands of random calls on PostgreSQL, and their answers never show two
// holders.

import { engineHistory } from '@latchkey/locks'
import { afterAll, expect, test } from 'vitest'
import { postgresLocks } from './index.js'
import { PostgresEngine } from './postgres-lock-engine.js'
import { needed, poolTo } from './testing/servers.js'

const pool = poolTo(needed('POSTGRES_URL'))
afterAll(() => pool.end())

/** HISTORY_OPERATIONS=50000 for a long run. */
const OPERATIONS = Number(process.env.HISTORY_OPERATIONS ?? 8_000)

test('EN1, EN2: no two holds of a lock are in force at one moment of the database, and tokens rise', async () => {
  await using migration = postgresLocks({ pool, table: 'history_of_calls' })
  await migration.migrate()
  const engines = [1, 2].map(() => new PostgresEngine(pool, 'history_of_calls', undefined, async () => {}))
  const report = await engineHistory(engines, { operations: OPERATIONS })
  expect(report.violations).toEqual([])
  // A fast machine makes its calls before the leases end, so it sees fewer holds.
  expect(report.holds).toBeGreaterThan(OPERATIONS / 200)
  console.log(`calls: ${report.operations}, holds: ${report.holds}`)
}, 600_000)
