// Test: a store that closes releases its holds and leaves its queues, and releaseAll does the same for a
// store that stays open.

import { Watchdog } from '@latchkey/lock'
import { describe, expect, test } from 'vitest'
import { activeMillis, code, sleep, TOLD_WITHIN, unlessStalled } from './testing/small-test-functions.js'
import { trioOfFile } from './testing/three-embedded-members.js'

const { leader, remote } = trioOfFile()

describe('close', () => {
  test('K43: the next waiter gets the lock at once, after the signal of the hold has aborted', async () => {
    const [first, second] = [await remote(), await remote()]
    const hold = await first.locks.acquire('next', { lease: '60s' })
    const { signal } = hold
    let heldWhenGranted: boolean | undefined
    const next = second.locks.acquire('next', { wait: '20s' }).then((granted) => {
      heldWhenGranted = hold.held
      return granted
    })
    await queued('next')
    const took = await activeMillis(() => Promise.all([first.close(), next]))
    expect(took).toBeLessThan(5_000)
    const granted = await next
    expect(heldWhenGranted).toBe(false)
    expect(granted.token).toBeGreaterThan(hold.token)
    expect(signal.reason).toMatchObject({ code: 'ERR_CLOSED' })
    expect(() => hold.assertHeld()).toThrow(expect.objectContaining({ code: 'ERR_LOCK_LOST' }))
    await hold.release()
  })

  test('a lock of getDistributedLock is released with all its acquires, and its watchdog reports no loss', async () => {
    const store = await remote()
    const watchdog = new Watchdog()
    const lost: unknown[] = []
    watchdog.on('lost', (event) => lost.push(event))
    const lock = store.getDistributedLock('counted', '60s', watchdog)
    expect(await lock.tryLock()).toBe(true)
    expect(await lock.tryLock()).toBe(true)
    await store.close()
    expect(lock.held).toBe(false)
    expect(lost).toEqual([])
    watchdog.close()
    expect(await (await leader()).locks.tryAcquire('counted')).toMatchObject({ held: true })
  })

  test('it leaves its queues: the waiter behind it is next', async () => {
    const [holder, waiter, behind] = [await remote(), await remote(), await remote()]
    const hold = await holder.locks.acquire('place', { lease: '60s' })
    const given = waiter.locks.acquire('place', { lease: '60s' })
    const refused = expect(given).rejects.toMatchObject(code('ERR_CLOSED'))
    await queued('place')
    const next = behind.locks.acquire('place', { wait: '20s' })
    await queued('place', 2)
    await waiter.close()
    await refused
    await hold.release()
    await (await next).release()
  })

  test('the signal of withLock aborts, and its promise rejects because the lock is lost', async () => {
    const store = await remote()
    let began = () => {}
    const begun = new Promise<void>((resolve) => {
      began = resolve
    })
    const work = store.locks.withLock('work', async (hold) => {
      began()
      await new Promise((resolve) => hold.signal.addEventListener('abort', resolve))
      return 'done'
    })
    const ends = expect(work).rejects.toMatchObject({ code: 'ERR_LOCK_LOST', cause: { code: 'ERR_CLOSED' } })
    await begun
    await store.close()
    await ends
  })

  test('a thousand holds are released when it resolves', async () => {
    const store = await remote()
    const keys = Array.from({ length: 1_000 }, (_, i) => `many/${i}`)
    await Promise.all(keys.map((key) => store.locks.acquire(key, { lease: '60s' })))
    await store.close()
    expect(await (await leader()).locks.query('many/')).toEqual([])
  })

  test("{ holds: 'keep' } keeps the holds until their leases expire", async () => {
    const store = await remote()
    const hold = await store.locks.acquire('kept', { lease: '60s' })
    await store.close({ holds: 'keep' })
    expect(hold.held).toBe(true)
    const { locks } = await leader()
    expect(await locks.query('kept')).toMatchObject([{ fencingToken: hold.token }])
    expect(await locks.forceRelease('kept', hold.token)).toBe(true)
  })

  test('an unknown option is a TypeError, and the store stays open', async () => {
    const store = await remote()
    await expect(store.close({ hold: 'keep' } as object)).rejects.toThrow('did you mean "holds"?')
    await expect(store.close({ holds: 'kept' } as object)).rejects.toThrow("'release' or 'keep'")
    await store.put('open', 'still')
  })

  test('calls during the close are ERR_CLOSED', async () => {
    const store = await remote()
    await store.locks.acquire('closing', { lease: '60s' })
    const closing = store.close()
    await expect(store.put('k', 'v')).rejects.toMatchObject(code('ERR_CLOSED'))
    await expect(store.locks.acquire('other')).rejects.toMatchObject(code('ERR_CLOSED'))
    await closing
  })
})

describe('releaseAll', () => {
  test('resolves to the number of holds; waiters go on waiting', async () => {
    const [store, other] = [await remote(), await remote()]
    const theirs = await other.locks.acquire('theirs', { lease: '60s' })
    const holds = await Promise.all(['all/1', 'all/2', 'all/3'].map((key) => store.locks.acquire(key)))
    const waits = store.locks.acquire('theirs', { wait: '20s' })
    await queued('theirs')
    expect(await store.locks.releaseAll()).toBe(3)
    for (const hold of holds) {
      expect(hold.held).toBe(false)
      expect(hold.signal.reason).toMatchObject({ code: 'ERR_NOT_OWNER' })
      await hold.release()
    }
    expect(await other.locks.query('all/')).toEqual([])
    expect(await store.locks.releaseAll()).toBe(0)
    await theirs.release()
    expect((await waits).held).toBe(true)
    expect(await store.locks.releaseAll()).toBe(1)
    // The store stays open and can acquire locks.
    await (await store.locks.acquire('all/1')).release()
  })
})

/** Resolves when that many wait for the lock. */
async function queued(key: string, count = 1): Promise<void> {
  const { locks } = await leader()
  for (;;) {
    const [row] = await locks.query(key)
    if (row !== undefined && row.waiters >= count) return
    await sleep(10)
  }
}

test('the error of a failed wait names the holder, and query lists the waiters', async () => {
  const [store, other] = [await remote(), await remote()]
  const hold = await store.locks.acquire('told', { lease: '60s', context: 'host-1' })
  const waits = other.locks.acquire('told', { wait: '20s', context: 'host-2' })
  await queued('told')
  await unlessStalled(TOLD_WITHIN, async () => {
    const error = await other.locks.acquire('told', { wait: '50ms' }).catch((error: unknown) => error)
    expect(error).toMatchObject({
      code: 'ERR_TIMEOUT',
      key: 'told',
      holder: { context: 'host-1', fencingToken: hold.token },
      message: expect.stringContaining('("host-1") has held it for'),
    })
    const { holder } = error as { holder: { remainingMillis: number; sinceMillis: number } }
    expect(holder.remainingMillis).toBeGreaterThan(30_000)
    // Clocks of members may differ a little, and each counts whole milliseconds.
    expect(holder.sinceMillis).toBeGreaterThanOrEqual(45)
  })
  const [info] = await store.locks.query('told', { queue: true })
  expect(info).toMatchObject({ queue: [{ context: 'host-2', waitedMillis: expect.any(Number) }] })
  expect((await store.locks.query('told'))[0]).not.toHaveProperty('queue')
  await expect(store.locks.query('told', { queu: true } as object)).rejects.toThrow('did you mean "queue"?')
  await hold.release()
  await (await waits).release()
})
