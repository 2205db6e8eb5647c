// Test: PostgreSQL's engine without a server: its arguments, its SQL, and how it interprets errors of pg.

import type pg from 'pg'
import { expect, test } from 'vitest'
import { postgresLocks } from './index.js'
import { toLockError } from './outcome-of-pg-error.js'
import type { PgPool } from './pg-types.js'

/** A pool that reaches nobody. */
const pool = {
  query: () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })),
  on: () => {},
} as unknown as pg.Pool satisfies PgPool

test('wrong options are a TypeError that names them', () => {
  expect(() => postgresLocks({} as never)).toThrow(/pool must be a pg.Pool/)
  expect(() => postgresLocks({ pool, tabel: 'x' } as never)).toThrow(
    /unknown option "tabel" of postgresLocks: did you mean "table"/,
  )
  for (const table of ['a; DROP TABLE b', 'Locks', 'a.b.c', '', 'a'.repeat(40), 7])
    expect(() => postgresLocks({ pool, table: table as string })).toThrow(/table must be a name/)
  expect(() => postgresLocks({ pool, listen: 7 as never })).toThrow(/listen must be/)
})

test('sql() names the table that was asked for, and nothing else', () => {
  const sql = postgresLocks({ pool, table: 'app.locks' }).sql()
  expect(sql).toContain('CREATE TABLE IF NOT EXISTS app.locks (')
  expect(sql).toContain('CREATE SEQUENCE IF NOT EXISTS app.locks_numbers')
  expect(sql).not.toContain('latchkey_locks')
  expect(sql.match(/CREATE TABLE/g)).toHaveLength(1)
})

test('without LISTEN the capabilities say poll', async () => {
  await using engine = postgresLocks({ pool, listen: false })
  expect(engine.capabilities).toEqual({
    fencing: 'enforced',
    queue: 'fair',
    wakeUp: 'poll',
    survives: 'restart',
    time: 'server',
  })
})

test('a server that is not there: the wait ends with ERR_NO_LEADER, and nothing was applied', async () => {
  await using engine = postgresLocks({ pool })
  const error = await engine.locks.acquire('k', { wait: '3s' }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'ERR_NO_LEADER', outcome: 'not-applied' })
  await expect(engine.locks.query(undefined, { timeout: '3s' })).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
  })
})

test.each([
  [{ code: 'ECONNREFUSED' }, 'ERR_NO_LEADER', 'not-applied'],
  [{ message: 'timeout exceeded when trying to connect' }, 'ERR_NO_LEADER', 'not-applied'],
  [{ code: '57P01' }, 'ERR_NO_LEADER', 'not-applied'],
  [{ code: '08006' }, 'ERR_NO_LEADER', 'not-applied'],
  [{ message: 'Connection terminated unexpectedly' }, 'ERR_OUTCOME_UNKNOWN', 'unknown'],
  [{ code: 'ECONNRESET' }, 'ERR_OUTCOME_UNKNOWN', 'unknown'],
  [{ code: '40001' }, 'ERR_TIMEOUT', 'not-applied'],
  [{ code: '55P03' }, 'ERR_TIMEOUT', 'not-applied'],
  [{ code: '53400' }, 'ERR_BUSY', 'not-applied'],
  [{ code: '42501' }, 'ERR_FORBIDDEN', 'not-applied'],
  [{ code: '42883' }, 'ERR_FORBIDDEN', 'not-applied'],
])('%o of pg is %s, %s', (fields, code, outcome) => {
  const error = Object.assign(new Error('of pg'), fields)
  expect(toLockError(error, 'migrate')).toMatchObject({ code, outcome, cause: error })
})
