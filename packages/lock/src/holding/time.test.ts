// Test: how long a store may report a hold as in force when clocks, answers and event loops misbehave
// (docs/locks.md, section 1).

import { OP, READ } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { finish, scene } from '../testing/store-in-virtual-time.js'
import { ClusterTimeBound } from './cluster-time-bound.js'
import { ClusterTimeRefresh } from './hold-expiry-and-time-refresh.js'
import { HoldValidity } from './hold-validity.js'

const at = (ms: number, wall = 0) => ({ hr: ms, up: ms, wall: ms + wall })

describe('CT5: the bound of cluster time', () => {
  test('it counts from the sending of the request, and faster than the local clock by the drift of both clocks', () => {
    const bound = new ClusterTimeBound(0.005)
    expect(bound.upper(at(0))).toBe(Number.POSITIVE_INFINITY)
    bound.learn(1_000, at(500), at(700))
    expect(bound.upper(at(700))).toBeCloseTo(1_000 + 200 * (1.005 / 0.995), 9)
    expect(bound.remaining(11_000, at(700))).toBe(
      Math.floor((10_000 - 200 * (1.005 / 0.995)) / (1.005 / 0.995)),
    )
    expect(bound.remaining(1_100, at(700))).toBe(0)
  })

  test('the lowest bound is used; an answer that proves nothing changes nothing', () => {
    const bound = new ClusterTimeBound()
    bound.learn(1_000, at(0), at(0))
    bound.learn(0, at(0), at(0))
    bound.learn(1_500, at(10), at(20))
    expect(bound.upper(at(0))).toBe(1_000)
    bound.learn(1_005, at(100), at(101))
    expect(bound.upper(at(100))).toBe(1_005)
  })

  test('the age is that of the last proof, even if it did not lower the bound', () => {
    const bound = new ClusterTimeBound()
    expect(bound.age(at(0))).toBe(Number.POSITIVE_INFINITY)
    bound.learn(1_000, at(0), at(0))
    bound.learn(5_000, at(400), at(410))
    expect(bound.age(at(500))).toBe(100)
  })

  test('another cluster drops the bound, the same cluster does not', () => {
    const bound = new ClusterTimeBound()
    let drops = 0
    bound.onDropped(() => drops++)
    bound.setCluster('a')
    bound.learn(1_000, at(0), at(0))
    bound.setCluster('a')
    expect([bound.upper(at(0)), drops]).toEqual([1_000, 0])
    bound.setCluster('b')
    expect([bound.upper(at(0)), drops]).toEqual([Number.POSITIVE_INFINITY, 1])
  })

  test('T6: no precision is lost after 10^9 seconds of uptime', () => {
    const bound = new ClusterTimeBound()
    const late = 1e12
    bound.learn(7, { hr: late, up: late, wall: 1.7e12 }, { hr: late, up: late, wall: 1.7e12 })
    expect(bound.upper({ hr: late + 1, up: late, wall: 1.7e12 + 1 })).toBeCloseTo(7 + 1.005 / 0.995, 3)
  })
})

