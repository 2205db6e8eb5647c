// Test: the calls for one key in the section "Keys and values" of docs/api.md.

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { bytes, code, text, utf8 } from './testing/small-test-functions.js'

onEveryStore((at) => {
  test('get: value or undefined', async () => {
    const key = at.key()
    expect(await at.store.get(key)).toBeUndefined()
    await at.store.put(key, 'v')
    expect(await at.store.get(key)).toEqual(utf8('v'))
    expect(await at.other.get(key, { as: 'string' })).toBe('v')
  })

  test('reads return Uint8Array, not a Buffer', async () => {
    const key = at.key()
    await at.store.put(key, 'v')
    const value = await at.store.get(key)
    expect(value).toBeInstanceOf(Uint8Array)
    expect(Buffer.isBuffer(value)).toBe(false)
  })

  test('values: empty and binary', async () => {
    const key = at.key()
    await at.store.put(key, '')
    expect(await at.store.get(key)).toEqual(bytes())
    expect(await at.store.containsKey(key)).toBe(true)
    const all = Uint8Array.from({ length: 256 }, (_, value) => value)
    await at.store.put(key, all)
    expect(await at.other.get(key)).toEqual(all)
  })

  test('keys: binary, and strings are UTF-8', async () => {
    const key = bytes(0, 255, 1, ...utf8(at.key()))
    await at.store.put(key, '1')
    expect(await at.store.get(key, { as: 'string' })).toBe('1')
    const spelled = at.key('Zürich 🔑')
    await at.store.put(spelled, '2')
    expect(await at.store.get(utf8(spelled), { as: 'string' })).toBe('2')
  })

  test('strings are UTF-8, also with a byte order mark at the beginning', async () => {
    const key = `\ufeff${at.key()}`
    await at.store.put(key, '\ufeffvalue')
    expect(await at.store.get(key, { as: 'string' })).toBe('\ufeffvalue')
    expect(await at.store.scan({ prefix: key }, { as: 'string' })).toEqual([{ key, value: '\ufeffvalue' }])
  })

  test('keys: 4 KiB is the most, longer is ERR_TOO_LARGE, empty a TypeError', async () => {
    const longest = at.key('k').padEnd(4096, 'x')
    await at.store.put(longest, 'v')
    expect(await at.store.get(longest, { as: 'string' })).toBe('v')
    await expect(at.store.put(`${longest}x`, 'v')).rejects.toMatchObject(
      code('ERR_TOO_LARGE', { outcome: 'not-applied', retryable: false }),
    )
    await expect(at.store.get(`${longest}x`)).rejects.toMatchObject(code('ERR_TOO_LARGE'))
    for (const empty of ['', bytes()]) {
      await expect(at.store.put(empty, 'v')).rejects.toThrow(TypeError)
      await expect(at.store.get(empty)).rejects.toThrow(TypeError)
    }
  })

  test('values: 1 MiB is the most, ERR_TOO_LARGE beyond', async () => {
    const key = at.key()
    const largest = new Uint8Array(1024 * 1024).fill(7)
    await at.store.put(key, largest)
    const back = (await at.store.get(key)) as Uint8Array
    expect(back.length).toBe(largest.length)
    expect(Buffer.compare(back, largest)).toBe(0)
    await expect(at.store.put(key, new Uint8Array(1024 * 1024 + 1))).rejects.toMatchObject(
      code('ERR_TOO_LARGE', { outcome: 'not-applied' }),
    )
    await at.store.delete(key)
  })

  test('as: per call', async () => {
    const key = at.key()
    await at.store.put(key, '{"n":1}')
    expect(await at.store.get(key, { as: 'string' })).toBe('{"n":1}')
    expect(await at.store.get(key, { as: 'json' })).toEqual({ n: 1 })
    expect(await at.store.get(at.key('absent'), { as: 'json' })).toBeUndefined()
    await at.store.put(key, 'null')
    expect(await at.store.get(key, { as: 'json' })).toBeNull()
  })

  test('json: values that JSON cannot represent are a TypeError', async () => {
    const key = at.key()
    for (const value of [{ n: 1 }, 1, null, undefined, true, [1], new ArrayBuffer(1)])
      await expect(at.store.put(key, value as never)).rejects.toThrow(TypeError)
    expect(await at.store.get(key)).toBeUndefined()
    for (const wrong of [1, null, undefined, {}, ['a']])
      await expect(at.store.put(wrong as never, 'v')).rejects.toThrow(TypeError)
  })

  test('containsKey: boolean', async () => {
    const key = at.key()
    expect(await at.store.containsKey(key)).toBe(false)
    await at.store.put(key, 'v')
    expect(await at.store.containsKey(key)).toBe(true)
  })

  test('getEntry: value, createRevision, modRevision, version and the revision of the read, or undefined', async () => {
    const key = at.key()
    expect(await at.store.getEntry(key)).toBeUndefined()
    const { revision } = await at.store.put(key, 'a')
    expect(await at.store.getEntry(key)).toEqual({
      value: utf8('a'),
      createRevision: revision,
      modRevision: revision,
      version: 1,
      revision: expect.any(Number),
    })
    const second = await at.store.put(key, 'b')
    expect(second.revision).toBeGreaterThan(revision)
    expect(await at.other.getEntry(key, { as: 'string' })).toEqual({
      value: 'b',
      createRevision: revision,
      modRevision: second.revision,
      version: 2,
      revision: expect.any(Number),
    })
    await at.store.delete(key)
    const third = await at.store.put(key, 'c')
    expect(await at.store.getEntry(key, { as: 'string' })).toEqual({
      value: 'c',
      createRevision: third.revision,
      modRevision: third.revision,
      version: 1,
      revision: expect.any(Number),
    })
  })

  test('put: { revision }, and nothing else', async () => {
    const answer = await at.store.put(at.key(), 'v')
    expect(Object.keys(answer)).toEqual(['revision'])
    expect(Number.isSafeInteger(answer.revision)).toBe(true)
  })

  test('putIfAbsent: the previous value or undefined', async () => {
    const key = at.key()
    expect(await at.store.putIfAbsent(key, 'a')).toBeUndefined()
    expect(await at.store.putIfAbsent(key, 'b')).toEqual(utf8('a'))
    expect(await at.store.putIfAbsent(key, 'b', { as: 'string' })).toBe('a')
    expect(await at.store.get(key, { as: 'string' })).toBe('a')
    const empty = at.key('empty')
    await at.store.put(empty, '')
    expect(await at.store.putIfAbsent(empty, 'x')).toEqual(bytes())
  })

  test('two putIfAbsent at once: one succeeds', async () => {
    const key = at.key()
    const previous = await Promise.all([
      at.store.putIfAbsent(key, 'a', { as: 'string' }),
      at.store.putIfAbsent(key, 'b', { as: 'string' }),
      at.other.putIfAbsent(key, 'c', { as: 'string' }),
    ])
    const kept = await at.store.get(key, { as: 'string' })
    expect(previous.filter((value) => value === undefined)).toHaveLength(1)
    expect(previous.filter((value) => value === kept)).toHaveLength(2)
  })

  test('getAndPut: the previous value or undefined', async () => {
    const key = at.key()
    expect(await at.store.getAndPut(key, 'a')).toBeUndefined()
    expect(await at.store.getAndPut(key, 'b', { as: 'string' })).toBe('a')
    expect(await at.store.get(key, { as: 'string' })).toBe('b')
  })

  test('compareAndPut: a boolean; undefined means absent or delete', async () => {
    const key = at.key()
    expect(await at.store.compareAndPut(key, 'x', 'y')).toBe(false)
    expect(await at.store.compareAndPut(key, undefined, 'a')).toBe(true)
    expect(await at.store.compareAndPut(key, undefined, 'b')).toBe(false)
    expect(await at.store.compareAndPut(key, 'a', 'b')).toBe(true)
    expect(await at.store.compareAndPut(key, 'a', 'c')).toBe(false)
    expect(await at.store.get(key, { as: 'string' })).toBe('b')
    expect(await at.store.compareAndPut(key, 'b', undefined)).toBe(true)
    expect(await at.store.containsKey(key)).toBe(false)
    await at.store.put(key, '')
    expect(await at.store.compareAndPut(key, undefined, 'x')).toBe(false)
    expect(await at.store.compareAndPut(key, '', 'x')).toBe(true)
  })

  test('compareAndPut(key, undefined, undefined) is true if absent, and changes nothing', async () => {
    const key = at.key()
    const { revision } = await at.store.put(at.key('mark'), '1')
    expect(await at.store.compareAndPut(key, undefined, undefined)).toBe(true)
    expect(await at.store.containsKey(key)).toBe(false)
    expect((await at.store.put(at.key('mark'), '2')).revision).toBe(revision + 1)
    await at.store.put(key, 'v')
    expect(await at.store.compareAndPut(key, undefined, undefined)).toBe(false)
  })

  test('merge: appends with a comma; an absent key gets the value alone', async () => {
    const key = at.key()
    const { revision } = await at.store.merge(key, 'a')
    expect(await at.store.get(key, { as: 'string' })).toBe('a')
    expect(await at.store.merge(key, 'b')).toEqual({ revision: revision + 1 })
    expect(await at.store.get(key, { as: 'string' })).toBe('a,b')
    await at.store.merge(key, '')
    expect(await at.store.get(key, { as: 'string' })).toBe('a,b,')
    const empty = at.key('empty')
    await at.store.put(empty, '')
    await at.store.merge(empty, 'x')
    expect(await at.store.get(empty, { as: 'string' })).toBe(',x')
  })

  test('merge: one atomic step, also with many clients at once', async () => {
    const key = at.key()
    await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? at.other : at.store).merge(key, `${n}`)))
    const parts = ((await at.store.get(key, { as: 'string' })) ?? '').split(',')
    expect(parts.map(Number).sort((a: number, b: number) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n),
    )
  })

  test('merge: a result over 1 MiB is ERR_TOO_LARGE, not applied', async () => {
    const key = at.key()
    const half = new Uint8Array(512 * 1024).fill(65)
    await at.store.put(key, half)
    await expect(at.store.merge(key, half)).rejects.toMatchObject(
      code('ERR_TOO_LARGE', { outcome: 'not-applied' }),
    )
    expect((await at.store.get(key))?.length).toBe(half.length)
    await at.store.merge(key, half.subarray(1))
    expect((await at.store.get(key))?.length).toBe(1024 * 1024)
    await at.store.delete(key)
  })

  test('delete: the number of deleted keys', async () => {
    const key = at.key()
    expect(await at.store.delete(key)).toBe(0)
    await at.store.put(key, 'v')
    expect(await at.store.delete(key)).toBe(1)
    expect(await at.store.delete(key)).toBe(0)
  })

  test('a call that changes nothing takes no revision', async () => {
    const mark = async () => (await at.store.put(at.key('mark'), 'm')).revision
    const before = await mark()
    await at.store.delete(at.key('absent'))
    await at.store.putIfAbsent(at.key('mark'), 'x')
    await at.store.compareAndPut(at.key('mark'), 'other', 'x')
    await at.store.deleteAll([at.key('absent')])
    await at.store.deleteRange(at.key('z'), at.key('a'))
    await at.store.batch([{ type: 'delete', key: at.key('absent') }])
    await at.store.txn({ then: [{ type: 'get', key: at.key('mark') }] })
    await at.store.getSequence(at.key('sequence'), 1)
    expect(await mark()).toBe(before + 1)
  })

  test('arguments are copied at the call; results belong to the caller', async () => {
    const key = utf8(at.key())
    const value = utf8('before')
    const putting = at.store.put(key, value)
    key.fill(1)
    value.fill(1)
    await putting
    const asked = utf8(at.key())
    const getting = at.store.get(asked)
    asked.fill(1)
    const got = (await getting) as Uint8Array
    expect(text(got)).toBe('before')
    got.fill(0)
    expect(await at.store.get(at.key(), { as: 'string' })).toBe('before')
    expect(got.byteOffset).toBe(0)
    expect(got.buffer.byteLength).toBe(got.length)
  })

  test('consistency: stale is allowed on reads, anything else is a TypeError', async () => {
    const key = at.key()
    await at.store.put(key, 'v')
    expect(await at.store.get(key, { as: 'string', consistency: 'linearizable' })).toBe('v')
    const stale = await at.store.get(key, { as: 'string', consistency: 'stale' })
    expect([undefined, 'v']).toContain(stale)
    await expect(at.store.get(key, { consistency: 'eventual' as never })).rejects.toThrow(TypeError)
  })
})
