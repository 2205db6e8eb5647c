// Test: the calls for many keys in the section "Keys and values" of docs/api.md: batches, transactions and
// sequences.

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { code, utf8 } from './testing/small-test-functions.js'

const as = { as: 'string' } as const

onEveryStore((at) => {
  const fill = (...names: string[]) =>
    at.store.putAll(names.map((name) => ({ key: at.key(name), value: name })))
  const left = async () => {
    const rows = await at.store.scan({ prefix: at.key('') }, as)
    return rows.map(({ key }) => key.slice(at.key('').length))
  }

  test('multiGet: in the order of the keys, duplicates allowed, undefined for absent keys', async () => {
    await fill('a', 'b')
    const keys = ['b', 'x', 'a', 'b'].map((name) => at.key(name))
    expect(await at.store.multiGet(keys, as)).toEqual(['b', undefined, 'a', 'b'])
    expect(await at.store.multiGet(keys)).toEqual([utf8('b'), undefined, utf8('a'), utf8('b')])
    expect(await at.store.multiGet([])).toEqual([])
  })

  test('multiGet: a wrong key is a TypeError, keys must be an array', async () => {
    await expect(at.store.multiGet([at.key(), ''])).rejects.toThrow(TypeError)
    await expect(at.store.multiGet('abc' as never)).rejects.toThrow(TypeError)
    await expect(at.store.multiGet(undefined as never)).rejects.toThrow(TypeError)
  })

  test('putAll: an array of { key, value }, or any iterable of [key, value]', async () => {
    const a = await at.store.putAll([{ key: at.key('a'), value: '1' }])
    const b = await at.store.putAll(new Map([[at.key('b'), '2']]))
    const c = await at.store.putAll([[at.key('c'), '3']])
    function* pairs(): Generator<[string, Uint8Array]> {
      yield [at.key('d'), utf8('4')]
    }
    const d = await at.store.putAll(pairs())
    expect([b.revision, c.revision, d.revision]).toEqual([1, 2, 3].map((n) => a.revision + n))
    expect(await left()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('putAll: one atomic step; for a repeated key the last value counts', async () => {
    const { revision } = await at.store.putAll([
      { key: at.key('a'), value: '1' },
      { key: at.key('b'), value: '2' },
      { key: at.key('a'), value: '3' },
    ])
    const a = await at.store.getEntry(at.key('a'), as)
    expect(a).toMatchObject({ value: '3', createRevision: revision, modRevision: revision, version: 1 })
    expect((await at.store.getEntry(at.key('b')))?.modRevision).toBe(revision)
  })

  test('putAll: if one entry is wrong, nothing is sent', async () => {
    const good = { key: at.key('a'), value: '1' }
    for (const bad of [{ key: '', value: '1' }, { key: at.key('b') }, 7, null, [at.key('b')]])
      await expect(at.store.putAll([good, bad as never])).rejects.toThrow(TypeError)
    await expect(at.store.putAll(7 as never)).rejects.toThrow(TypeError)
    await expect(at.store.putAll('ab' as never)).rejects.toThrow(TypeError)
    await expect(
      at.store.putAll([good, { key: at.key('b'), value: new Uint8Array(1024 * 1024 + 1) }]),
    ).rejects.toMatchObject(code('ERR_TOO_LARGE'))
    expect(await left()).toEqual([])
  })

  test('putAll of nothing changes nothing', async () => {
    const before = await fill('a')
    expect(await at.store.putAll([])).toEqual({ revision: before.revision })
  })

  test('compareAndPutAll: all or nothing', async () => {
    await fill('a', 'b')
    const [a, b, c] = [at.key('a'), at.key('b'), at.key('c')]
    const wrong = [
      { key: a, expect: 'a', update: 'A' },
      { key: b, expect: 'x', update: 'B' },
    ]
    expect(await at.store.compareAndPutAll(wrong)).toBe(false)
    expect(await at.store.multiGet([a, b], as)).toEqual(['a', 'b'])
    expect(
      await at.store.compareAndPutAll([
        { key: a, expect: 'a', update: undefined },
        { key: b, expect: 'b', update: 'B' },
        { key: c, expect: undefined, update: 'C' },
      ]),
    ).toBe(true)
    expect(await at.store.multiGet([a, b, c], as)).toEqual([undefined, 'B', 'C'])
    expect(await at.store.compareAndPutAll([])).toBe(true)
    expect(await at.store.compareAndPutAll([{ key: c, update: 'D' }])).toBe(false)
  })

  test('deleteAll: the number of deleted keys; duplicates count once', async () => {
    await fill('a', 'b', 'c')
    expect(await at.store.deleteAll(['a', 'x', 'b', 'a'].map((name) => at.key(name)))).toBe(2)
    expect(await left()).toEqual(['c'])
    expect(await at.store.deleteAll([])).toBe(0)
  })

  test('deleteRange: end is exclusive; start >= end deletes nothing', async () => {
    await fill('a', 'b', 'c', 'd')
    expect(await at.store.deleteRange(at.key('c'), at.key('c'))).toBe(0)
    expect(await at.store.deleteRange(at.key('d'), at.key('a'))).toBe(0)
    expect(await at.store.deleteRange(at.key('b'), at.key('d'))).toBe(2)
    expect(await left()).toEqual(['a', 'd'])
    expect(await at.store.deleteRange(at.key('x'), at.key('z'))).toBe(0)
  })

  test('deleteRange and scan never touch or show locks and sequences (K17, K35)', async () => {
    await fill('a')
    await using hold = await at.store.locks.acquire(at.key('lock'))
    await at.store.getSequence(at.key('sequence'), 5)
    expect(await left()).toEqual(['a'])
    expect(await at.store.deleteRange(at.key(''), at.key('~'))).toBe(1)
    expect(await at.store.getLatestSequence(at.key('sequence'))).toBe(5)
    expect(await at.store.locks.tryAcquire(at.key('lock'))).toBeUndefined()
    await at.store.put(at.key('lock'), 'data')
    await at.store.delete(at.key('lock'))
    expect(hold.held).toBe(true)
    expect(await at.store.locks.query(at.key('lock'))).toHaveLength(1)
  })

  test('batch: { revision, results }, results in order: true, true, count, count', async () => {
    await fill('a', 'b', 'c')
    const answer = await at.store.batch([
      { type: 'put', key: at.key('x'), value: '1' },
      { type: 'merge', key: at.key('x'), value: '2' },
      { type: 'delete', key: at.key('a') },
      { type: 'deleteRange', start: at.key('b'), end: at.key('d') },
    ])
    expect(answer.results).toEqual([true, true, 1, 2])
    expect(await at.store.getEntry(at.key('x'), as)).toMatchObject({
      value: '1,2',
      modRevision: answer.revision,
    })
    expect(await left()).toEqual(['x'])
  })

  test('batch: each op sees the ones before it (A12)', async () => {
    const { results } = await at.store.batch([
      { type: 'put', key: at.key('a'), value: '1' },
      { type: 'delete', key: at.key('a') },
      { type: 'delete', key: at.key('a') },
      { type: 'put', key: at.key('b'), value: '1' },
      { type: 'deleteRange', start: at.key('a'), end: at.key('z') },
      { type: 'put', key: at.key('c'), value: '1' },
    ])
    expect(results).toEqual([true, 1, 0, true, 1, true])
    expect(await left()).toEqual(['c'])
  })

  test('batch: atomic; a merge whose result is too large refuses the whole batch', async () => {
    await at.store.put(at.key('big'), new Uint8Array(1024 * 1024))
    await expect(
      at.store.batch([
        { type: 'put', key: at.key('a'), value: '1' },
        { type: 'merge', key: at.key('big'), value: 'x' },
      ]),
    ).rejects.toMatchObject(code('ERR_TOO_LARGE', { outcome: 'not-applied' }))
    expect(await left()).toEqual(['big'])
  })

  test('batch: a wrong op is a TypeError, and nothing was sent', async () => {
    const good = { type: 'put', key: at.key('a'), value: '1' } as const
    for (const bad of [
      { type: 'get', key: at.key('a') },
      { type: 'nothing' },
      null,
      { type: 'put', key: at.key('a') },
    ])
      await expect(at.store.batch([good, bad as never])).rejects.toThrow(TypeError)
    await expect(at.store.batch({} as never)).rejects.toThrow(TypeError)
    expect(await left()).toEqual([])
    expect((await at.store.batch([])).results).toEqual([])
  })

  test('a write with commands beyond 4 MiB in all is ERR_TOO_LARGE', async () => {
    const value = new Uint8Array(1024 * 1024)
    const entries = Array.from({ length: 5 }, (_, n) => ({ key: at.key(`${n}`), value }))
    await expect(at.store.putAll(entries)).rejects.toMatchObject(
      code('ERR_TOO_LARGE', { outcome: 'not-applied' }),
    )
    expect(await left()).toEqual([])
  })

  test('txn: { succeeded, results, revision }; then and else', async () => {
    await fill('a')
    const a = at.key('a')
    const yes = await at.store.txn(
      {
        when: [{ key: a, value: 'a' }],
        then: [
          { type: 'put', key: a, value: 'b' },
          { type: 'get', key: a },
          { type: 'get', key: at.key('absent') },
          { type: 'delete', key: at.key('absent') },
        ],
        else: [{ type: 'delete', key: a }],
      },
      as,
    )
    expect(yes).toEqual({
      succeeded: true,
      revision: expect.any(Number),
      results: [
        true,
        { value: 'b', createRevision: expect.any(Number), modRevision: yes.revision, version: 2 },
        undefined,
        0,
      ],
    })
    const no = await at.store.txn({
      when: [{ key: a, value: 'a' }],
      then: [],
      else: [{ type: 'get', key: a }],
    })
    expect(no).toMatchObject({
      succeeded: false,
      revision: yes.revision,
      results: [{ value: utf8('b'), version: 2 }],
    })
    expect(await at.store.txn({})).toMatchObject({ succeeded: true, results: [] })
  })

  test('txn: all fields with all comparisons', async () => {
    const key = at.key('a')
    await at.store.put(key, 'm')
    const { revision } = await at.store.put(key, 'm')
    const created = revision - 1
    const absent = at.key('absent')
    const holds = async (condition: object) =>
      (await at.store.txn({ when: [condition as never], then: [] })).succeeded
    const table: [object, boolean][] = [
      [{ key, value: 'm' }, true],
      [{ key, field: 'value', is: '=', value: 'n' }, false],
      [{ key, is: '!=', value: 'n' }, true],
      [{ key, is: '<', value: 'n' }, true],
      [{ key, is: '>', value: 'n' }, false],
      [{ key, is: '>', value: 'l' }, true],
      [{ key, is: '<', value: 'm' }, false],
      [{ key, value: undefined }, false],
      [{ key, is: '!=', value: undefined }, true],
      [{ key: absent, value: undefined }, true],
      [{ key: absent }, true],
      [{ key: absent, value: 'm' }, false],
      [{ key: absent, is: '!=', value: 'm' }, true],
      [{ key, field: 'version', value: 2 }, true],
      [{ key, field: 'version', is: '>', value: 1 }, true],
      [{ key, field: 'version', is: '<', value: 2 }, false],
      [{ key, field: 'version', is: '!=', value: 2 }, false],
      [{ key, field: 'createRevision', value: created }, true],
      [{ key, field: 'createRevision', is: '<', value: created }, false],
      [{ key, field: 'modRevision', value: revision }, true],
      [{ key, field: 'modRevision', is: '<', value: revision + 1 }, true],
      [{ key: absent, field: 'version', value: 0 }, true],
      [{ key: absent, field: 'createRevision', value: 0 }, true],
      [{ key: absent, field: 'modRevision', is: '>', value: 0 }, false],
      [{ key: absent, field: 'modRevision', is: '<', value: 1 }, true],
    ]
    for (const [condition, expected] of table)
      expect([condition, await holds(condition)]).toEqual([condition, expected])
  })

  test('txn: all conditions must hold', async () => {
    await fill('a', 'b')
    const when = [
      { key: at.key('a'), value: 'a' },
      { key: at.key('b'), value: 'x' },
    ]
    expect((await at.store.txn({ when })).succeeded).toBe(false)
  })

  test('txn: { lock, token } is true while that lock is held with that token', async () => {
    const lock = at.key('lock')
    const holds = async (token: number) => (await at.store.txn({ when: [{ lock, token }] })).succeeded
    expect(await holds(1)).toBe(false)
    const hold = await at.store.locks.acquire(lock)
    expect(await holds(hold.token)).toBe(true)
    expect(await holds(hold.token + 1)).toBe(false)
    await hold.release()
    expect(await holds(hold.token)).toBe(false)
  })

  test('txn: wrong conditions and ops are TypeErrors', async () => {
    const key = at.key()
    for (const bad of [
      null,
      [],
      { when: {} },
      { when: [{ key, field: 'size', value: 1 }] },
      { when: [{ key, is: '>=', value: 'x' }] },
      { when: [{ key, field: 'version', value: 'x' }] },
      { when: [{ key, value: 7 }] },
      { when: [{ lock: key }] },
      { when: [{ lock: key, token: 0 }] },
      { then: [{ type: 'scan' }] },
    ])
      await expect(at.store.txn(bad as never)).rejects.toThrow(TypeError)
  })

  test('getSequence: blocks that never overlap, from 0, end exclusive', async () => {
    const key = at.key()
    expect(await at.store.getLatestSequence(key)).toBe(0)
    expect(await at.store.getSequence(key, 10)).toEqual({ start: 0, end: 10 })
    expect(await at.other.getSequence(key, 5)).toEqual({ start: 10, end: 15 })
    expect(await at.store.getLatestSequence(key)).toBe(15)
    const blocks = await Promise.all(Array.from({ length: 10 }, () => at.store.getSequence(key, 3)))
    expect(blocks.map(({ start }) => start).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 10 }, (_, n) => 15 + 3 * n),
    )
    expect(await at.store.resetSequence(key)).toBeUndefined()
    expect(await at.store.getLatestSequence(key)).toBe(0)
    expect(await at.store.getSequence(key, 1)).toEqual({ start: 0, end: 1 })
    expect(await at.store.resetSequence(at.key('never'))).toBeUndefined()
  })

  test('getSequence: step is a positive safe integer', async () => {
    for (const step of [0, -1, 1.5, Number.NaN, 2 ** 53, '1', undefined])
      await expect(at.store.getSequence(at.key(), step as never)).rejects.toThrow(TypeError)
    expect(await at.store.getSequence(at.key(), Number.MAX_SAFE_INTEGER)).toEqual({
      start: 0,
      end: Number.MAX_SAFE_INTEGER,
    })
    await expect(at.store.getSequence(at.key(), 1)).rejects.toMatchObject({ name: 'LatchkeyError' })
    expect(await at.store.getLatestSequence(at.key())).toBe(Number.MAX_SAFE_INTEGER)
  })

  test('a write with a guard is applied only while that lock is held with that token (K39)', async () => {
    const key = at.key()
    const hold = await at.store.locks.acquire(at.key('lock'))
    const guard = { key: at.key('lock'), token: hold.token }
    const stale = { key: at.key('lock'), token: hold.token + 1 }
    const writes = (g: { key: string; token: number }): (() => Promise<unknown>)[] => [
      () => at.store.put(key, '1', { guard: g }),
      () => at.store.putAll([{ key, value: '2' }], { guard: g }),
      () => at.store.putIfAbsent(key, '3', { guard: g }),
      () => at.store.getAndPut(key, '4', { guard: g }),
      () => at.store.compareAndPut(key, '4', '5', { guard: g }),
      () => at.store.compareAndPutAll([{ key, expect: '5', update: '6' }], { guard: g }),
      () => at.store.merge(key, '7', { guard: g }),
      () => at.store.touch(key, '1h', { guard: g }),
      () => at.store.increment(`${key}/n`, 1, { guard: g }),
      () => at.store.batch([{ type: 'put', key, value: '8' }], { guard: g }),
      () => at.store.txn({ then: [{ type: 'put', key, value: '9' }] }, { guard: g }),
      () => at.store.getSequence(key, 1, { guard: g }),
      () => at.store.resetSequence(key, { guard: g }),
      () => at.store.deleteAll([key], { guard: g }),
      () => at.store.delete(key, { guard: g }),
      () => at.store.deleteRange(key, `${key}~`, { guard: g }),
    ]
    for (const write of writes(stale))
      await expect(write()).rejects.toMatchObject(code('ERR_FENCED', { outcome: 'not-applied' }))
    expect(await at.store.containsKey(key)).toBe(false)
    for (const write of writes(guard)) await write()
    await hold.release()
    for (const write of writes(guard)) await expect(write()).rejects.toMatchObject(code('ERR_FENCED'))
  })

  test('a guard without a key or with a bad token is a TypeError', async () => {
    for (const guard of [{}, { key: 'k' }, { token: 1 }, { key: '', token: 1 }, null, 'k'])
      await expect(at.store.put(at.key(), 'v', { guard: guard as never })).rejects.toThrow(TypeError)
    for (const token of [0, -1, 1.5, '1', 2 ** 53, null, undefined])
      await expect(
        at.store.put(at.key(), 'v', { guard: { key: 'k', token: token as never } }),
      ).rejects.toThrow(TypeError)
    expect(await at.store.containsKey(at.key())).toBe(false)
  })
})
