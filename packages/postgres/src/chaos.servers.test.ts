// Test: chaos on PostgreSQL. Eight clients acquire and release one lock and write under its guard, while the
// server is killed and started again. No holder writes after it has lost its lock, and each acknowledged
// write is there.

import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgresLocks } from './index.js'
import { needed, poolTo, restart } from './testing/servers.js'

const CLIENTS = 8
const RESTARTS = 3
const clock = systemClock(uptime)
const pause = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))

const pool = poolTo(needed('POSTGRES_URL'), 30)
const admin = postgresLocks({ pool, table: 'chaos' })
beforeAll(async () => {
  await admin.migrate()
  await pool.query('CREATE TABLE history (nth serial PRIMARY KEY, token bigint, write uuid)')
})
afterAll(async () => {
  await admin.close()
  await pool.end()
})

interface Done {
  readonly answered: Set<string>
  fenced: number
  failed: number
}

/** One round: takes the lock, sometimes sleeps beyond its lease, and writes in a guarded transaction. */
async function round(
  engine: ReturnType<typeof postgresLocks>,
  done: Done,
  oversleeps: boolean,
): Promise<void> {
  const hold = await engine.locks.acquire('resource', {
    lease: '400ms',
    renew: !oversleeps,
    wait: '20s',
  })
  if (oversleeps) await pause(600)
  const client = await pool.connect()
  let lost: Error | undefined
  const onLost = (error: Error) => {
    lost = error
  }
  client.on('error', onLost)
  const write = crypto.randomUUID()
  try {
    await client.query('BEGIN')
    await engine.guard(client, hold)
    await client.query('INSERT INTO history (token, write) VALUES ($1, $2)', [hold.token, write])
    await client.query('COMMIT')
    done.answered.add(write)
  } catch (error) {
    lost = error as Error
    if ((error as { code?: unknown }).code === 'ERR_FENCED') done.fenced++
    await client.query('ROLLBACK').catch(() => {})
  } finally {
    client.removeListener('error', onLost)
    client.release(lost)
  }
  await hold.release()
}

test('EN1: no write of a holder that lost its lock, while the server is killed and started again under eight clients', async () => {
  const done: Done = { answered: new Set(), fenced: 0, failed: 0 }
  const engines = Array.from({ length: CLIENTS }, () =>
    postgresLocks({ pool, table: 'chaos', poll: '300ms' }),
  )
  let stop = false
  const clients = engines.map(async (engine, i) => {
    for (let n = 0; !stop; n++) await round(engine, done, (n + i) % 7 === 0).catch(() => done.failed++)
  })
  for (let n = 0; n < RESTARTS; n++) {
    await pause(2_500)
    await restart()
  }
  await pause(2_500)
  // The run must do what it is for, however slow this machine is.
  while (done.answered.size <= 20 || done.fenced === 0) await pause(100)
  stop = true
  await Promise.all(clients)
  await Promise.all(engines.map((engine) => engine.close()))

  const { rows } = await pool.query('SELECT token, write FROM history ORDER BY nth')
  const history = rows as { token: string; write: string }[]
  const late = history.filter(({ token }, i) => i > 0 && Number(token) < Number(history[i - 1]?.token))
  expect(late).toEqual([])
  const written = new Set(history.map(({ write }) => write))
  expect([...done.answered].filter((write) => !written.has(write))).toEqual([])
  console.log(
    `writes: ${history.length}, fenced: ${done.fenced}, rounds that the server's death ended: ${done.failed}`,
  )
})