describe('CT6: what `held` means', () => {
  test('K4: after an answer that took 90 % of the lease, the hold is promised for no longer than the store grants it', async () => {
    const { world, store, locking, port } = scene()
    const lock = locking.getDistributedLock('k', 10_000)
    port.up = false
    const attempt = lock.tryLock({ timeout: '60s' })
    await world.advance(10)
    port.up = true
    port.heal()
    await finish(world, attempt)
    expect(lock.remainingMillis()).toBeLessThanOrEqual(10_000)
    const row = [...store.tx.holds.values()][0]
    await world.advance(3_000)
    expect(store.time + lock.remainingMillis()).toBeLessThanOrEqual(row?.deadline ?? 0)
  })

  test('K4: after a round trip of 45 % of the lease the hold is renewed once before the caller gets it', async () => {
    const { world, store, locking, port } = scene({ delay: 4_500 })
    const lock = locking.getDistributedLock('k', 10_000)
    const attempt = lock.tryLock({ timeout: '60s' })
    // The first answer arrives after 9 s: the bound leaves a tenth. The renewal is answered 9 s later, when
    // that tenth is over too.
    expect(await finish(world, attempt, 100_000)).toBe(true)
    const [row] = store.tx.holds.values()
    expect(lock.held).toBe(true)
    expect(store.time + lock.remainingMillis()).toBeLessThanOrEqual(row?.deadline ?? 0)
    expect(port.sent.length).toBeGreaterThan(1)
  })

  test('a grant whose answer proves no cluster time is renewed once, which gives a bound', async () => {
    const { world, locking, port } = scene()
    port.fault = () => (port.sent.length === 1 ? 'prove nothing' : undefined)
    const lock = locking.getDistributedLock('k', 10_000)
    expect(await finish(world, lock.tryLock())).toBe(true)
    expect(port.sent).toHaveLength(2)
    expect(lock.remainingMillis()).toBeGreaterThan(9_000)
  })

  test('if no answer proves a cluster time, the attempt gives false and its hold is released', async () => {
    const { world, locking, port, store } = scene()
    port.fault = () => 'prove nothing'
    const lock = locking.getDistributedLock('k', 1_000)
    expect(await finish(world, lock.tryLock())).toBe(false)
    await world.advance(10)
    expect([...store.tx.holds]).toEqual([])
  })

  test('a grant whose deadline is nearer than its lease is renewed, because its session had not touched it', async () => {
    const { world, locking, process, store, port } = scene({ life: 2_000 })
    const first = process()
    const holder = first.locking.getDistributedLock('k', '60s')
    await finish(world, holder.tryLock())
    const lock = locking.getDistributedLock('k', '60s')
    const waiting = lock.lock()
    await world.advance(100)
    await finish(world, holder.unlock())
    await finish(world, waiting)
    expect(lock.remainingMillis()).toBeGreaterThan(59_000)
    port.cut()
    await world.advance(10_000)
    expect([lock.held, store.tx.holds.get('k')?.id]).toEqual([true, lock.getOwner()?.id])
  })

  test('the same when the session lives for more than half of the lease', async () => {
    const { world, locking, process } = scene({ life: 2_000 })
    const holder = process().locking.getDistributedLock('k', 3_000)
    await finish(world, holder.tryLock())
    const lock = locking.getDistributedLock('k', 3_000)
    const waiting = lock.lock()
    await world.advance(100)
    await finish(world, holder.unlock())
    await finish(world, waiting)
    expect(lock.remainingMillis()).toBeGreaterThan(2_900)
  })

  test.each([
    { answer: 4_800, left: 'half of the lease', renewals: 0, remaining: 5_100 },
    { answer: 5_500, left: 'less than half of the lease', renewals: 1, remaining: 9_800 },
  ])(
    'a reentry whose answer leaves $left is renewed $renewals times before the caller gets it',
    async ({ answer, renewals, remaining }) => {
      const { world, locking, port } = scene()
      const lock = locking.getDistributedLock('k', 10_000)
      await finish(world, lock.tryLock())
      // Only the answer of the reentry travels for long.
      const times = [answer]
      port.travel = (way) => (way === 'back' ? (times.shift() ?? 0) : 0)
      expect(await finish(world, lock.tryLock({ timeout: '60s' }))).toBe(true)
      expect(lock.remainingMillis()).toBeGreaterThan(remaining)
      expect(port.sent.filter(([op]) => op === OP.renew)).toHaveLength(renewals)
    },
  )

  test('K28: an attempt that is aborted while its grant is being renewed rejects with ERR_ABORTED and releases the hold', async () => {
    const { world, locking, port, store } = scene({ delay: 3_000 })
    const controller = new AbortController()
    const lock = locking.getDistributedLock('k', 10_000)
    const attempt = lock.tryLock({ timeout: '60s', signal: controller.signal })
    const refused = attempt.catch((error: unknown) => error)
    await world.advance(7_000)
    // The attempt, a renewal of what it may have got, and another renewal, because the first one was not
    // answered for a sixteenth of the lease.
    expect(port.sent).toHaveLength(3)
    controller.abort()
    expect(await refused).toMatchObject({ code: 'ERR_ABORTED' })
    await world.advance(7_000)
    expect([lock.held, store.tx.holds.size]).toEqual([false, 0])
  })

  test('K30: a renewal that is answered after the end of the lease does not prolong the hold, even if `held` was never read', async () => {
    const { world, port, locking } = scene()
    const lost: unknown[] = []
    const boundRenewal = new ClusterTimeRefresh(port)
    await finish(world, locking.locks.query())
    const of = { key: new Uint8Array([1]), id: 'a', lease: 1_000, token: 1, deadline: 2_000 }
    const validity = new HoldValidity(port, boundRenewal, of, port.clock.instant(), (error) =>
      lost.push(error),
    )
    world.stall(5_000)
    validity.prolong(9_000)
    expect([validity.held, lost.length]).toEqual([false, 1])
  })

  test('the bound is renewed at least every third of the shortest lease, by one read for all holds', async () => {
    const { world, locking, port } = scene({ delay: 1 })
    const locks = [9_000, 30_000, 60_000].map((lease, i) => locking.getDistributedLock(`k${i}`, lease))
    for (const lock of locks) await finish(world, lock.tryLock())
    const begun = world.now
    for (let oldest = 0; world.now - begun < 8_000; ) {
      await world.advance(50)
      oldest = Math.max(oldest, port.bound.age(port.clock.instant()))
      expect(oldest).toBeLessThanOrEqual(3_060)
    }
    expect(port.reads.every(([read]) => read === READ.revision)).toBe(true)
    expect(port.reads.length).toBeLessThanOrEqual(3)
    await world.advance(60_000)
    const reads = port.reads.length
    await world.advance(60_000)
    expect([port.reads.length, port.clock.timers]).toEqual([reads, 0])
  })

  test('K18: after cluster time stopped between two leaders, the hold lives longer and is found in force', async () => {
    const { world, locking, store } = scene()
    const lock = locking.getDistributedLock('k', 10_000)
    await finish(world, lock.tryLock())
    store.lag = 5_000
    await world.advance(5_000)
    expect(lock.remainingMillis()).toBeGreaterThan(8_000)
    await world.advance(7_000)
    expect(lock.held).toBe(true)
    await world.advance(3_000)
    expect(lock.held).toBe(false)
  })
})

