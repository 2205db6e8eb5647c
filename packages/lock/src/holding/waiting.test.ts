// Test: waits in the fair queue, cancelled attempts, and calls with an unknown outcome (docs/locks.md,
// sections 6 and 7).

import { type Duration, LatchkeyError, OP, READ } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { K } from '../testing/lock-test-commands.js'
import { codeOf, finish, scene, stateOf } from '../testing/store-in-virtual-time.js'
import { settle } from '../testing/virtual-time.js'
import { Watchdog } from './renewing-watchdog.js'

async function taken(options: { delay?: number; life?: number } = {}, lease: Duration = '60s') {
  const s = scene(options)
  const holder = s.process()
  const first = holder.locking.getDistributedLock('k', lease)
  await finish(s.world, first.tryLock())
  const lock = s.locking.getDistributedLock('k', '10s')
  return { ...s, holder, first, lock, queue: () => s.store.tx.queue(K).map(({ id }) => id) }
}
const ops = (sent: readonly (readonly unknown[])[]) => sent.map(([op]) => op)

describe('waiting', () => {
  test('a waiter is woken by a pushed grant after a release, and never polls', async () => {
    const { world, first, lock, port } = await taken({ delay: 5 })
    const waiting = lock.tryLock({ timeout: '30s' })
    await world.advance(20_000)
    expect(await stateOf(waiting)).toBe('pending')
    expect(ops(port.sent)).toEqual([OP.tryLock])
    await finish(world, first.unlock())
    expect(await finish(world, waiting, 20)).toBe(true)
    expect(lock.getOwner()).toMatchObject({ code: 'FIRST_TIME', fencingToken: 2 })
    // One more request at most: a grant is renewed if its bound leaves too little time.
    expect(port.sent.length).toBeLessThanOrEqual(2)
  })

  test('timeout: 5000 gives false within 5000 ms plus one round trip, and leaves the queue', async () => {
    const { world, lock, queue } = await taken({ delay: 20 })
    const begun = world.now
    expect(await finish(world, lock.tryLock({ timeout: 5_000 }))).toBe(false)
    expect(world.now - begun).toBeGreaterThanOrEqual(5_000)
    expect(world.now - begun).toBeLessThanOrEqual(5_045)
    expect(queue()).toEqual([])
    expect(lock.getOwnerContext()).toBeUndefined()
  })

  test('without a leader too a wait gives false, shortly after its time', async () => {
    const { world, lock, port } = await taken()
    port.cut()
    const begun = world.now
    expect(await finish(world, lock.tryLock({ timeout: 1_000 }))).toBe(false)
    expect(world.now - begun).toBeLessThanOrEqual(1_501)
    await world.advance(5_000)
    expect([port.listeners, port.clock.timers, port.sent.length]).toEqual([0, 0, 0])
  })

  test('lock() waits without limit, and a signal ends it with ERR_ABORTED and its reason as the cause', async () => {
    const { world, lock, queue } = await taken()
    const controller = new AbortController()
    const waiting = lock.lock({ signal: controller.signal })
    await world.advance(50_000)
    expect(queue()).toHaveLength(1)
    controller.abort('enough')
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_ABORTED', cause: 'enough' })
    await settle()
    expect(queue()).toEqual([])
    await expect(lock.lock({ signal: controller.signal })).rejects.toMatchObject({ code: 'ERR_ABORTED' })
  })

  test('waiting attempts of one object share one position; its grant gives each of them one acquire', async () => {
    const { world, first, lock, queue, store } = await taken()
    const all = [lock.tryLock({ timeout: '5s' }), lock.lock(), lock.tryLock({ timeout: '20s' })]
    await settle()
    expect(queue()).toHaveLength(1)
    await finish(world, first.unlock())
    expect(await finish(world, Promise.all(all))).toEqual([true, undefined, true])
    expect(store.tx.hold(K)?.acquires).toBe(3)
    for (const acquires of [2, 1, 0]) expect(await finish(world, lock.unlock())).toEqual({ acquires })
  })

  test('an attempt that is cancelled leaves the others waiting; the last one gives up the position', async () => {
    const { world, first, lock, queue } = await taken()
    const short = lock.tryLock({ timeout: 100 })
    const long = lock.tryLock({ timeout: 1_000 })
    expect(await finish(world, short)).toBe(false)
    expect(queue()).toHaveLength(1)
    await world.advance(500)
    await finish(world, first.unlock())
    expect(await finish(world, long)).toBe(true)
    await finish(world, lock.unlock())
    expect(queue()).toEqual([])
  })

  test('waiters of several processes are granted in order, after an expiry with the code NEW_ACQUIRE', async () => {
    const { world, lock, process, store, holder } = await taken({}, 1_000)
    holder.port.cut()
    const others = [process(), process()].map(({ locking }) => locking.getDistributedLock('k', 1_000))
    const order: string[] = []
    const wait = async (who: string, mine: typeof lock) => {
      await mine.lock()
      order.push(`${who} ${mine.getOwner()?.code}`)
    }
    void wait('a', lock)
    await settle()
    for (const [i, mine] of others.entries()) {
      void wait(`b${i}`, mine)
      await settle()
    }
    await world.advance(1_002)
    expect(order).toEqual(['a NEW_ACQUIRE'])
    await finish(world, lock.unlock())
    await world.advance(1)
    expect(order).toEqual(['a NEW_ACQUIRE', 'b0 FIRST_TIME'])
    expect(store.tx.queue(K)).toHaveLength(1)
  })

  test('an attempt with a full queue rejects with ERR_BUSY', async () => {
    const { world, lock, store } = await taken()
    store.tx.waiterCount = () => 10_000
    expect(await codeOf(world, lock.tryLock({ timeout: '5s' }))).toBe('ERR_BUSY')
  })

  test('close ends every wait with ERR_CLOSED, and leaves no listener or timer of it', async () => {
    const { world, lock, port } = await taken()
    const both = [lock.lock(), lock.tryLock({ timeout: '9s' })]
    await settle()
    port.close()
    const codes = both.map((waiting) => codeOf(world, waiting))
    expect(await Promise.all(codes)).toEqual(['ERR_CLOSED', 'ERR_CLOSED'])
    await world.advance(10_000)
    expect([port.listeners, port.clock.timers]).toEqual([0, 0])
  })
})

