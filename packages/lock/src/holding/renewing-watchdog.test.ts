// Test: a watchdog renews holds as docs/locks.md, section 8, says.

import { type Duration, LatchkeyError, OP } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { K } from '../testing/lock-test-commands.js'
import { finish, scene } from '../testing/store-in-virtual-time.js'
import { settle } from '../testing/virtual-time.js'
import type { FakePort } from '../testing/fake-store.js'
import { Watchdog } from './renewing-watchdog.js'

const renewals = (port: FakePort) => port.sent.filter(([op]) => op === OP.renew)

function guarded(lease: Duration = 9_000) {
  const s = scene()
  const watchdog = new Watchdog()
  const lost: { lock: unknown; error: LatchkeyError }[] = []
  watchdog.on('lost', (event) => lost.push(event))
  const lock = s.locking.getDistributedLock('k', lease, watchdog)
  return { ...s, watchdog, lost, lock }
}

describe('renewal', () => {
  test('a hold is renewed at 2/3 of the lease after the last success, for as long as it is held', async () => {
    const { world, lock, port, store } = guarded()
    await finish(world, lock.tryLock())
    await world.advance(5_995)
    expect(renewals(port)).toHaveLength(0)
    await world.advance(10)
    expect(renewals(port)).toHaveLength(1)
    await world.advance(60_000)
    expect(renewals(port)).toHaveLength(11)
    expect([lock.held, store.tx.hold(K)?.token]).toEqual([true, 1])
  })

  test('K7: renewal ends at the last unlock: no timer is left, and no renewal is sent after the release', async () => {
    const { world, lock, port } = guarded()
    await finish(world, lock.tryLock())
    await finish(world, lock.tryLock())
    await finish(world, lock.unlock())
    await world.advance(20_000)
    expect(renewals(port).length).toBeGreaterThan(2)
    await finish(world, lock.unlock())
    const before = port.sent.length
    expect(port.clock.timers).toBe(0)
    await world.advance(60_000)
    expect([port.sent.length, port.clock.timers]).toEqual([before, 0])
  })

  test('K7: a renewal that is answered after the unlock sets no timer', async () => {
    const { world, locking, port } = scene({ delay: 20 })
    const lock = locking.getDistributedLock('k', 9_000, new Watchdog())
    await finish(world, lock.tryLock())
    while (renewals(port).length === 0) await world.advance(1)
    await finish(world, lock.unlock())
    expect(port.clock.timers).toBe(0)
  })

  test('K27: the second hold of one object is renewed like the first', async () => {
    const { world, lock, port } = guarded()
    await finish(world, lock.tryLock())
    await finish(world, lock.unlock())
    await finish(world, lock.tryLock())
    await world.advance(100_000)
    expect(lock.held).toBe(true)
    expect(renewals(port).length).toBeGreaterThan(10)
    await finish(world, lock.unlock())
    await world.advance(60_000)
    await finish(world, lock.tryLock())
    await world.advance(100_000)
    expect(lock.held).toBe(true)
  })

  test('K26: renewal does not end with its first failure: it is tried again within the last third of the lease', async () => {
    const { world, lock, port, lost } = guarded()
    await finish(world, lock.tryLock())
    await world.advance(5_900)
    port.cut()
    await world.advance(1_500)
    expect(lock.held).toBe(true)
    port.heal()
    await world.advance(1_000)
    expect([lock.held, lost.length]).toEqual([true, 0])
    expect(lock.remainingMillis()).toBeGreaterThan(7_000)
  })

  test('several tries that fail or are never answered do not end the hold', async () => {
    const { world, lock, port } = guarded()
    await finish(world, lock.tryLock())
    let tries = 0
    port.fault = ([op]) => {
      if (op !== OP.renew) return undefined
      tries++
      return tries % 2 ? 'lose request' : new LatchkeyError('ERR_NO_LEADER')
    }
    await world.advance(8_800)
    expect(tries).toBeGreaterThanOrEqual(3)
    expect(lock.held).toBe(true)
  })

  test('a hold whose renewals fail is lost at the local deadline, with signal and event, once', async () => {
    const { world, lock, port, lost } = guarded()
    await finish(world, lock.tryLock())
    const { signal } = lock
    const begun = world.now
    signal.addEventListener('abort', () => expect(world.now - begun).toBeLessThanOrEqual(9_000))
    port.cut()
    await world.advance(9_000)
    expect(signal.aborted).toBe(true)
    expect(lost).toHaveLength(1)
    expect(lost[0]).toMatchObject({ lock, error: { code: 'ERR_LOCK_LOST' } })
    expect(signal.reason).toBe(lost[0]?.error)
    await world.advance(60_000)
    expect(lost).toHaveLength(1)
  })

  test('K37: without a majority the hold is lost at the local deadline; after healing another acquirer may get the lock', async () => {
    const { world, lock, port, process, lost } = guarded()
    const other = process().locking.getDistributedLock('k', '10s')
    await finish(world, lock.tryLock())
    port.cut()
    const waiting = other.lock()
    const lostAt = new Promise<number>((resolve) =>
      lock.signal.addEventListener('abort', () => resolve(world.now)),
    )
    await finish(world, waiting)
    expect(await lostAt).toBeLessThan(world.now)
    expect([lock.held, other.held, lost.length]).toEqual([false, true, 1])
    port.heal()
    await world.advance(1_000)
    expect(other.held).toBe(true)
  })

  test('only a refusal ends the hold at once: its row is gone, or another acquirer has it', async () => {
    const { world, lock, locking, lost } = guarded()
    await finish(world, lock.tryLock())
    await finish(world, locking.locks.forceRelease('k', 1))
    expect(lock.held).toBe(true)
    await world.advance(6_010)
    expect([lock.held, lost.length]).toEqual([false, 1])
  })

  test('K30: an answer that arrives after the loss does not bring the hold back', async () => {
    const { world, lock, port } = guarded()
    await finish(world, lock.tryLock())
    await world.advance(5_999)
    // The machine is suspended while the renewal is under way; hrtime stops, uptime goes on.
    port.fault = ([op]) => {
      if (op === OP.renew) port.clock.offset.up += 20_000
      return undefined
    }
    await world.advance(5)
    expect(renewals(port)).toHaveLength(1)
    expect(lock.held).toBe(false)
    await world.advance(100)
    expect(lock.held).toBe(false)
    expect(lock.signal.aborted).toBe(true)
  })

  test('all renewals that are due together are one request', async () => {
    const { world, locking, port, watchdog } = guarded()
    const locks = Array.from({ length: 200 }, (_, i) => locking.getDistributedLock(`k${i}`, 9_000, watchdog))
    for (const [i, lock] of locks.entries()) {
      await finish(world, lock.tryLock())
      if (i % 10 === 0) await world.advance(1)
    }
    await world.advance(6_100)
    expect(renewals(port)).toHaveLength(1)
    expect(renewals(port)[0]?.[1]).toHaveLength(200)
    await world.advance(60_000)
    expect(locks.every(({ held }) => held)).toBe(true)
    expect(renewals(port).length).toBeLessThan(15)
  })

  test('K32: with one watchdog and several locks each loss is reported once', async () => {
    const { world, locking, watchdog, lost, port } = guarded()
    const locks = ['x', 'y', 'z'].map((key) => locking.getDistributedLock(key, 3_000, watchdog))
    for (const lock of locks) await finish(world, lock.tryLock())
    port.cut()
    await world.advance(10_000)
    expect(new Set(lost.map((event) => event.lock))).toEqual(new Set(locks))
    expect(lost).toHaveLength(3)
  })

  test('one watchdog serves locks of two stores', async () => {
    const { world, process, watchdog } = guarded()
    const locks = [process(), process()].map(({ locking }, i) =>
      locking.getDistributedLock(`k${i}`, 900, watchdog),
    )
    for (const lock of locks) await finish(world, lock.tryLock())
    await world.advance(20_000)
    expect(locks.map(({ held }) => held)).toEqual([true, true])
  })

  test('T5: after a blocked event loop there is one renewal and no burst, and none for a lost hold', async () => {
    const { world, lock, port, lost } = guarded()
    await finish(world, lock.tryLock())
    world.stall(8_000)
    await world.advance(5)
    expect(renewals(port)).toHaveLength(1)
    expect(lock.held).toBe(true)
    world.stall(30_000)
    await world.advance(5)
    expect(renewals(port)).toHaveLength(1)
    expect([lock.held, lost.length]).toEqual([false, 1])
  })
})

