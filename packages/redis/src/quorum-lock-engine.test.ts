// Test: the engine on a quorum, with three masters in memory and a manual clock: what a majority decides, how
// long a hold lasts, and which votes are given back.

import { utf8 } from '@latchkey/base'
import { ClientClock, type LockEngine, notReached, type TakeAnswer } from '@latchkey/lock'
import { LockMemory, memoryEngine } from '@latchkey/locks'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { QuorumEngine } from './quorum-lock-engine.js'
import { Master } from './quorum-master.js'
import type { RedisCalls } from './redis-calls.js'

const KEY = utf8('k')
const LEASE = 1_000
/** Of a lease of 1,000 ms, a holder may use 990 ms, and the last of them is spared for rounding. */
const PART = 0.99
const OWN_LEASE = 989

type Call = keyof Omit<LockEngine, 'capabilities' | 'listen' | 'close'>

function threeMasters() {
  const clock = new ManualClock()
  const time = new ClientClock(clock)
  const servers = ['a', 'b', 'c'].map(() => {
    const memory = new LockMemory(clock)
    const engine = memoryEngine(memory)
    const server = {
      memory,
      isDown: false,
      /** While this promise is pending, answers of the server stay on their way. */
      way: Promise.resolve(),
      calls: {} as RedisCalls,
    }
    const call =
      (name: Call) =>
      async (...args: unknown[]) => {
        if (server.isDown) throw notReached()
        const run = engine[name] as (...given: unknown[]) => Promise<unknown>
        const answer = await run(...args)
        await server.way
        return answer
      }
    const names: Call[] = ['take', 'renew', 'release', 'cancel', 'rotate', 'forceRelease', 'query', 'time']
    server.calls = Object.fromEntries(names.map((name) => [name, call(name)])) as unknown as RedisCalls
    return server
  })
  const masters = servers.map(({ calls }) => new Master(calls, clock, time, PART))
  let isEnded = false
  const engine = new QuorumEngine({ masters, time, part: PART, seed: 'votes' }, () => (isEnded = true))
  const take = (id: string, more: object = {}) =>
    engine.take({
      key: KEY,
      id,
      lease: LEASE,
      context: null,
      queues: true,
      patience: 5_000,
      before: 1e9,
      ...more,
    })
  /** The ids that hold the lock at the masters. */
  const holders = () => servers.map(({ memory }) => memory.query(() => true, false)[0]?.[1])
  /** Gives a vote of a master to another client. */
  const occupy = (at: number, id: string, lease = LEASE) =>
    servers[at]?.memory.take({ ...REQUEST, id, lease })
  return { clock, servers, engine, take, holders, occupy, isEnded: () => isEnded }
}

const REQUEST = { key: KEY, context: null, queues: false, patience: 0, before: 1e9 }
/** A promise, and the function that resolves it. */
function gate(): { readonly closed: Promise<void>; readonly open: () => void } {
  let open = () => {}
  const closed = new Promise<void>((resolve) => (open = resolve))
  return { closed, open }
}
const settled = async () => {
  for (let i = 0; i < 50; i++) await Promise.resolve()
}

test('this process counts the acquires of a hold, and the last release ends the hold', async () => {
  const { clock, engine, take, holders } = threeMasters()
  const first = await take('me', { context: utf8('first') })
  expect(first).toMatchObject({ code: 'FIRST_TIME', now: 1, queued: false })
  expect(first.hold).toMatchObject({ id: 'me', acquires: 1, deadline: 1 + OWN_LEASE, context: utf8('first') })
  clock.advance(10)
  const second = await take('me', { lease: 100 })
  // A shorter lease does not shorten the hold.
  expect(second).toMatchObject({ code: 'REENTRANT', now: 11 })
  expect(second.hold).toEqual({ ...first.hold, acquires: 2 })
  clock.advance(10)
  const third = await take('me')
  expect(third.hold).toEqual({ ...first.hold, acquires: 3, deadline: 21 + OWN_LEASE })
  for (const acquires of [2, 1])
    expect(await engine.release(KEY, 'me', false)).toMatchObject({ code: 'DECREMENTED', hold: { acquires } })
  expect(new Set(holders()).size).toBe(1)
  expect(await engine.release(KEY, 'me', false)).toMatchObject({ code: 'RELEASED', hold: { acquires: 1 } })
  expect(holders()).toEqual([undefined, undefined, undefined])
  expect(await engine.release(KEY, 'me', false)).toMatchObject({ code: 'NOT_HELD', hold: undefined })
  await take('me')
  await take('me')
  expect(await engine.release(KEY, 'me', true)).toMatchObject({ code: 'RELEASED', hold: { acquires: 2 } })
})

