// Test: the suite of lock engines passes on a real PostgreSQL server, and kills and restarts it where needed.

import { engineSuite, locks, type SuiteClient } from '@latchkey/locks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresLocks } from './index.js'
import { needed, poolTo, restart } from './testing/servers.js'

const url = needed('POSTGRES_URL')
const pool = poolTo(url)
beforeAll(async () => {
  const engine = postgresLocks({ pool })
  await Promise.all([engine.migrate(), engine.migrate()])
  await pool.query('CREATE TABLE IF NOT EXISTS written (at timestamptz)')
  await engine.close()
})
afterAll(() => pool.end())

async function guardedWrite(
  engine: ReturnType<typeof postgresLocks>,
  hold: { readonly key: string | Uint8Array; readonly token: number },
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await engine.guard(client, hold)
    await client.query('INSERT INTO written VALUES (now())')
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

const suiteClient = (engine: ReturnType<typeof postgresLocks>): SuiteClient => ({
  ...(engine as unknown as SuiteClient),
  guardedWrite: (hold) => guardedWrite(engine, hold),
  restart,
})

describe('PostgreSQL', () => {
  engineSuite(test, async ({ poll, patience }) => suiteClient(postgresLocks({ pool, poll, patience })))
})

describe('PgBouncer in transaction mode, where nobody can listen', () => {
  const bouncer = poolTo(needed('PGBOUNCER_URL'))
  afterAll(() => bouncer.end())
  engineSuite(test, async ({ poll, patience }) =>
    suiteClient(postgresLocks({ pool: bouncer, listen: false, poll, patience })),
  )

  test('listening beside the pooler gives pushes', async () => {
    await using engine = postgresLocks({ pool: bouncer, listen: url })
    expect(engine.capabilities.wakeUp).toBe('push')
  })
})

test('locks() opens an address, makes the table and ends its pool', async () => {
  await using engine = await locks(url, { table: 'by_address', as: 'string' })
  await using hold = await engine.locks.acquire('k')
  expect(hold.held).toBe(true)
  expect((await engine.locks.query())[0]?.key).toBe('k')
})