describe('CT7: the three clocks of the holder', () => {
  async function holding() {
    const s = scene()
    const lock = s.locking.getDistributedLock('k', 10_000)
    await finish(s.world, lock.tryLock())
    return { ...s, lock, offset: s.port.clock.offset }
  }

  test('K1, T3: a wall clock that jumps forward ends the hold at worst', async () => {
    const { lock, offset } = await holding()
    offset.wall += 3_600_000
    expect(lock.held).toBe(false)
    expect(lock.signal.aborted).toBe(true)
  })

  test('K2, T3: a wall clock that jumps back changes nothing', async () => {
    const { world, lock, offset, store } = await holding()
    offset.wall -= 3_600_000
    expect(lock.remainingMillis()).toBeGreaterThan(9_800)
    await world.advance(9_900)
    expect(lock.held).toBe(true)
    await world.advance(100)
    expect([lock.held, store.time]).toEqual([false, 11_000])
  })

  test('T8: on a suspended machine hrtime stops and uptime goes on: the hold is lost at waking', async () => {
    const { world, lock, offset } = await holding()
    world.stall(20_000)
    offset.hr -= 20_000
    offset.wall -= 20_000
    expect(lock.held).toBe(false)
  })

  test('in a frozen virtual machine only the wall clock shows the time that passed', async () => {
    const { world, lock, offset } = await holding()
    world.stall(20_000)
    offset.hr -= 20_000
    offset.up -= 20_000
    expect(lock.remainingMillis()).toBe(0)
    expect(() => lock.getFencingToken()).toThrow(expect.objectContaining({ code: 'ERR_LOCK_LOST' }))
  })

  test('T7, K6: after a blocked event loop the hold is lost at the first instruction, before any timer fires', async () => {
    for (const part of [0.5, 1, 2, 10]) {
      const { world, lock } = await holding()
      const { signal } = lock
      let told = 0
      signal.addEventListener('abort', () => told++)
      world.stall(10_000 * part)
      expect(lock.held).toBe(part < 1)
      expect([signal.aborted, told]).toEqual([part >= 1, part >= 1 ? 1 : 0])
      await world.advance(1)
      expect(told).toBe(part >= 1 ? 1 : 0)
    }
  })

  test('T7: the signal of a Hold that is read after a blocked event loop is already aborted', async () => {
    const { world, locking } = scene()
    const hold = await finish(world, locking.locks.acquire('k', { lease: '10s' }))
    expect(hold.signal.aborted).toBe(false)
    world.stall(20_000)
    expect(hold.signal.aborted).toBe(true)
    expect(hold.signal.reason).toMatchObject({ code: 'ERR_LOCK_LOST' })
    expect(() => hold.assertHeld()).toThrow(expect.objectContaining({ code: 'ERR_LOCK_LOST' }))
  })

  test('K30: a lost hold stays lost, also when a better bound arrives', async () => {
    const { lock, offset } = await holding()
    offset.wall += 3_600_000
    expect(lock.held).toBe(false)
    offset.wall -= 3_600_000
    expect([lock.held, lock.remainingMillis()]).toEqual([false, 0])
  })

  test('a jump of a clock is noticed within a third of the lease, even if `held` is never read', async () => {
    const { world, lock, offset } = await holding()
    const { signal } = lock
    offset.wall += 3_600_000
    await world.advance(3_400)
    expect(signal.aborted).toBe(true)
  })
})