test('a release after the end of the lease says so, and a release by another caller names the holder', async () => {
  const { clock, engine, take, occupy } = threeMasters()
  await take('me')
  // At its last moment the hold is still in force.
  clock.advance(OWN_LEASE)
  expect(await engine.release(KEY, 'me', false)).toMatchObject({ code: 'RELEASED' })
  await take('me')
  clock.advance(OWN_LEASE + 1)
  expect(await engine.release(KEY, 'me', false)).toMatchObject({ code: 'EXPIRED', hold: { id: 'me' } })
  for (const at of [0, 1, 2]) occupy(at, 'other')
  expect(await engine.release(KEY, 'me', false)).toMatchObject({ code: 'NOT_OWNER', hold: { id: 'other' } })
})

test('a caller without a majority gives its votes back, and is told the holder and when to ask again', async () => {
  const { clock, take, holders, occupy } = threeMasters()
  occupy(0, 'x', 5_000)
  occupy(1, 'x', 4_000)
  const refused = await take('me')
  await settled()
  expect(holders()).toEqual(['x', 'x', undefined])
  expect(refused).toMatchObject({ code: 'HELD', queued: true, hold: { id: 'x' } })
  expect(refused.again).toBeGreaterThanOrEqual(50)
  expect(refused.again).toBeLessThanOrEqual(250)
  expect(await take('me', { queues: false })).toMatchObject({ code: 'HELD', queued: false })
  // The caller that most masters name is shown, and one whose lease has ended is not.
  clock.advance(4_500)
  occupy(2, 'y')
  occupy(1, 'y')
  expect((await take('me')).hold).toMatchObject({ id: 'y' })
  clock.advance(501)
  expect((await take('me')).hold).toMatchObject({ id: 'y' })
  clock.advance(500)
  expect(await take('me')).toMatchObject({ hold: { id: 'me' } })
})

test('a majority that is complete after the lease, or too late for the caller, is given back', async () => {
  const { clock, servers, take, holders } = threeMasters()
  const late = async (more: object, ms: number): Promise<TakeAnswer> => {
    const arrived = gate()
    for (const server of servers) server.way = arrived.closed
    const answer = take('me', more)
    await settled()
    clock.advance(ms)
    for (const server of servers) server.way = Promise.resolve()
    arrived.open()
    const given = await answer
    await settled()
    return given
  }
  // The first call of a master only reads the time.
  await take('somebody').then(({ hold }) => expect(hold).toBeDefined())
  for (const { memory } of servers) memory.forceRelease(KEY, 1)
  expect(await late({ lease: 500 }, 495)).toMatchObject({ code: 'HELD', hold: undefined })
  expect(holders()).toEqual([undefined, undefined, undefined])
  const now = clock.now() + 1
  expect(await late({ before: now + 100 }, 101)).toMatchObject({
    code: 'LATE',
    hold: undefined,
    queued: false,
  })
  expect(holders()).toEqual([undefined, undefined, undefined])
  expect(await late({ lease: 500 }, 400)).toMatchObject({ hold: { id: 'me' } })
  // A request that is already too late is not sent.
  expect(await take('you', { before: clock.now() })).toMatchObject({ code: 'LATE', hold: undefined })
})

test('a hold that continues keeps its votes when a further take fails', async () => {
  const { servers, engine, take, holders } = threeMasters()
  await take('me')
  for (const { memory } of servers.slice(0, 2)) memory.forceRelease(KEY, 1)
  expect(await take('me')).toMatchObject({ code: 'REENTRANT', hold: { acquires: 2 } })
  for (const server of servers.slice(0, 2)) server.isDown = true
  await expect(take('me')).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
  await settled()
  expect(holders()[2]).toBeDefined()
  expect(await engine.release(KEY, 'me', false)).toMatchObject({ code: 'DECREMENTED' })
  await expect(engine.release(KEY, 'me', false)).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
})

