// Test: FenceGuard refuses older tokens, for systems outside of the store (docs/locks.md, section 4).

import { describe, expect, test } from 'vitest'
import { FenceGuard } from './fence-guard.js'

const fenced = expect.objectContaining({ code: 'ERR_FENCED', outcome: 'not-applied' })

describe('FenceGuard', () => {
  test('it remembers the highest token of each resource, and accepts the same token again', async () => {
    const guard = new FenceGuard()
    await guard.check('file', 5)
    await guard.check('file', 5)
    await expect(guard.check('file', 4)).rejects.toEqual(fenced)
    await guard.check('other', 1)
    await guard.check('file', 9)
    await expect(guard.check('file', 5)).rejects.toEqual(fenced)
  })

  test('with a slow port the get and set of one check never interleave with those of another', async () => {
    const seen = new Map<string, number>()
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    const guard = new FenceGuard({
      get: async (resource) => {
        await turn()
        return seen.get(resource)
      },
      set: async (resource, token) => {
        await turn()
        seen.set(resource, token)
      },
    })
    const results = await Promise.allSettled([2, 3, 1, 3, 2].map((token) => guard.check('r', token)))
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, false])
    expect(seen.get('r')).toBe(3)
  })

  test("a failure of the port rejects its caller's check, and the next check goes on", async () => {
    let broken = true
    const guard = new FenceGuard({
      get: () => {
        if (broken) throw new Error('disk')
        return 1
      },
      set: () => {},
    })
    await expect(guard.check('r', 1)).rejects.toThrow('disk')
    broken = false
    await guard.check('r', 1)
  })

  test('wrong arguments are TypeErrors (K16: only safe integers)', async () => {
    const guard = new FenceGuard()
    for (const token of [0, -1, 1.5, Number.NaN, 2 ** 53, '1'])
      await expect(guard.check('r', token as number)).rejects.toThrow(TypeError)
    await expect(guard.check(1 as never, 1)).rejects.toThrow(TypeError)
  })
})