describe('a pushed grant may be missed: after a reconnect the ticket is read', () => {
  test('K23: a grant whose push was lost is found', async () => {
    const { world, first, lock, port } = await taken()
    const waiting = lock.lock()
    await settle()
    port.pushes = false
    await finish(world, first.unlock())
    await world.advance(100)
    expect(await stateOf(waiting)).toBe('pending')
    port.heal()
    await finish(world, waiting)
    expect(port.reads.some(([read]) => read === READ.ticket)).toBe(true)
    expect(lock.held).toBe(true)
  })

  test('a ticket that is still queued keeps waiting at its position', async () => {
    const { world, lock, port, queue } = await taken()
    const waiting = lock.lock()
    await settle()
    port.heal()
    await settle()
    expect(await stateOf(waiting)).toBe('pending')
    expect(queue()).toHaveLength(1)
    expect(ops(port.sent)).toEqual([OP.tryLock])
    void world
  })

  test('a ticket whose session had ended is unknown, so the attempt queues again', async () => {
    const { world, first, lock, port, queue } = await taken()
    const waiting = lock.lock()
    await settle()
    port.heal(true)
    await settle()
    expect(queue()).toHaveLength(1)
    await finish(world, first.unlock())
    await finish(world, waiting)
    expect(lock.held).toBe(true)
  })

  test('after a new session a waiter moves its place to the new session, although the old session is still open', async () => {
    const { world, first, lock, port, store } = await taken()
    const waiting = lock.lock()
    await settle()
    const old = port.session
    port.attachNewSession()
    await settle()
    expect(store.tx.queue(K).map(({ session }) => session)).toEqual([port.session])
    store.tx.end(old)
    await finish(world, first.unlock())
    await finish(world, waiting)
    expect(lock.held).toBe(true)
  })

  test('a grant that was over before it was known is released, and the attempt queues again', async () => {
    const { world, first, lock, port, process } = await taken({ life: 200_000 })
    const waiting = lock.lock()
    await settle()
    port.pushes = false
    await finish(world, first.unlock())
    await world.advance(15_000)
    const other = process().locking.getDistributedLock('k', 1_000)
    expect(await finish(world, other.tryLock())).toBe(true)
    port.pushes = true
    port.heal()
    await settle()
    expect(await stateOf(waiting)).toBe('pending')
    await finish(world, other.unlock())
    await finish(world, waiting)
    expect(lock.getFencingToken()).toBe(4)
  })
})

