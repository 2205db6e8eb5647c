// Test: many calls at the same time with large answers: a session stores 4 MiB of answers, and the other
// calls wait in the client (docs/locks.md, section 6).

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { code } from './testing/small-test-functions.js'

const MiB = 1024 * 1024

onEveryStore(
  (at) => {
    test('many large previous values at once: all calls succeed, none is refused as busy', async () => {
      const keys = Array.from({ length: 12 }, (_, n) => at.key(`${n}`))
      for (const key of keys) await at.store.put(key, new Uint8Array(MiB), { timeout: '20s' })
      const told = await Promise.all(keys.map((key) => at.store.getAndPut(key, 'small', { timeout: '20s' })))
      expect(told.map((value) => value?.length)).toEqual(keys.map(() => MiB))
      expect(await at.store.multiGet(keys, { as: 'string' })).toEqual(keys.map(() => 'small'))
    })

    test('a txn that gets more than 4 MiB: ERR_TOO_LARGE, nothing changed, and the store goes on', async () => {
      const keys = Array.from({ length: 5 }, (_, n) => at.key(`${n}`))
      for (const key of keys) await at.store.put(key, new Uint8Array(MiB), { timeout: '20s' })
      const then = [
        { type: 'put', key: at.key('mark'), value: '1' } as const,
        ...keys.map((key) => ({ type: 'get', key }) as const),
      ]
      await expect(at.store.txn({ then }, { timeout: '20s' })).rejects.toMatchObject(
        code('ERR_TOO_LARGE', { outcome: 'not-applied' }),
      )
      expect(await at.store.containsKey(at.key('mark'))).toBe(false)
      const { results } = await at.store.txn({ then: then.slice(0, 5) }, { timeout: '20s' })
      expect(results).toHaveLength(5)
      await at.store.deleteAll(keys, { timeout: '20s' })
    })
  },
  ['one in memory', 'follower', 'remote'],
)
