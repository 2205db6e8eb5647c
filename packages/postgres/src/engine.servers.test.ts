// Test: single cases of PostgreSQL's engine that the suite cannot cause: late calls, missed pushes, rows that
// other transactions lock, and lists that overlap.

import { newId, utf8 } from '@latchkey/base'
import { engineCallTests } from '@latchkey/locks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgresLocks } from './index.js'
import { PostgresEngine } from './postgres-lock-engine.js'
import { needed, poolTo } from './testing/servers.js'

const TABLE = 'single_calls'
const pool = poolTo(needed('POSTGRES_URL'))
const engine = new PostgresEngine(pool, TABLE, undefined, async () => {})
beforeAll(async () => {
  await using locks = postgresLocks({ pool, table: TABLE })
  await locks.migrate()
})
afterAll(() => pool.end())

const request = (name: string) => ({
  key: utf8(name),
  id: newId(),
  lease: 60_000,
  context: null,
  queues: true,
  patience: 60_000,
  before: Number.MAX_SAFE_INTEGER,
})
const holdsOf = async (name: string) =>
  (await engine.query({ prefix: utf8(name), isKey: true, queue: true })).rows

engineCallTests(test, engine)

test('no time of a query is negative after the clock of the server was set back', async () => {
  const [holder, waiter] = [request('clock set back'), request('clock set back')]
  await engine.take(holder)
  await engine.take(waiter)
  await pool.query(`UPDATE ${TABLE} SET since = since + 3600000 WHERE key = 'clock set back'::bytea`)
  const [[, id, , , , , , held, queue] = []] = await holdsOf('clock set back')
  expect([id, held]).toEqual([holder.id, 0])
  expect(queue).toEqual([[waiter.id, null, 0, 0]])
})

test('a statement that waits for a row that somebody else has locked ends by itself, not applied', async () => {
  await engine.take(request('locked'))
  const other = await pool.connect()
  await other.query('BEGIN')
  await other.query(`SELECT 1 FROM ${TABLE} WHERE key = 'locked'::bytea FOR UPDATE`)
  await expect(engine.take(request('locked'))).rejects.toMatchObject({
    code: 'ERR_TIMEOUT',
    retryable: true,
    outcome: 'not-applied',
  })
  await other.query('ROLLBACK')
  other.release()
})

test('lists that name the same locks in different orders never wait for each other', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `list/${i}`)
  const held = names.map((name) => request(name))
  for (const one of held) await engine.take(one)
  const renewals = Array.from({ length: 30 }, (_, i) => {
    const list = i % 2 === 0 ? held : held.toReversed()
    return i % 3 === 0 ? engine.cancel(list.map(({ key }) => ({ key, id: 'nobody' }))) : engine.renew(list)
  })
  await Promise.all(renewals)
  expect((await engine.renew(held)).holds.every((hold) => hold !== undefined)).toBe(true)
})

test('EN7: a push that was missed while the listening connection was lost is made up for', async () => {
  await using a = postgresLocks({ pool, table: TABLE, poll: '10m', patience: '1h' })
  await using b = postgresLocks({ pool, table: TABLE, poll: '10m', patience: '1h' })
  const listeners = async () => {
    const { rows } = await pool.query(
      `SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN ${TABLE}' AND pid <> pg_backend_pid()`,
    )
    return rows as { pid: number }[]
  }
  const hold = await a.locks.acquire('missed', { lease: '10m' })
  const waiting = b.locks.acquire('missed', { wait: '50s' })
  await expect.poll(listeners).toHaveLength(1)
  await expect.poll(async () => (await a.locks.query('missed'))[0]?.waiters).toBe(1)
  for (const { pid } of await listeners()) await pool.query('SELECT pg_terminate_backend($1)', [pid])
  await hold.release()
  expect((await waiting).held).toBe(true)
})