test('a renewal needs a majority, and a hold that a majority has lost is given back', async () => {
  const { clock, servers, engine, take, holders } = threeMasters()
  await take('me')
  clock.advance(100)
  const renew = async (lease = LEASE) => (await engine.renew([{ key: KEY, id: 'me', lease }])).holds[0]
  expect(await renew()).toMatchObject({ id: 'me', deadline: 101 + OWN_LEASE })
  expect(await renew(10)).toMatchObject({ deadline: 101 + OWN_LEASE })
  const [a, b, c] = servers as [(typeof servers)[0], (typeof servers)[0], (typeof servers)[0]]
  a.isDown = true
  expect(await renew()).toBeDefined()
  b.isDown = true
  await expect(renew()).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
  a.isDown = b.isDown = false
  for (const { memory } of [a, b]) memory.forceRelease(KEY, 1)
  expect(await renew()).toBeUndefined()
  await settled()
  expect(holders()).toEqual([undefined, undefined, undefined])
  expect(c.memory.isHeldWith(KEY, 1)).toBe(false)
  await take('me')
  clock.advance(OWN_LEASE + 1)
  expect(await renew()).toBeUndefined()
})

test('rotate, cancel and a forced release count votes, too', async () => {
  const { clock, servers, engine, take, holders, isEnded } = threeMasters()
  const { hold } = await take('me')
  const rotated = await engine.rotate(KEY, 'me')
  expect(rotated.hold).toMatchObject({ id: 'me', acquires: 1, deadline: hold?.deadline })
  expect(rotated.hold?.token).not.toBe(hold?.token)
  expect(await engine.cancel([{ key: KEY, id: 'me' }])).toEqual({ now: 1, tokens: [rotated.hold?.token] })
  expect(holders()).toEqual([undefined, undefined, undefined])
  expect((await engine.cancel([{ key: KEY, id: 'me' }])).tokens).toEqual([0])
  expect((await engine.rotate(KEY, 'me')).hold).toBeUndefined()
  await take('me')
  const vote = holders()[0] ?? ''
  for (const { memory } of servers.slice(0, 2)) memory.cancel(KEY, vote)
  expect((await engine.rotate(KEY, 'me')).hold).toBeUndefined()
  for (const { memory } of servers) memory.cancel(KEY, holders()[2] ?? '')

  const token = (await take('you')).hold?.token as number
  const [a, b] = servers as [(typeof servers)[0], (typeof servers)[0]]
  expect(await engine.forceRelease(KEY, token + 1)).toMatchObject({ ended: false })
  a.isDown = b.isDown = true
  const calls = [
    engine.forceRelease(KEY, token),
    engine.rotate(KEY, 'you'),
    engine.cancel([{ key: KEY, id: 'you' }]),
    engine.query({ prefix: null, isKey: false, queue: false }),
  ]
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
  clock.advance(1)
  expect(await engine.time()).toEqual({ now: 2 })
  await engine.close()
  expect(isEnded()).toBe(true)
})

test('a query shows the holds of a majority, with the time that a majority still grants', async () => {
  const { engine, servers, occupy } = threeMasters()
  for (const [at, lease] of [3_000, 1_000, 2_000].entries()) occupy(at, 'x', lease)
  occupy(1, 'x', 1_000)
  const only = { ...REQUEST, key: utf8('a'), id: 'y' }
  servers[0]?.memory.take({ ...only, lease: 5_000 })
  const rows = async () => (await engine.query({ prefix: null, isKey: false, queue: false })).rows
  expect(await rows()).toEqual([[KEY, 'x', null, 1, 2, 2_000, 0, 0, null, 0]])
  servers[2]?.memory.take({ ...only, lease: 4_000 })
  expect((await rows()).map(([key, id, , , , left]) => [String.fromCharCode(...key), id, left])).toEqual([
    ['a', 'y', 4_000],
    ['k', 'x', 2_000],
  ])
})

test('a master that is silent for a second has no vote, and its late grant is given back', async () => {
  const { clock, servers, engine, take, holders } = threeMasters()
  await take('somebody')
  await engine.release(KEY, 'somebody', false)
  const arrived = gate()
  const [a, b] = servers as [(typeof servers)[0], (typeof servers)[0]]
  a.way = b.way = arrived.closed
  const lost = expect(take('me', { lease: 60_000 })).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' })
  await settled()
  clock.advance(1_000)
  await lost
  a.way = b.way = Promise.resolve()
  arrived.open()
  await settled()
  expect(holders()).toEqual([undefined, undefined, undefined])
  expect(clock.armed).toBe(0)
})
