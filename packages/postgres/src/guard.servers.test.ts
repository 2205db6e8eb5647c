// Test: guards inside transactions of PostgreSQL: which writes they prevent, which callers wait for them, and
// which do not.

import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgresLocks } from './index.js'
import { needed, poolTo } from './testing/servers.js'

const pool = poolTo(needed('POSTGRES_URL'))
const engine = postgresLocks({ pool, table: 'guarded', poll: '300ms' })
beforeAll(async () => {
  await engine.migrate()
  await pool.query('CREATE TABLE IF NOT EXISTS accounts (name text PRIMARY KEY, amount integer)')
})
afterAll(async () => {
  await engine.close()
  await pool.end()
})

let keys = 0
const newKey = () => `guard/${++keys}`

async function inTransaction<T>(run: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const result = await run(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

const amountOf = async (name: string) => {
  const { rows } = await pool.query('SELECT amount FROM accounts WHERE name = $1', [name])
  return (rows[0] as { amount: number } | undefined)?.amount
}

test('a write before a guard that fails is rolled back with it', async () => {
  const key = newKey()
  const hold = await engine.locks.acquire(key)
  await hold.release()
  const late = inTransaction(async (client) => {
    await client.query('INSERT INTO accounts VALUES ($1, 1)', [key])
    await engine.guard(client, hold)
  })
  await expect(late).rejects.toMatchObject({ code: 'ERR_FENCED', token: hold.token, key })
  expect(await amountOf(key)).toBeUndefined()
})

test('EN1: while a guarded transaction is open nobody gets the lock, though its lease is over; then the next does', async () => {
  const key = newKey()
  const order: string[] = []
  const hold = await engine.locks.acquire(key, { lease: '6s', renew: false })
  const next = await inTransaction(async (client) => {
    await engine.guard(client, hold)
    const waiting = engine.locks.acquire(key, { wait: '30s' }).then((got) => {
      order.push('next holder')
      return got
    })
    // The lease ends, and the next one asks in vain.
    await new Promise((resolve) => setTimeout(resolve, 7_000))
    expect(hold.held).toBe(false)
    await client.query('INSERT INTO accounts VALUES ($1, 1)', [key])
    order.push('late write')
    return { waiting }
  })
  expect((await next.waiting).token).toBeGreaterThan(hold.token)
  expect(order).toEqual(['late write', 'next holder'])
  expect(await amountOf(key)).toBe(1)
})

test('a guarded transaction stops neither the renewal nor the release of its own hold, nor who is refused', async () => {
  const key = newKey()
  const hold = await engine.locks.acquire(key, { lease: '10s' })
  await inTransaction(async (client) => {
    await engine.guard(client, hold)
    await new Promise((resolve) => setTimeout(resolve, 11_000))
    expect(hold.held).toBe(true)
    expect(await engine.locks.tryAcquire(key)).toBeUndefined()
    await hold.release()
  })
  expect(await engine.locks.tryAcquire(key, { wait: '10s' })).toMatchObject({ held: true })
})

test('a connection that is lost in the middle of a guarded transaction writes nothing, and frees the lock', async () => {
  const key = newKey()
  const hold = await engine.locks.acquire(key, { lease: '10s', renew: false })
  const client = await pool.connect()
  client.on('error', () => {})
  await client.query('BEGIN')
  await engine.guard(client, hold)
  await client.query('INSERT INTO accounts VALUES ($1, 1)', [key])
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  await pool.query('SELECT pg_terminate_backend($1)', [(rows[0] as { pid: number }).pid])
  await expect(client.query('COMMIT')).rejects.toThrow()
  client.release(true)
  const next = await engine.locks.acquire(key, { wait: '40s' })
  expect(next.held).toBe(true)
  expect(await amountOf(key)).toBeUndefined()
})

test('the guard is a function of SQL too, for keys of text', async () => {
  const key = newKey()
  const hold = await engine.locks.acquire(key)
  const { rows } = await pool.query('SELECT guarded_guard($1::text, $2) AS ok', [key, hold.token])
  expect(rows).toEqual([{ ok: true }])
  const wrong = pool.query('SELECT guarded_guard($1::text, $2)', [key, hold.token + 1])
  await expect(wrong).rejects.toMatchObject({ code: 'LKFEN' })
})

test('a guard outside of a transaction is a TypeError: it would guard nothing', async () => {
  const hold = await engine.locks.acquire(newKey())
  await expect(engine.guard(pool, hold)).rejects.toThrow(/inside a transaction/)
})

test('EN2: a pruned lock comes back with a higher token; locks that are held or waited for are not pruned', async () => {
  const [idle, held] = [newKey(), newKey()]
  const first = await engine.locks.acquire(idle)
  await first.release()
  const kept = await engine.locks.acquire(held)
  expect(await engine.prune()).toBe(0)
  const longAgo = "UPDATE guarded SET since = 1 WHERE key = convert_to($1, 'UTF8')"
  for (const key of [idle, held]) await pool.query(longAgo, [key])
  expect(await engine.prune()).toBe(1)
  expect((await engine.locks.acquire(idle)).token).toBeGreaterThan(first.token)
  expect(kept.held).toBe(true)
})

test('without its table an engine says what to do', async () => {
  await using other = postgresLocks({ pool, table: 'never_made' })
  await expect(other.locks.acquire('k')).rejects.toThrow(/Run migrate\(\) once/)
})
