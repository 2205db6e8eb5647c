// Driver: the suite's tests of waiting: the end of a wait, the order of waiters, and the state after a wait.

import assert from 'node:assert/strict'
import type { Register, SuiteClient, SuiteOptions } from './suite-types.js'
import { pause, until } from './wait-helpers.js'

/**
 * Resolves when `count` callers wait for the lock. An engine without a fair queue does not report its
 * waiters, so the function only pauses.
 */
async function queued({ capabilities, locks }: SuiteClient, key: string, count: number): Promise<void> {
  if (capabilities.queue === 'unfair') return pause(300)
  await until(`${count} wait for the lock`, async () => (await locks.query(key))[0]?.waiters === count)
}

// long: a list of tests, each with its own name
export function waitTests(register: Register): void {
  register('EN5: a wait that times out names the holder and leaves the queue', async (scene) => {
    const [a, b, c] = [await scene.client(), await scene.client(), await scene.client()]
    const hold = await a.locks.acquire(scene.key, { context: 'the holder' })
    const error = await b.locks.acquire(scene.key, { wait: '2s' }).catch((reason: unknown) => reason)
    const { code, holder } = error as { code: string; holder?: { context: unknown } }
    assert.equal(code, 'ERR_TIMEOUT')
    assert.equal(holder?.context, 'the holder')
    assert.equal(await b.getDistributedLock(scene.key, '10s').tryLock({ timeout: '300ms' }), false)
    await hold.release()
    const next = await c.locks.acquire(scene.key, { wait: '20s' })
    assert.equal(next.held, true)
  })

  register('EN5: an aborted wait never gets the lock', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    const hold = await a.locks.acquire(scene.key)
    const abort = new AbortController()
    const waiting = b.locks.acquire(scene.key, { signal: abort.signal })
    await queued(a, scene.key, 1)
    abort.abort()
    await assert.rejects(waiting, { code: 'ERR_ABORTED' })
    await hold.release()
    const next = await a.locks.acquire(scene.key, { wait: '20s' })
    await pause(300)
    assert.equal(next.held, true)
    assert.equal((await a.locks.query(scene.key))[0]?.waiters ?? 0, 0)
  })

  register(
    'EN6: a fair engine serves waiters in the order of arrival; an unfair engine serves all of them in any order',
    async (scene) => {
      const clients = [await scene.client(), await scene.client()]
      const [a] = clients as [SuiteClient]
      const hold = await a.locks.acquire(scene.key)
      const served: number[] = []
      const waiting: Promise<void>[] = []
      for (let i = 0; i < 5; i++) {
        const { locks } = clients[i % 2] as SuiteClient
        waiting.push(
          locks.withLock(scene.key, async () => {
            served.push(i)
          }),
        )
        await queued(a, scene.key, i + 1)
      }
      await hold.release()
      await Promise.all(waiting)
      if (a.capabilities.queue === 'unfair') served.sort((x, y) => x - y)
      assert.deepEqual(served, [0, 1, 2, 3, 4])
    },
  )

  register('EN6: no new caller overtakes a waiter', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    if (a.capabilities.queue === 'unfair') return
    const order: string[] = []
    const hold = await a.locks.acquire(scene.key)
    const waiting = b.locks.acquire(scene.key).then((next) => {
      order.push('waited')
      return next
    })
    await queued(a, scene.key, 1)
    const released = hold.release()
    const late = a.locks.acquire(scene.key).then(() => order.push('came late'))
    await released
    await (await waiting).release()
    await late
    assert.deepEqual(order, ['waited', 'came late'])
  })

  register('EN6: a waiter with a dead process does not block the waiters behind it', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client({ poll: '500ms', patience: '2s' })]
    const hold = await a.locks.acquire(scene.key)
    const dying = b.locks.acquire(scene.key).catch((error: { code?: unknown }) => error.code)
    await queued(a, scene.key, 1)
    // The client closes without a request to the engine, so its place in the queue stays until the engine's
    // patience ends.
    await b.close({ holds: 'keep' })
    assert.equal(await dying, 'ERR_CLOSED')
    const next = a.locks.acquire(scene.key, { wait: '25s' })
    await hold.release()
    assert.equal((await next).held, true)
  })

  register('EN7: the next waiter gets the lock soon after the release', async (scene) => {
    const first = await scene.client()
    // With pushed wake-ups, the poll interval is so long that polling cannot make this test pass.
    const slow: Partial<SuiteOptions> =
      first.capabilities.wakeUp === 'push' ? { poll: '10m', patience: '1h' } : {}
    const [a, b] = [await scene.client(slow), await scene.client(slow)]
    const hold = await a.locks.acquire(scene.key, { lease: '5m' })
    const waiting = b.locks.acquire(scene.key, { wait: '30s' })
    await queued(a, scene.key, 1)
    await hold.release()
    assert.equal((await waiting).held, true)
  })

  register('EN1: a waiter gets the lock when the present hold expires', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    await a.locks.acquire(scene.key, { lease: '1s', renew: false })
    const next = await b.locks.acquire(scene.key, { wait: '20s' })
    assert.equal(next.held, true)
  })
}
