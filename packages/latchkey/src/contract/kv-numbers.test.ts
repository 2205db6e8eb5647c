// Test: docs/api.md: increment, and conditions that compare numbers.

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { code } from './testing/small-test-functions.js'

const as = { as: 'string' } as const

onEveryStore((at) => {
  test('increment: an absent key counts as 0; by 1 by default; the value is decimal text', async () => {
    const key = at.key()
    const first = await at.store.increment(key)
    expect(first.value).toBe(1)
    expect(await at.other.increment(key, 41)).toEqual({ value: 42, revision: first.revision + 1 })
    expect((await at.store.increment(key, -50)).value).toBe(-8)
    expect(await at.store.get(key, as)).toBe('-8')
  })

  test('increment: many at once, and none is lost or counted twice', async () => {
    const key = at.key()
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? at.store : at.other).increment(key)),
    )
    expect(all.map(({ value }) => value).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, i) => i + 1),
    )
  })

  test('increment: the errors for a value that is no number, and for a sum that is no safe integer', async () => {
    const key = at.key()
    await at.store.put(key, 'seven')
    const refused = { outcome: 'not-applied', retryable: false }
    await expect(at.store.increment(key)).rejects.toMatchObject(code('ERR_NOT_A_NUMBER', refused))
    await at.store.put(key, String(Number.MAX_SAFE_INTEGER))
    await expect(at.store.increment(key)).rejects.toMatchObject(code('ERR_TOO_LARGE', refused))
    for (const by of [1.5, Number.NaN, 2 ** 53, '1', null, 1n, {}])
      await expect(at.store.increment(key, by as never)).rejects.toThrow(TypeError)
    expect(await at.store.get(key, as)).toBe(String(Number.MAX_SAFE_INTEGER))
  })

  test('increment as an operation of a batch and a txn: the new value is its result', async () => {
    const key = at.key()
    const ops = [
      { type: 'increment', key },
      { type: 'increment', key, by: 9 },
    ] as const
    expect((await at.store.batch(ops)).results).toEqual([1, 10])
    expect((await at.store.txn({ then: ops })).results).toEqual([11, 20])
    await at.store.put(`${key}/w`, 'x')
    await expect(at.store.batch([...ops, { type: 'increment', key: `${key}/w` }])).rejects.toMatchObject(
      code('ERR_NOT_A_NUMBER'),
    )
    expect(await at.store.get(key, as)).toBe('20')
    const half = [{ type: 'increment', key, by: 0.5 }] as const
    await expect(at.store.batch(half)).rejects.toThrow('ops[0].by must be a safe integer')
  })

  test("conditions as: 'number': 9 is less than 10, and absent counts as 0", async () => {
    const key = at.key()
    const take = () =>
      at.store.txn({
        when: [{ key, is: '<', value: 10, as: 'number' }],
        then: [{ type: 'increment', key, by: 9 }],
      })
    expect([await take(), await take(), await take()].map(({ succeeded }) => succeeded)).toEqual([
      true,
      true,
      false,
    ])
    expect(await at.store.get(key, as)).toBe('18')
    await at.store.put(key, 'many')
    await expect(take()).rejects.toMatchObject(code('ERR_NOT_A_NUMBER'))
    for (const wrong of [
      { key, value: '10', as: 'number' },
      { key, as: 'number' },
      { key, value: 1.5, as: 'number' },
      { key, value: 1, as: 'nubmer' },
      { key, field: 'version', value: 1, as: 'number' },
    ])
      await expect(at.store.txn({ when: [wrong as never] })).rejects.toThrow(TypeError)
  })
})
