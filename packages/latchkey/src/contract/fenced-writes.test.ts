// Test: the error ERR_FENCED names the lock, the token, and the holder of the lock at that entry, on every
// kind of store.

import { expect, test } from 'vitest'
import type { Store } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { bytes, errorOf } from './testing/small-test-functions.js'

onEveryStore((at) => {
  const taken = async (key: string | Uint8Array, context: string | Uint8Array) => {
    const hold = await at.other.locks.acquire(key, { lease: '1m', context })
    return { hold, held: (await at.store.locks.query(key))[0] }
  }
  const writes = (store: Store, guard: { key: string | Uint8Array; token: number }) => ({
    put: () => store.put(at.key('x'), 'v', { guard }),
    'put with a life': () => store.put(at.key('x'), 'v', { guard, ttl: '1m' }),
    increment: () => store.increment(at.key('n'), 1, { guard }),
    txn: () => store.txn({ then: [{ type: 'put', key: at.key('x'), value: 'v' }] }, { guard }),
    deleteRange: () => store.deleteRange('a', 'b', { guard }),
    getSequence: () => store.getSequence(at.key('s'), 1, { guard }),
  })

  test('ERR_FENCED of every write: the key and the token of the guard, and who holds the lock at that entry', async () => {
    const { hold, held } = await taken(at.key(), 'job 7')
    const guard = { key: at.key(), token: hold.token + 1 }
    for (const [name, write] of Object.entries(writes(at.store, guard))) {
      const error = await errorOf(write())
      expect(error, name).toMatchObject({
        code: 'ERR_FENCED',
        key: at.key(),
        token: guard.token,
        holder: { id: held?.id, context: 'job 7', fencingToken: hold.token },
        outcome: 'not-applied',
      })
      expect(error.holder?.remainingMillis).toBeGreaterThan(0)
      expect(error.holder?.remainingMillis).toBeLessThanOrEqual(60_000)
      expect(error.holder?.sinceMillis).toBeGreaterThanOrEqual(0)
      expect(error.message).toContain(`${held?.id} ("job 7") has held it`)
      expect(error.message).toContain(`The lock is "${at.key()}", the token ${guard.token}.`)
      expect(error.message).toContain('Stop the work')
    }
    await hold.release()
  })

  test('ERR_FENCED: the key as it was given, as bytes too, and not as they are changed later', async () => {
    const key = bytes(255, ...new TextEncoder().encode(at.key()))
    const { hold } = await taken(key, bytes(1, 2))
    const given = key.slice()
    const error = errorOf(at.store.put('x', 'v', { guard: { key: given, token: 1 } }))
    given[0] = 7
    expect(await error).toMatchObject({ key, token: 1, holder: { context: bytes(1, 2) } })
    await hold.release()
  })

  test('a sub names locks and keys without its prefix', async () => {
    const below = at.store.sub('below/')
    expect(await errorOf(below.put('x', 'v', { guard: { key: at.key(), token: 1 } }))).toMatchObject({
      code: 'ERR_FENCED',
      key: at.key(),
      message: expect.stringContaining(`The lock is "${at.key()}"`),
    })
    await below.put(at.key(), 'seven')
    expect(await errorOf(below.increment(at.key()))).toMatchObject({
      code: 'ERR_NOT_A_NUMBER',
      key: at.key(),
    })
    const hold = await below.locks.acquire(at.key())
    await hold.release()
    expect(await errorOf(hold.kv.put('x', 'v'))).toMatchObject({ code: 'ERR_FENCED', key: at.key() })
    expect(await errorOf(below.getDistributedLock(at.key(), '1s').unlock())).toMatchObject({ key: at.key() })
  })

  test('ERR_FENCED: where nobody holds the lock it has no holder, and says so', async () => {
    const error = await errorOf(at.store.put('x', 'v', { guard: { key: at.key(), token: 1 } }))
    expect(error).toMatchObject({ code: 'ERR_FENCED', key: at.key(), token: 1 })
    expect(error).not.toHaveProperty('holder')
    expect(error.message).toContain('Nobody holds it now.')
  })
})
