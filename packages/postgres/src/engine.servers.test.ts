// Test: single cases of PostgreSQL's engine that the suite cannot cause: late calls, missed pushes, rows that
// other transactions lock, and lists that overlap.

import { newId, utf8 } from '@latchkey/base'
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

test('EN4: a take whose time is over is LATE, and leaves neither a hold nor a place', async () => {
  const { now } = await engine.time()
  expect((await engine.take({ ...request('late'), before: now - 1 })).code).toBe('LATE')
  expect(await holdsOf('late')).toEqual([])
  const holder = await engine.take(request('late'))
  expect(holder.code).toBe('FIRST_TIME')
  expect((await engine.take({ ...request('late'), before: now - 1 })).code).toBe('LATE')
  expect((await holdsOf('late'))[0]?.[6]).toBe(0)
})

test('no time of a query is negative after the clock of the server was set back', async () => {
  const [holder, waiter] = [request('clock set back'), request('clock set back')]
  await engine.take(holder)
  await engine.take(waiter)
  await pool.query(`UPDATE ${TABLE} SET since = since + 3600000 WHERE key = 'clock set back'::bytea`)
  const [[, id, , , , , , held, queue] = []] = await holdsOf('clock set back')
  expect([id, held]).toEqual([holder.id, 0])
  expect(queue).toEqual([[waiter.id, null, 0, 0]])
})

test('EN3: a shorter lease never shortens a hold, and a longer lease lengthens it', async () => {
  const holder = request('lengthened')
  const { key, id } = holder
  const taken = async (lease: number) => (await engine.take({ ...holder, lease })).hold?.deadline ?? 0
  const renewed = async (lease: number) => (await engine.renew([{ key, id, lease }])).holds[0]?.deadline ?? 0
  let deadline = await taken(60_000)
  let longer = 60_000
  for (const call of [taken, renewed]) {
    expect(await call(1)).toBe(deadline)
    longer *= 60
    const later = await call(longer)
    expect(later).toBeGreaterThan(deadline)
    deadline = later
  }
})

test('EN5: who is cancelled leaves the queue, and the next one is first', async () => {
  const [a, b, c] = [request('cancelled'), request('cancelled'), request('cancelled')]
  await engine.take(a)
  await engine.take(b)
  await engine.take(c)
  expect(await engine.cancel([b, a])).toMatchObject({ tokens: [0, expect.any(Number)] })
  expect((await engine.take({ ...b, id: newId(), queues: false })).code).toBe('HELD')
  expect((await engine.take(c)).code).toBe('FIRST_TIME')
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

test('contexts and keys of any bytes come back as they were given', async () => {
  const bytes = Uint8Array.of(0, 255, 39, 92, 10)
  await engine.take({ ...request('x'), key: bytes, context: bytes })
  await engine.take({ ...request('x'), key: bytes, context: "a ' \\ 𝄞" })
  const { rows } = await engine.query({ prefix: bytes, isKey: true, queue: true })
  expect([...(rows[0]?.[0] ?? [])]).toEqual([...bytes])
  expect([...((rows[0]?.[2] ?? []) as Uint8Array)]).toEqual([...bytes])
  expect(rows[0]?.[8]?.[0]?.[1]).toBe("a ' \\ 𝄞")
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