describe('cancelling while a request is under way', () => {
  test('K28: an attempt that is aborted before its grant arrives releases the grant, and the watchdog does not renew it', async () => {
    const { world, port, locking, store } = scene({ delay: 10 })
    const watchdog = new Watchdog()
    const lock = locking.getDistributedLock('k', '10s', watchdog)
    const controller = new AbortController()
    const attempt = lock.tryLock({ signal: controller.signal })
    await world.advance(5)
    controller.abort()
    await expect(attempt).rejects.toMatchObject({ code: 'ERR_ABORTED', outcome: 'unknown' })
    await world.advance(100)
    expect(store.tx.hold(K)).toBeUndefined()
    await world.advance(60_000)
    expect(ops(port.sent)).toEqual([OP.tryLock, OP.cancelWait])
    expect([lock.held, port.clock.timers]).toEqual([false, 0])
  })

  test('K28: a grant that arrives while its attempt is cancelled is passed on to the next waiter', async () => {
    const { world, first, lock, port, process, store } = await taken({ delay: 10 })
    const next = process().locking.getDistributedLock('k', '10s')
    const controller = new AbortController()
    const waiting = lock.lock({ signal: controller.signal })
    await world.advance(30)
    const after = next.lock()
    await world.advance(30)
    const unlocked = first.unlock()
    await world.advance(12)
    expect(store.tx.hold(K)?.session).toBe(port.session)
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_ABORTED' })
    await finish(world, unlocked)
    await finish(world, after)
    expect(next.held).toBe(true)
  })

  test('after ERR_OUTCOME_UNKNOWN a hold that the attempt may have got is released before the next attempt is sent', async () => {
    const { world, lock, port, store } = await scenario()
    port.fault = (command) => (command[0] === OP.tryLock ? 'lose answer' : undefined)
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_OUTCOME_UNKNOWN')
    port.fault = () => undefined
    expect(lock.held).toBe(false)
    expect(await finish(world, lock.tryLock())).toBe(true)
    expect(ops(port.sent)).toEqual([OP.tryLock, OP.cancelWait, OP.tryLock])
    expect(store.tx.hold(K)).toMatchObject({ token: 2, acquires: 1 })
  })

  test('a request with unknown outcome is settled first, so an acquire is never applied after its own release', async () => {
    const { world, lock, port, store } = await scenario()
    port.fault = (command) => (command[0] === OP.tryLock ? 'arrive late' : undefined)
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_OUTCOME_UNKNOWN')
    port.fault = () => undefined
    await world.advance(100)
    port.deliver()
    expect(store.tx.hold(K)).toBeUndefined()
  })

  test('while the release is not answered, the next attempt waits until its own deadline: ERR_NO_LEADER', async () => {
    const { world, lock, port, store } = await scenario()
    port.fault = (command) => {
      port.cut()
      return command[0] === OP.tryLock ? 'lose answer' : undefined
    }
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_OUTCOME_UNKNOWN')
    const begun = world.now
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_NO_LEADER')
    expect(world.now - begun).toBeLessThanOrEqual(5_001)
    port.fault = () => undefined
    port.heal()
    expect(await finish(world, lock.tryLock())).toBe(true)
    expect(store.tx.hold(K)?.acquires).toBe(1)
  })

  test('without a leader the attempt rejects with ERR_NO_LEADER after 5 s, and there is nothing to release', async () => {
    const { world, lock, port } = await scenario()
    port.cut()
    const begun = world.now
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_NO_LEADER')
    expect(world.now - begun).toBe(5_000)
    expect(port.sent).toEqual([])
    port.heal()
    expect(await finish(world, lock.tryLock())).toBe(true)
    expect(ops(port.sent)).toEqual([OP.tryLock])
  })

  test('K14: a reentry with unknown outcome keeps the hold, and the last unlock releases every acquire in the store', async () => {
    const { world, lock, port, store } = await scenario()
    await finish(world, lock.tryLock())
    port.fault = (command) => (command[0] === OP.tryLock ? 'lose answer' : undefined)
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_OUTCOME_UNKNOWN')
    expect([lock.held, store.tx.hold(K)?.acquires]).toEqual([true, 2])
    port.fault = () => undefined
    expect(await finish(world, lock.unlock())).toEqual({ acquires: 0 })
    expect(store.tx.hold(K)).toBeUndefined()
  })

  test('a reentry that is still under way is not applied after the last unlock', async () => {
    const { world, lock, port, store } = await scenario()
    await finish(world, lock.tryLock())
    port.fault = (command) => (command[0] === OP.tryLock ? 'arrive late' : undefined)
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_OUTCOME_UNKNOWN')
    port.fault = () => undefined
    await finish(world, lock.unlock())
    port.deliver()
    expect(store.tx.hold(K)).toBeUndefined()
  })

  test('a session that ended during a queued attempt: the outcome is unknown, the attempt is released and sent again', async () => {
    const { world, first, lock, port } = await taken()
    let times = 0
    port.fault = (command) =>
      command[0] === OP.tryLock && times++ === 0 ? new LatchkeyError('ERR_OUTCOME_UNKNOWN') : undefined
    const waiting = lock.lock()
    await world.advance(200)
    await finish(world, first.unlock())
    await finish(world, waiting)
    expect(lock.held).toBe(true)
    expect(ops(port.sent)).toEqual([OP.tryLock, OP.cancelWait, OP.tryLock])
  })

  test('an error that allows no retry is thrown, also to a waiting attempt', async () => {
    const { world, lock, port } = await scenario()
    port.fault = () => new LatchkeyError('ERR_FORBIDDEN')
    expect(await codeOf(world, lock.lock())).toBe('ERR_FORBIDDEN')
    expect(await codeOf(world, lock.tryLock())).toBe('ERR_FORBIDDEN')
  })
})