describe('close', () => {
  test('close is synchronous, may be called again and leaves no timer; the holds last until their leases end', async () => {
    const { world, lock, port, watchdog, lost } = guarded()
    await finish(world, lock.tryLock())
    const before = port.clock.timers
    watchdog.close()
    watchdog[Symbol.dispose]()
    expect(port.clock.timers).toBe(before - 1)
    await world.advance(8_000)
    expect([lock.held, renewals(port).length]).toEqual([true, 0])
    await world.advance(2_000)
    expect([lock.held, lost.length, port.clock.timers]).toEqual([false, 1, 0])
  })

  test('T9: no timer of the locks keeps the process alive', async () => {
    const { world, lock, port } = guarded()
    const refs: unknown[] = []
    const after = port.clock.after.bind(port.clock)
    port.clock.after = (ms: number, run: () => void, options?: { ref?: boolean }) => {
      refs.push(options?.ref)
      return after(ms, run)
    }
    await finish(world, lock.tryLock({ timeout: '1s' }))
    await world.advance(20_000)
    await finish(world, lock.unlock())
    // The fake store's own deadlines pass no options; only timers of the locks are checked.
    expect(refs.filter((ref) => ref === true)).toEqual([])
    expect(refs.filter((ref) => ref === false).length).toBeGreaterThan(5)
  })

  test('a listener that was removed is not called, the others are', async () => {
    const { world, lock, watchdog, port, lost } = guarded(300)
    const seen: unknown[] = []
    const listener = (event: unknown) => seen.push(event)
    watchdog.on('lost', listener).off('lost', listener)
    await finish(world, lock.tryLock())
    port.cut()
    await world.advance(400)
    await settle()
    expect([seen.length, lost.length]).toEqual([0, 1])
  })
})
