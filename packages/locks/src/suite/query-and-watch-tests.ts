// Driver: the suite's tests of calls besides acquire and release: queries, forced releases, watches, and
// closing a client.

import assert from 'node:assert/strict'
import type { Register } from './suite-types.js'
import { pause, until } from './wait-helpers.js'

// long: a list of tests, each with its own name
export function operatorTests(register: Register): void {
  register('a query returns the holds below a prefix, in the order of their keys', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    const second = await a.locks.acquire(`${scene.key}/2`, { context: 'two' })
    const first = await b.locks.acquire(`${scene.key}/1`)
    const rows = await a.locks.query(`${scene.key}/`)
    assert.deepEqual(
      rows.map(({ key }) => Buffer.from(key).toString()),
      [`${scene.key}/1`, `${scene.key}/2`],
    )
    assert.equal(rows[1]?.context, 'two')
    assert.equal(rows[1]?.fencingToken, second.token)
    assert.ok((rows[0]?.remainingMillis ?? 0) > 0)
    await first.release()
    assert.equal((await a.locks.query(`${scene.key}/`)).length, 1)
    assert.equal((await a.locks.query(`${scene.key}/3`)).length, 0)
  })

  register('forceRelease ends exactly the given hold, and the holder learns of the end', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    const hold = await a.locks.acquire(scene.key, { lease: '5s' })
    const { signal } = hold
    assert.equal(await b.locks.forceRelease(scene.key, hold.token + 1), false)
    assert.equal(hold.held, true)
    assert.equal(await b.locks.forceRelease(scene.key, hold.token), true)
    assert.equal(await b.locks.forceRelease(scene.key, hold.token), false)
    const next = await b.locks.tryAcquire(scene.key)
    assert.equal(next?.held, true)
    await until('the holder has heard of it', () => signal.aborted)
    await hold.release()
    assert.equal(next?.held, true)
  })

  register('a watch reports the beginning and the end of a hold', async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    const abort = new AbortController()
    const seen: string[] = []
    const early = `${scene.key}/early`
    let begun = false
    const watching = (async () => {
      const events = b.locks.watch({ prefix: scene.key }, { signal: abort.signal, as: 'string' })
      for await (const { type, key } of events)
        if (key === early) begun = true
        else if (type !== 'renewed') seen.push(`${type} ${key}`)
    })().catch((error: { code?: unknown }) => error.code)
    // A watch begins some time after its call, and a watch that polls misses a short hold.
    await until('the watch has begun', async () => {
      const hold = await a.locks.acquire(early)
      for (let i = 0; i < 20 && !begun; i++) await pause(100)
      await hold.release()
      return begun
    })
    const hold = await a.locks.acquire(scene.key)
    await until('the watch has told of the hold', () => seen.length === 1)
    await hold.release()
    await until('the watch has told of its end', () => seen.length === 2)
    assert.deepEqual(seen, [`acquired ${scene.key}`, `released ${scene.key}`])
    abort.abort()
    assert.equal(await watching, 'ERR_ABORTED')
  })

  register(
    'releaseAll first aborts the signals of all holds of a client, and then ends the holds',
    async (scene) => {
      const [a, b] = [await scene.client(), await scene.client()]
      const holds = [await a.locks.acquire(`${scene.key}/1`), await a.locks.acquire(`${scene.key}/2`)]
      const signals = holds.map(({ signal }) => signal)
      assert.equal(await a.locks.releaseAll(), 2)
      assert.deepEqual(
        signals.map(({ aborted }) => aborted),
        [true, true],
      )
      assert.notEqual(await b.locks.tryAcquire(`${scene.key}/1`), undefined)
    },
  )

  register(
    'close releases the holds of the client, or keeps them until the end of their leases',
    async (scene) => {
      const [a, b, c] = [await scene.client(), await scene.client(), await scene.client()]
      const left = await a.locks.acquire(`${scene.key}/left`)
      const kept = await b.locks.acquire(`${scene.key}/kept`, { lease: '5m' })
      const { signal } = left
      await a.close()
      await b.close({ holds: 'keep' })
      assert.equal((signal.reason as { code?: unknown }).code, 'ERR_CLOSED')
      assert.notEqual(await c.locks.tryAcquire(`${scene.key}/left`), undefined)
      assert.equal(await c.locks.tryAcquire(`${scene.key}/kept`), undefined)
      await assert.rejects(a.locks.acquire(scene.key), { code: 'ERR_CLOSED' })
      assert.equal(await c.locks.forceRelease(`${scene.key}/kept`, kept.token), true)
    },
  )
}