describe('unlock with unknown outcome (K29)', () => {
  test('held is false, renewals end, the release goes on in the background, and a new attempt waits for it', async () => {
    const { world, port, store, locking } = scene()
    const watchdog = new Watchdog()
    const lock = locking.getDistributedLock('k', '10s', watchdog)
    await finish(world, lock.tryLock())
    port.fault = (command) => (command[0] === OP.release ? 'lose request' : undefined)
    const unlocking = lock.unlock({ timeout: 1_000 })
    expect(lock.held).toBe(false)
    expect(await codeOf(world, unlocking)).toBe('ERR_OUTCOME_UNKNOWN')
    port.fault = () => undefined
    expect(await finish(world, lock.tryLock())).toBe(true)
    expect(store.tx.hold(K)).toMatchObject({ token: 2 })
    expect(ops(port.sent)).toEqual([OP.tryLock, OP.release, OP.cancelWait, OP.tryLock])
  })

  test('while no member is reached the release is repeated until the lease is over, and not after it', async () => {
    const { world, port, locking } = scene()
    const lock = locking.getDistributedLock('k', '2s')
    await finish(world, lock.tryLock())
    port.cut()
    expect(await codeOf(world, lock.unlock({ timeout: 500 }))).toBe('ERR_NO_LEADER')
    await world.advance(30_000)
    expect(port.clock.timers).toBe(0)
    port.heal()
    expect(await finish(world, lock.tryLock())).toBe(true)
  })

  test('a release that no member answers is sent again, and frees the lock long before its lease is over', async () => {
    const { world, port, store, locking } = scene()
    const lock = locking.getDistributedLock('k', '60s')
    await finish(world, lock.tryLock())
    port.cut()
    expect(await codeOf(world, lock.unlock({ timeout: 500 }))).toBe('ERR_NO_LEADER')
    // In this time, the first release in the background also fails.
    await world.advance(8_000)
    port.heal()
    await world.advance(3_000)
    expect(store.tx.hold(K)).toBeUndefined()
  })

  test('unlock with an aborted signal rejects with ERR_ABORTED, and the release goes on in the background', async () => {
    const { world, store, locking } = scene()
    const lock = locking.getDistributedLock('k', '10s')
    await finish(world, lock.tryLock())
    const unlocking = lock.unlock({ signal: AbortSignal.abort('why') }).catch((error: unknown) => error)
    expect(lock.held).toBe(false)
    expect(await finish(world, unlocking)).toMatchObject({
      code: 'ERR_ABORTED',
      outcome: 'not-applied',
      retryable: false,
      cause: 'why',
      message: expect.stringContaining('goes on in the background'),
    })
    await world.advance(100)
    expect(store.tx.hold(K)).toBeUndefined()
    expect(await finish(world, lock.tryLock())).toBe(true)
  })
})

async function scenario() {
  const s = scene()
  return { ...s, lock: s.locking.getDistributedLock('k', '10s') }
}
