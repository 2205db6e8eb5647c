// Driver: finds the PostgreSQL server that scripts/servers.sh has started for tests. If the server is
// missing, the test fails and is not skipped.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'

export function needed(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set: run npm run test:engines`)
  return value
}

export function poolTo(url: string, max = 20): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max })
  // The tests kill the server, so connections of the pool fail.
  pool.on('error', () => {})
  return pool
}

/** Kills the server with SIGKILL, and starts it again. */
export async function restart(): Promise<void> {
  await promisify(execFile)('bash', ['-c', needed('POSTGRES_RESTART')])
}
