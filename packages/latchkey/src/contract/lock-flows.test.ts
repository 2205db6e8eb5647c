// Test: docs/locks.md, section 13: if flows would wait for each other, one of them gets an error at once, on
// every kind of store.

import { expect, test } from 'vitest'
import { isLatchkeyError, type LatchkeyError } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { code, until } from './testing/small-test-functions.js'

onEveryStore((at) => {
  const two = (): [string, string] => [at.key('1'), at.key('2')]
  const isWaiting = async (key: string) => {
    const rows = await at.store.locks.query(key, { queue: true })
    return rows.some(({ queue = [] }) => queue.length > 0)
  }
  const errorOf = async (call: Promise<unknown>): Promise<LatchkeyError> => {
    const error = await call.catch((reason: unknown) => reason)
    expect(isLatchkeyError(error)).toBe(true)
    return error as LatchkeyError
  }

  test('K82 K83: two flows, two locks: the second who asks is told the circle; the first gets its lock', async () => {
    const [a, b] = two()
    await at.store.locks.acquire(a, { flow: 'job-17' })
    const ofOther = await at.other.locks.acquire(b, { flow: 'job-18' })
    const waits = at.store.locks.acquire(b, { flow: 'job-17', wait: '30s' })
    await until(() => isWaiting(b))
    const error = await errorOf(at.other.locks.acquire(a, { flow: 'job-18', wait: '30s' }))
    expect(error).toMatchObject({
      ...code('ERR_DEADLOCK', { outcome: 'not-applied', retryable: false }),
      key: a,
      circle: [
        { flow: 'job-18', key: a },
        { flow: 'job-17', key: b },
      ],
    })
    expect(ofOther.held).toBe(true)
    await ofOther.release()
    expect((await waits).held).toBe(true)
  })

  test('K82: withLock within withLock, crosswise, without any name', async () => {
    const [a, b] = two()
    let isHeld = false
    const first = at.store.locks.withLock(a, async () => {
      await until(() => isHeld)
      return at.store.locks.withLock(b, { wait: '30s' }, () => 'both')
    })
    const error = await errorOf(
      at.other.locks.withLock(b, async () => {
        isHeld = true
        await until(() => isWaiting(b))
        await at.other.locks.withLock(a, { wait: '30s' }, () => {})
      }),
    )
    expect(error).toMatchObject(code('ERR_DEADLOCK'))
    expect(error.circle?.map(({ key }) => key)).toEqual([a, b])
    expect(await first).toBe('both')
  })

  test('the same flow in another mode, and a name that passes on into withLock', async () => {
    const [a, b] = two()
    const shared = await at.store.locks.acquire(a, { flow: 'F', mode: 'shared' })
    const ask = { flow: 'F', wait: '30s' } as const
    await expect(at.store.locks.acquire(a, ask)).rejects.toMatchObject(code('ERR_DEADLOCK'))
    await shared.release()
    await at.store.locks.withLock(a, { flow: 'F' }, async () => {
      await at.store.locks.acquire(b)
      const again = at.store.locks.acquire(b, { wait: '30s' })
      await expect(again).rejects.toMatchObject({ circle: [{ flow: 'F', key: b }] })
    })
  })

  test('semaphores, elections, sets and distributed locks belong to flows too', async () => {
    const [a, b] = two()
    const flow = 'F'
    await using permit = await at.store.semaphores.acquire(a, { of: 1, flow })
    const another = at.store.semaphores.acquire(a, { of: 1, flow, wait: '30s' })
    await expect(another).rejects.toMatchObject({ code: 'ERR_DEADLOCK', circle: [{ flow, key: a }] })
    await using leads = await at.store.elections.campaign(a, { flow })
    const leadAgain = at.store.elections.campaign(a, { flow, wait: '30s' })
    await expect(leadAgain).rejects.toMatchObject(code('ERR_DEADLOCK'))
    await using set = await at.store.locks.acquireAll([a, b], { flow })
    const setAgain = at.store.locks.acquireAll([b], { flow, wait: '30s' })
    await expect(setAgain).rejects.toMatchObject({ code: 'ERR_DEADLOCK', circle: [{ flow, key: b }] })
    const lock = at.store.getDistributedLock(b, '10s', undefined, { flow })
    await expect(lock.tryLock({ timeout: '30s' })).rejects.toMatchObject(code('ERR_DEADLOCK'))
    expect(await lock.tryLock()).toBe(false)
    expect([permit.held, leads.held, set.held]).toEqual([true, true, true])
  })

  test('a caller that names no flow is not affected; one that does not wait is only refused', async () => {
    const [a, b] = two()
    const mine = await at.store.locks.acquire(a, { flow: 'F' })
    const theirs = await at.other.locks.acquire(b)
    const waits = at.store.locks.acquire(b, { flow: 'F', wait: '30s' })
    await until(() => isWaiting(b))
    expect(await at.other.locks.tryAcquire(a)).toBeUndefined()
    expect(await at.store.locks.tryAcquire(a, { flow: 'F' })).toBeUndefined()
    const plain = at.other.locks.acquire(a, { wait: 300 })
    await expect(plain).rejects.toMatchObject(code('ERR_TIMEOUT'))
    await theirs.release()
    await (await waits).release()
    await mine.release()
  })

  test('a wrong name: a TypeError or ERR_TOO_LARGE, and nothing is held', async () => {
    for (const flow of ['', 7, null, {}] as never[])
      await expect(at.store.locks.acquire(at.key(), { flow })).rejects.toThrow(TypeError)
    const long = at.store.locks.acquire(at.key(), { flow: 'f'.repeat(257) })
    await expect(long).rejects.toMatchObject(code('ERR_TOO_LARGE'))
    expect(() => at.store.getDistributedLock(at.key(), '1s', undefined, { flow: 7 as never })).toThrow(
      TypeError,
    )
    await using hold = await at.store.locks.acquire(at.key(), { flow: 'ü'.repeat(128) })
    expect(hold.held).toBe(true)
  })
})
