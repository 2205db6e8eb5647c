// Driver: postgresLocks(): locks in a table of the user's database.

import { uptime } from 'node:os'
import { asBuffer, systemClock } from '@latchkey/base'
import { ENGINE_OPTIONS, type EngineLocks, engineLocks, type EngineOptions, guardedKey } from '@latchkey/lock'
import { CAPS, fenced, knownNames, refuseUnknown } from '@latchkey/protocol'
import { Listening } from './listen-connection.js'
import { toLockError } from './outcome-of-pg-error.js'
import type { PgClient, PgListener, PgPool } from './pg-types.js'
import { PostgresEngine } from './postgres-lock-engine.js'
import { FENCED_STATE, schemaSql, tableArg } from './sql-schema.js'

export interface PostgresOptions<S extends 'bytes' | 'string' = 'bytes'> extends EngineOptions<S> {
  /** A `pg.Pool`. close() does not end your pool. */
  pool: PgPool
  /** The table, with its schema if it has one, for example 'app.locks'. Default: 'latchkey_locks'. */
  table?: string | undefined
  /**
   * The address of the connection that listens for notifications (LISTEN). With true, the default, it is the
   * address of the pool. If the pool goes through PgBouncer, give a connection string that leads to the
   * server itself. With false, waiters get no notifications and ask again after `poll`.
   */
  listen?: boolean | string | undefined
}

export interface PostgresLocks<S extends 'bytes' | 'string' = 'bytes'> extends EngineLocks<S> {
  /**
   * Call guard() inside your own transaction, on the transaction's client, before or after your writes. If
   * the lock is not held with that token, guard() throws ERR_FENCED, and the transaction cannot be committed.
   * While the transaction is open, no other caller gets the lock.
   * ```ts
   * await client.query('BEGIN')
   * await engine.guard(client, hold)
   * await client.query('UPDATE orders SET state = $1 WHERE id = $2', ['charged', 42])
   * await client.query('COMMIT')
   * ```
   */
  guard(client: PgClient, hold: { readonly key: string | Uint8Array; readonly token: number }): Promise<void>
  /**
   * Creates the table and its functions, or updates the functions. All processes may call migrate(), any
   * number of times.
   */
  migrate(): Promise<void>
  /** Returns the statements of migrate(), for users who run migrations with another tool. */
  sql(): string
  /**
   * Deletes at most 1000 rows of locks that had no holder for an hour. Resolves to the number of deleted
   * rows.
   */
  prune(): Promise<number>
}

const OPTIONS = knownNames(...ENGINE_OPTIONS, 'pool', 'table', 'listen')
const PRUNED_AFTER = 60 * 60 * 1000

/** Returns locks in a table of your own database. Call `migrate()` once, to create the table. */
export function postgresLocks<S extends 'bytes' | 'string' = 'bytes'>(
  options: PostgresOptions<S>,
): PostgresLocks<S> {
  return makeLocks(options, async () => {})
}

export function makeLocks<S extends 'bytes' | 'string' = 'bytes'>(
  options: PostgresOptions<S>,
  end: () => Promise<void>,
): PostgresLocks<S> {
  refuseUnknown(options, OPTIONS, 'option', 'postgresLocks')
  const { pool, table: named, listen = true, ...rest } = options
  if (typeof (pool as PgPool | undefined)?.query !== 'function') throw new TypeError('pool must be a pg.Pool')
  if (typeof listen !== 'boolean' && typeof listen !== 'string')
    throw new TypeError('listen must be true, false or a connection string')
  const table = tableArg(named)
  const clock = systemClock(uptime)
  ignoreLostConnections(pool)
  const listening = listen === false ? undefined : new Listening(() => listener(pool, listen), table, clock)
  const engine = new PostgresEngine(pool, table, listening, end)
  return {
    ...engineLocks<S>(engine, rest),
    ...databaseCalls(pool, table),
  }
}

const poolsWithErrorListener = new WeakSet<PgPool>()

/**
 * When an idle connection is lost, pg emits 'error' on the pool. Without a listener for this event the
 * process would end. The pool itself continues with new connections.
 */
function ignoreLostConnections(pool: PgPool): void {
  if (poolsWithErrorListener.has(pool)) return
  poolsWithErrorListener.add(pool)
  pool.on('error', () => {})
}

function databaseCalls(
  pool: PgPool,
  table: string,
): Pick<PostgresLocks, 'guard' | 'migrate' | 'sql' | 'prune'> {
  const sql = () => schemaSql(table, CAPS.waiters)
  return {
    sql,
    guard: (client, hold) => guard(client, table, hold),
    migrate: async () => {
      // Two migrations at the same time would conflict in the database's catalogue. So a second process waits
      // for the advisory lock. PostgreSQL runs the statements of one query as one transaction, and releases
      // the lock at the end of the transaction.
      await pool.query(`SELECT pg_advisory_xact_lock(hashtext('${table}')); ${sql()}`)
    },
    prune: async () => {
      const { rows } = await pool.query(prune(table), [PRUNED_AFTER])
      return rows.length
    },
  }
}

/**
 * After its row was deleted, a lock still gets a higher token than before, because tokens come from a
 * sequence.
 */
const prune = (t: string) => `
DELETE FROM ${t} WHERE ctid = ANY (ARRAY(
  SELECT l.ctid FROM ${t} AS l
  WHERE l.place = 0 AND greatest(l.deadline, l.since) < floor(extract(epoch FROM clock_timestamp()) * 1000) - $1
    AND NOT EXISTS (SELECT 1 FROM ${t} AS w WHERE w.key = l.key AND w.place > 0)
  LIMIT 1000 FOR UPDATE SKIP LOCKED
)) RETURNING 1`

async function guard(
  client: PgClient,
  table: string,
  hold: { readonly key: string | Uint8Array; readonly token: number },
): Promise<void> {
  const { token } = hold
  const name = guardedKey(hold)
  // now() is the start of the transaction. If no transaction is open, the statement is a transaction of its
  // own. Then now() equals statement_timestamp(), and `alone` is true. With parameters, pg would send several
  // messages, and the two times could differ. So the statement has no parameters.
  const bytes = `'\\x${asBuffer(name).toString('hex')}'::bytea`
  const text = `SELECT ${table}_guard(${bytes}, ${token}::bigint), now() = statement_timestamp() AS alone`
  let row: { alone: boolean } | undefined
  try {
    const { rows } = await client.query(text)
    row = rows[0] as typeof row
  } catch (error) {
    if ((error as { code?: unknown }).code === FENCED_STATE) throw fenced({ key: name, token })
    throw toLockError(error, `The functions of ${table} are missing. Run migrate() once.`)
  }
  if (row?.alone !== false) throw new TypeError(ALONE)
}
const ALONE =
  'guard() must be called inside a transaction, on the client that has begun the transaction: outside of a transaction, guard() protects nothing'

async function listener(pool: PgPool, listen: true | string): Promise<PgListener> {
  const { Client, options } = pool as unknown as {
    readonly Client: new (options: object) => PgListener
    readonly options: object
  }
  return new Client(typeof listen === 'string' ? { ...options, connectionString: listen } : options)
}
