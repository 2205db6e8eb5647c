// Test: the interface of lock engines in simulated time: lost and late requests, an unreachable server, and a
// clock that is set.

import { LatchkeyError } from '@latchkey/protocol'
import { LockMemory, memoryEngine } from '@latchkey/locks'
import { expect, test } from 'vitest'
import { ProcessClock, World } from '../testing/virtual-time.js'
import { mayHaveArrived, notReached } from './make-unreachable-error.js'
import { engineLocks } from './engine-lock-client.js'
import type { LockEngine } from './lock-engine-interface.js'

/** late: it is on its way until the test lets it arrive. cut: the same, and the caller is told so at once. */
type Fault = 'not reached' | 'lost' | 'late' | 'cut' | undefined

/** A server with a clock of its own, and clients whose requests meet faults. */
function scene() {
  const world = new World()
  const serverClock = new ProcessClock(world)
  const memory = new LockMemory(serverClock)
  const late: (() => unknown)[] = []
  const connect = (fault: (call: string) => Fault = () => undefined) => {
    const real = memoryEngine(memory)
    const calls: string[] = []
    const engine = new Proxy(real, {
      get(target, name: keyof LockEngine) {
        const value = target[name]
        if (typeof value !== 'function' || name === 'listen' || name === 'close') return value
        return async (...args: never[]) => {
          calls.push(name)
          const run = () => (value as (...given: never[]) => Promise<unknown>).apply(target, args)
          const what = fault(name)
          if (what === 'not reached') throw notReached()
          if (what === 'lost') {
            await run()
            throw mayHaveArrived()
          }
          if (what !== 'late' && what !== 'cut') return run()
          late.push(run)
          if (what === 'cut') throw mayHaveArrived()
          return new Promise(() => {})
        }
      },
    })
    return { ...engineLocks(engine, { poll: '1s' }, new ProcessClock(world)), calls }
  }
  /** Runs the virtual world until the promise settles. */
  const done = async <T>(promise: Promise<T>, most = 120_000): Promise<T> => {
    let isDone = false
    const ended = promise.finally(() => {
      isDone = true
    })
    ended.catch(() => {})
    for (let ms = 0; !isDone && ms < most; ms += 50) await world.advance(50)
    if (!isDone) throw new Error('it has not ended')
    return ended
  }
  return { world, serverClock, memory, connect, done, late }
}

const key = new TextEncoder().encode('k')
const all = (memory: LockMemory) => memory.query(() => true, true)

test('EN4: a take that was lost on its way cannot take the lock after its caller has given up', async () => {
  const { world, memory, connect, done, late } = scene()
  let takes = 0
  const client = connect((call) => (call === 'take' && takes++ === 0 ? 'late' : undefined))
  const abort = new AbortController()
  const attempt = client.locks.acquire('k', { lease: '1m', signal: abort.signal })
  attempt.catch(() => {})
  await world.advance(1_000)
  abort.abort()
  await expect(done(attempt)).rejects.toMatchObject({ code: 'ERR_ABORTED', outcome: 'unknown' })
  expect(client.calls).not.toContain('cancel')
  // Until the request is void it is not cancelled: the cancel could come before it.
  await world.advance(3_000)
  expect(client.calls).not.toContain('cancel')
  await world.advance(5_000)
  expect(client.calls).toContain('cancel')
  for (const arrive of late) arrive()
  expect(all(memory)).toEqual([])
})

test('EN4: a take that arrives while it is still good is found and given back', async () => {
  const { world, memory, connect, done, late } = scene()
  let takes = 0
  const client = connect((call) => (call === 'take' && takes++ === 0 ? 'late' : undefined))
  const abort = new AbortController()
  const attempt = client.locks.acquire('k', { lease: '1m', signal: abort.signal })
  attempt.catch(() => {})
  await world.advance(1_000)
  abort.abort()
  await expect(done(attempt)).rejects.toMatchObject({ code: 'ERR_ABORTED' })
  await world.advance(1_000)
  for (const arrive of late) arrive()
  expect(all(memory)).toHaveLength(1)
  await world.advance(8_000)
  expect(all(memory)).toEqual([])
})

test('a server that is away is asked again; a wait that ends meanwhile is ERR_NO_LEADER, not ERR_TIMEOUT', async () => {
  const { world, connect, done } = scene()
  let isAway = true
  const client = connect(() => (isAway ? 'not reached' : undefined))
  await expect(done(client.locks.acquire('k', { wait: '2s' }))).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
    outcome: 'not-applied',
  })
  const waiting = client.locks.acquire('k')
  await world.advance(3_000)
  isAway = false
  expect((await done(waiting)).held).toBe(true)
})

test('a take whose answer was lost is taken once: one release frees the lock', async () => {
  const { memory, connect, done } = scene()
  let takes = 0
  const client = connect((call) => (call === 'take' && takes++ === 0 ? 'lost' : undefined))
  const hold = await done(client.locks.acquire('k', { lease: '1m' }))
  expect(hold.held).toBe(true)
  await done(hold.release())
  expect(all(memory)).toEqual([])
})

