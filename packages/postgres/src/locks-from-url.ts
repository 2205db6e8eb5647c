// Driver: opens locks in the database at a URL, with a new pool.

import { refusedByServer, withDriver } from '@latchkey/lock'
import type { PgPool } from './pg-types.js'
import { makeLocks, type PostgresLocks, type PostgresOptions } from './postgres-locks.js'

/**
 * Called by `locks('postgres://...')` of @latchkey/locks. The function creates the table if the table is
 * missing. close() ends the pool.
 */
export async function locksFromUrl(
  url: string,
  options: Omit<PostgresOptions<'bytes' | 'string'>, 'pool'> = {},
): Promise<PostgresLocks<'bytes' | 'string'>> {
  const pool = await poolTo(url)
  const made = makeLocks({ ...options, pool }, () => pool.end())
  try {
    await made.migrate()
  } catch (cause) {
    await made.close()
    throw refusedByServer(
      'The table of locks could not be made. Check the address, and that its user may create tables.',
      cause,
    )
  }
  return made
}

const poolTo = (url: string): Promise<PgPool> =>
  withDriver('a postgres:// address', 'pg', async () => {
    const { default: pg } = (await import('pg')) as unknown as {
      default: { Pool: new (options: object) => PgPool }
    }
    return new pg.Pool({ connectionString: url, max: 5 })
  })
