// Driver: the suite's tests of one hold: its holder, its end and its token.

import assert from 'node:assert/strict'
import { Watchdog } from '@latchkey/lock'
import type { Register } from './suite-types.js'
import { pause, until } from './wait-helpers.js'

// long: a list of tests, each with its own name
export function holdTests(register: Register): void {
  register(
    'EN1: while one client holds the lock, no other client gets it; after the release, another client does',
    async (scene) => {
      const [a, b] = [await scene.client(), await scene.client()]
      const hold = await a.locks.acquire(scene.key, { context: 'the first' })
      assert.equal(hold.held, true)
      assert.ok(hold.remainingMillis() > 0)
      assert.equal(await b.locks.tryAcquire(scene.key), undefined)
      assert.equal(
        await a.locks.tryAcquire(scene.key),
        undefined,
        'a second hold of the same client is refused too',
      )
      await hold.release()
      assert.equal(hold.held, false)
      const next = await b.locks.tryAcquire(scene.key)
      assert.equal(next?.held, true)
    },
  )

  register('EN1: of many callers in several clients, only one at a time holds the lock', async (scene) => {
    const clients = [await scene.client(), await scene.client(), await scene.client()]
    let inside = 0
    let done = 0
    const work = async () => {
      inside++
      assert.equal(inside, 1, 'two callers are inside at the same time')
      await pause(5)
      inside--
      done++
    }
    const callers = clients.flatMap((client) => [client, client])
    await Promise.all(
      callers.map(async ({ locks }) => {
        for (let round = 0; round < 3; round++) await locks.withLock(scene.key, { lease: '10s' }, work)
      }),
    )
    assert.equal(done, 18)
  })

  register(
    'EN1: a hold without renewal ends with its lease, and its holder knows the end before another client gets the lock',
    async (scene) => {
      const [a, b] = [await scene.client(), await scene.client()]
      const hold = await a.locks.acquire(scene.key, { lease: '1s', renew: false })
      const { signal } = hold
      const next = await b.locks.acquire(scene.key, { wait: '20s' })
      assert.equal(hold.held, false, 'the first holder still believes in its hold')
      assert.equal(signal.aborted, true)
      assert.throws(() => hold.assertHeld(), { code: 'ERR_LOCK_LOST' })
      assert.equal(next.held, true)
      await hold.release()
      assert.equal(next.held, true)
      assert.equal(
        await a.locks.tryAcquire(scene.key),
        undefined,
        'a late release has ended the hold of another',
      )
    },
  )

  register('EN3: renewals keep a hold for longer than its lease', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    const hold = await a.locks.acquire(scene.key, { lease: '5s' })
    await pause(6_000)
    assert.equal(hold.held, true)
    assert.equal(await b.locks.tryAcquire(scene.key), undefined)
  })

  register('EN2: each hold has a larger token than the previous hold', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    if (a.capabilities.fencing === 'none') return
    let last = 0
    for (const client of [a, b, a, b]) {
      const hold = await client.locks.acquire(scene.key)
      assert.ok(hold.token > last, `the token ${hold.token} follows ${last}`)
      last = hold.token
      await hold.release()
    }
  })

  register('EN2: a rotation makes the token larger, and the hold continues', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    if (a.capabilities.fencing === 'none') return
    const hold = await a.locks.acquire(scene.key, { lease: '5s' })
    const before = hold.token
    const after = await hold.rotate()
    assert.ok(after > before, `the token ${after} follows ${before}`)
    assert.equal(hold.token, after)
    await pause(5_500)
    assert.equal(hold.held, true, 'the hold was not renewed after its rotation')
    await hold.release()
    const next = await b.locks.tryAcquire(scene.key)
    assert.ok(next !== undefined && next.token > after)
  })

  register(
    'a DistributedLock is reentrant, counts its acquires, and its watchdog renews it',
    async (scene) => {
      const [a, b] = [await scene.client(), await scene.client()]
      using watchdog = new Watchdog()
      const lock = a.getDistributedLock(scene.key, '5s', watchdog)
      const other = b.getDistributedLock(scene.key, '5s')
      assert.equal(await lock.tryLock({ context: 'mine' }), true)
      assert.equal(await lock.tryLock(), true)
      assert.equal(await other.tryLock(), false)
      assert.equal(other.getOwnerContext(), 'mine')
      assert.deepEqual(await lock.unlock(), { acquires: 1 })
      await pause(5_500)
      assert.equal(lock.held, true)
      assert.deepEqual(await lock.unlock(), { acquires: 0 })
      await assert.rejects(lock.unlock(), { code: 'ERR_NOT_OWNER' })
      assert.equal(await other.tryLock(), true)
      await until('the other holds it', () => other.held)
    },
  )

  register('withLock returns the result, passes errors on, and leaves the lock free', async (scene) => {
    const a = await scene.client()
    assert.equal(await a.locks.withLock(scene.key, async () => 42), 42)
    const failing = a.locks.withLock(scene.key, async () => {
      throw new RangeError('of the caller')
    })
    await assert.rejects(failing, RangeError)
    const inner = a.locks.withLock(scene.key, () => a.locks.acquire(scene.key))
    await assert.rejects(inner, { code: 'ERR_DEADLOCK' })
    assert.notEqual(await a.locks.tryAcquire(scene.key), undefined)
  })

  register('wrong arguments cause a TypeError and acquire nothing', async (scene) => {
    const a = await scene.client()
    await assert.rejects(a.locks.acquire('', {}), TypeError)
    await assert.rejects(a.locks.acquire(scene.key, { lease: '10 s' as never }), TypeError)
    await assert.rejects(a.locks.acquire(scene.key, { leese: '10s' } as never), TypeError)
    assert.notEqual(await a.locks.tryAcquire(scene.key), undefined)
  })
}
