// Test: chaos on etcd. Eight clients acquire and release one lock and write under its guard, while one of
// three servers at a time is killed and started again. No holder writes after it has lost its lock, and each
// acknowledged write is there.

import { newId } from '@latchkey/base'
import { expect, test } from 'vitest'
import { type EtcdLocks, etcdLocks } from './index.js'
import { clientTo, pause, startServers } from './testing/servers.js'

const CLIENTS = 8

interface Done {
  readonly answered: Set<string>
  fenced: number
  failed: number
}

test('EN1: no write of a holder that lost its lock, while one server at a time is killed and started again under eight clients', async () => {
  await using servers = await startServers()
  const done: Done = { answered: new Set(), fenced: 0, failed: 0 }
  const clients = Array.from({ length: CLIENTS }, () => clientTo(servers.urls))
  const round = async (engine: EtcdLocks, client: (typeof clients)[0], oversleeps: boolean) => {
    const options = { lease: '700ms', renew: !oversleeps, wait: '20s' } as const
    const hold = await engine.locks.acquire('resource', options)
    if (oversleeps) await pause(1_000)
    const write = newId()
    try {
      await engine.guard(hold, client.put(`written/${write}`).value(String(hold.token)))
      done.answered.add(write)
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_FENCED') done.fenced++
      else done.failed++
    }
    await hold.release()
  }
  let stop = false
  const work = clients.map(async (client, i) => {
    await using engine = etcdLocks({ client, poll: '300ms' })
    for (let n = 0; !stop; n++)
      await round(engine, client, (n + i) % 7 === 0).catch(() => {
        done.failed++
      })
  })
  for (let n = 0; n < 3; n++) {
    await pause(2_000)
    const victim = n === 1 ? await servers.leader() : n
    await servers.kill(victim)
    await pause(2_000)
    await servers.start(victim)
  }
  await pause(2_000)
  // The run must do what it is for, however slow this machine is.
  while (done.answered.size <= 20 || done.fenced === 0) await pause(100)
  stop = true
  await Promise.all(work)
  for (const client of clients) client.close()

  const { kvs } = await servers.client.getAll().prefix('written/').exec()
  const history = kvs.sort((a, b) => Number(a.mod_revision) - Number(b.mod_revision))
  const tokens = history.map(({ value }) => Number(value.toString()))
  expect(tokens).toEqual([...tokens].sort((a, b) => a - b))
  expect(new Set(tokens).size).toBe(tokens.length)
  const written = new Set(history.map(({ key }) => key.toString().slice('written/'.length)))
  expect([...done.answered].filter((write) => !written.has(write))).toEqual([])
  console.log(
    `writes: ${history.length}, fenced: ${done.fenced}, rounds that a server's death ended: ${done.failed}`,
  )
})
