// Test: chaos on Redis. Eight clients acquire and release one lock and write with its token to data that
// compares tokens, while the server of the locks is killed and started again. No holder writes after it has
// lost its lock. The same happens on three masters, of which one at a time is killed: no two clients hold the
// lock at the same time, although nothing compares tokens there.

import { newId } from '@latchkey/base'
import { expect, test } from 'vitest'
import { type Hold, redisLocks, redisQuorumLocks } from './index.js'
import { pause, startServer } from './testing/servers.js'

const CLIENTS = 8
const RESTARTS = 3

/** The data: a list of writes that refuses a token below the last one. */
const WRITE = `
if tonumber(ARGV[1]) < tonumber(redis.call('GET', 'last') or '0') then return 0 end
redis.call('SET', 'last', ARGV[1])
redis.call('RPUSH', 'writes', ARGV[1] .. ' ' .. ARGV[2])
return 1`

test('EN1: no write of a holder that lost its lock, while the server is killed and started again under eight clients', async () => {
  await using server = await startServer()
  await using data = await startServer()
  const answered = new Set<string>()
  const counts = { fenced: 0, failed: 0 }
  const engines = Array.from({ length: CLIENTS }, () =>
    redisLocks({ client: server.client, survives: 'restart', poll: '300ms' }),
  )
  const round = async (engine: (typeof engines)[0], oversleeps: boolean) => {
    const options = { lease: '400ms', renew: !oversleeps, wait: '20s' } as const
    const hold = await engine.locks.acquire('resource', options)
    if (oversleeps) await pause(600)
    const write = `${newId()}`
    if ((await data.client.eval(WRITE, 0, hold.token, write)) === 1) answered.add(`${hold.token} ${write}`)
    else counts.fenced++
    await hold.release()
  }
  let stop = false
  const clients = engines.map(async (engine, i) => {
    for (let n = 0; !stop; n++) await round(engine, (n + i) % 7 === 0).catch(() => counts.failed++)
  })
  for (let n = 0; n < RESTARTS; n++) {
    await pause(2_500)
    await server.kill()
    await pause(300)
    await server.start()
  }
  await pause(2_500)
  // The run must do what it is for, however slow this machine is.
  while (answered.size <= 20 || counts.fenced === 0) await pause(100)
  stop = true
  await Promise.all(clients)
  await Promise.all(engines.map((engine) => engine.close()))

  const writes = await data.client.lrange('writes', 0, -1)
  const tokens = writes.map((write) => Number(write.split(' ')[0]))
  expect(tokens).toEqual([...tokens].sort((a, b) => a - b))
  // Each hold has a token of its own, also after the restarts, and writes once.
  expect(new Set(tokens).size).toBe(tokens.length)
  expect(new Set(writes)).toEqual(answered)
  console.log(
    `writes: ${writes.length}, refused: ${counts.fenced}, rounds that a death ended: ${counts.failed}`,
  )
})

test('EN1: while one master at a time is killed and started again, eight clients are never inside at once', async () => {
  const masters = [await startServer(), await startServer(), await startServer()]
  const clients = masters.map(({ client }) => client)
  const engines = Array.from({ length: CLIENTS }, () => redisQuorumLocks({ clients }))
  const inside = new Set<Hold>()
  const counts = { both: 0, rounds: 0, failed: 0 }
  let stop = false
  const round = async ({ locks }: (typeof engines)[0]) => {
    const hold = await locks.acquire('resource', { lease: '2s', wait: '20s' })
    // Two that both believe in their holds.
    if ([...inside].some((other) => other.held) && hold.held) counts.both++
    inside.add(hold)
    for (let n = 0; n < 3; n++) await pause(5)
    inside.delete(hold)
    counts.rounds++
    await hold.release()
  }
  const work = engines.map(async (engine) => {
    while (!stop) await round(engine).catch(() => counts.failed++)
  })
  for (const master of masters) {
    await pause(1_200)
    await master.kill()
    await pause(1_200)
    await master.start()
  }
  await pause(1_000)
  // The run must do what it is for, however slow this machine is.
  while (counts.rounds <= 20) await pause(100)
  stop = true
  await Promise.all(work)
  await Promise.all(engines.map((engine) => engine.close()))
  await Promise.all(masters.map((master) => master[Symbol.asyncDispose]()))
  expect(counts.both).toBe(0)
  console.log(`rounds: ${counts.rounds}, rounds that a death ended: ${counts.failed}`)
})