test('a release whose answer was lost is ERR_OUTCOME_UNKNOWN, and goes on in the background', async () => {
  const { world, memory, connect, done } = scene()
  let isLost = true
  const client = connect((call) => (call === 'release' && isLost ? 'not reached' : undefined))
  const lock = client.getDistributedLock('k', '10m')
  expect(await done(lock.tryLock())).toBe(true)
  await expect(done(lock.unlock({ timeout: '1s' }))).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
  isLost = false
  await world.advance(5_000)
  expect(all(memory)).toEqual([])
})

test('EN8: after the clock of the server was set forward, a holder that is then paused does not believe in its hold', async () => {
  const { world, serverClock, memory, connect, done } = scene()
  const a = connect()
  const hold = await done(a.locks.acquire('k', { lease: '10s' }))
  serverClock.offset.hr += 3_600_000
  // The next answer tells the new time; the hold of before is over at the server.
  await world.advance(11_000)
  expect(hold.held).toBe(false)
  const next = await done(a.locks.acquire('k', { lease: '10s' }))
  world.stall(11_000)
  expect(memory.isHeldWith(key, next.token)).toBe(false)
  expect(next.held).toBe(false)
})

test('EN8: after the clock of the server was set back, holds can be taken and kept', async () => {
  const { world, serverClock, connect, done } = scene()
  const a = connect()
  const first = await done(a.locks.acquire('k', { lease: '10s' }))
  await done(first.release())
  await world.advance(10_000)
  serverClock.offset.hr -= 8_000
  const second = await done(a.locks.acquire('k', { lease: '1s' }))
  expect(second.remainingMillis()).toBeGreaterThan(500)
  await world.advance(5_000)
  expect(second.held).toBe(true)
})

test('EN7: a push that comes before the answer that the caller waits is not lost', async () => {
  const { world, memory, connect, done } = scene()
  const a = connect()
  const hold = await done(a.locks.acquire('k', { lease: '10m' }))
  const real = memoryEngine(memory)
  let isFirst = true
  const b = engineLocks(
    {
      ...real,
      take: async (request) => {
        const answer = await real.take(request)
        // The lock is released while the answer is on its way.
        if (isFirst) await hold.release()
        isFirst = false
        return answer
      },
    },
    { poll: '1h' },
    new ProcessClock(world),
  )
  expect((await done(b.locks.acquire('k'), 60_000)).held).toBe(true)
})

test('a refusal that no retry mends ends the call with its reason', async () => {
  const { memory, done } = scene()
  const real = memoryEngine(memory)
  const reason = new LatchkeyError('ERR_FORBIDDEN', 'no rights')
  const refusing = engineLocks({ ...real, take: () => Promise.reject(reason) })
  await expect(done(refusing.locks.acquire('k'))).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
})

test('EN4: the first try of a take is delayed, the second answered; it cannot take the lock after the release', async () => {
  const { world, memory, connect, done, late } = scene()
  let takes = 0
  const client = connect((call) => (call === 'take' && takes++ === 0 ? 'cut' : undefined))
  const hold = await done(client.locks.acquire('k', { lease: '1m' }))
  expect(late).toHaveLength(1)
  await done(hold.release())
  expect(all(memory)).toEqual([])
  for (const arrive of late) arrive()
  expect(all(memory)).toHaveLength(1)
  await world.advance(10_000)
  expect(all(memory)).toEqual([])
})

test('EN5: a waiter that leaves while it asks gets nothing afterwards', async () => {
  const { world, memory, connect, done, late } = scene()
  const a = connect()
  const hold = await done(a.locks.acquire('k', { lease: '10m' }))
  let takes = 0
  const b = connect((call) => (call === 'take' && takes++ === 1 ? 'late' : undefined))
  const abort = new AbortController()
  const waiting = b.locks.acquire('k', { lease: '10m', signal: abort.signal })
  waiting.catch(() => {})
  await world.advance(1_500)
  expect(late).toHaveLength(1)
  abort.abort()
  await expect(done(waiting)).rejects.toMatchObject({ code: 'ERR_ABORTED' })
  await done(hold.release())
  await world.advance(1_000)
  for (const arrive of late) arrive()
  expect(all(memory)).toHaveLength(1)
  await world.advance(10_000)
  expect(all(memory)).toEqual([])
})

test('one acquire of several is released once, though the answer was lost', async () => {
  const { memory, connect, done } = scene()
  let releases = 0
  const client = connect((call) => (call === 'release' && releases++ === 0 ? 'lost' : undefined))
  const lock = client.getDistributedLock('k', '10m')
  await done(Promise.all([lock.tryLock(), lock.tryLock()]))
  await expect(done(lock.unlock())).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' })
  expect(all(memory)).toMatchObject([{ 4: 1 }])
})
