// Test: store.sub: the calls for keys below a prefix. The calls for locks are in sub-locks.test.ts.

import { type As, LatchkeyError, type SubStore } from '@latchkey/client'
import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { all, bytes, code, take, thrown, until, utf8 } from './testing/small-test-functions.js'

const as = { as: 'string' } as const
const LONG = (length: number) => 'k'.repeat(length)
const tooLarge = (prefix: number, whole: number) =>
  code('ERR_TOO_LARGE', {
    message: expect.stringMatching(new RegExp(`${whole} bytes with the ${prefix} of the prefix.*4096`)),
  })

onEveryStore((at) => {
  const view = (name = '') => at.store.sub(at.key(name), as)

  /** Keys and values below the test's own prefix, as the store has them. */
  const stored = async () => {
    const rows = await at.store.scan({ prefix: at.key('') }, as)
    return rows.map(({ key, value }) => [key.slice(at.key('').length), value])
  }

  test('SV1: each write goes below the prefix, and each read is of there', async () => {
    const sub = view('v/')
    await at.store.put(at.key('k'), 'outside')
    await sub.put('k', '1')
    await sub.putAll([
      ['a', '1'],
      ['b', '2'],
    ])
    expect(await sub.putIfAbsent('k', '2')).toBe('1')
    expect(await sub.getAndPut('k', '3')).toBe('1')
    expect(await sub.compareAndPut('k', '3', '4')).toBe(true)
    expect(await sub.compareAndPutAll([{ key: 'k', expect: '4', update: '5' }, { key: 'none' }])).toBe(true)
    await sub.merge('k', '6')
    expect(await sub.increment('n')).toMatchObject({ value: 1 })
    expect(await sub.touch('a', '1h')).toBe(true)
    expect(await stored()).toEqual([
      ['k', 'outside'],
      ['v/a', '1'],
      ['v/b', '2'],
      ['v/k', '5,6'],
      ['v/n', '1'],
    ])
    expect(await sub.get('k')).toBe('5,6')
    expect(await sub.multiGet(['n', 'k', 'none'])).toEqual(['1', '5,6', undefined])
    expect([await sub.containsKey('k'), await sub.containsKey('v/k')]).toEqual([true, false])
    expect(await sub.getEntry('a')).toMatchObject({
      value: '1',
      version: 1,
      remainingMillis: expect.any(Number),
    })
    expect([await sub.delete('a'), await sub.deleteAll(['b', 'n', 'none'])]).toEqual([1, 2])
    expect(await sub.deleteRange('a', 'z')).toBe(1)
    expect(await stored()).toEqual([['k', 'outside']])
  })

  test('SV1: batches, transactions with conditions of keys and numbers, and sequences', async () => {
    const sub = view('v/')
    await at.store.put(at.key('n'), '100')
    const done = await sub.batch([
      { type: 'put', key: 'a', value: '1', ttl: '1h' },
      { type: 'merge', key: 'a', value: '2' },
      { type: 'increment', key: 'n', by: 4 },
      { type: 'put', key: 'x', value: '1' },
      { type: 'delete', key: 'x' },
      { type: 'deleteRange', start: '0', end: '1' },
    ])
    expect(done.results).toEqual([true, true, 4, true, 1, 0])
    const txn = await sub.txn({
      when: [
        { key: 'a', value: '1,2' },
        { key: 'n', is: '<', value: 5, as: 'number' },
        { key: 'none', field: 'version', value: 0 },
      ],
      then: [
        { type: 'get', key: 'a' },
        { type: 'increment', key: 'n' },
      ],
      else: [{ type: 'get', key: 'n' }],
    })
    expect(txn).toMatchObject({ succeeded: true, results: [{ value: '1,2' }, 5] })
    const other = await sub.txn({ when: [{ key: 'a', value: undefined }], else: [{ type: 'get', key: 'n' }] })
    expect(other).toMatchObject({ succeeded: false, results: [{ value: '5' }] })
    expect(await stored()).toEqual([
      ['n', '100'],
      ['v/a', '1,2'],
      ['v/n', '5'],
    ])
    expect(await sub.getSequence('s', 10)).toEqual({ start: 0, end: 10 })
    expect(await at.store.getLatestSequence(at.key('v/s'))).toBe(10)
    expect([await sub.getLatestSequence('s'), await at.store.getLatestSequence(at.key('s'))]).toEqual([10, 0])
    await sub.resetSequence('s')
    expect(await at.store.getLatestSequence(at.key('v/s'))).toBe(0)
  })

  test('SV1, SV2: a range never leaves the prefix, and its keys come back without it', async () => {
    const sub = view('v/')
    // Beside, before and behind what is below the prefix.
    for (const key of ['v', 'v.', 'v0', 'w', 'u', 'v/a', 'v/b', 'v/c']) await at.store.put(at.key(key), key)
    const keys = async (range?: Parameters<typeof sub.scan>[0]) =>
      (await sub.scan(range)).map(({ key }) => key)
    expect(await keys()).toEqual(['a', 'b', 'c'])
    expect(await keys({ reverse: true, limit: 2 })).toEqual(['c', 'b'])
    expect(await keys({ gte: 'b' })).toEqual(['b', 'c'])
    expect(await keys({ gt: 'b' })).toEqual(['c'])
    expect(await keys({ lt: 'b' })).toEqual(['a'])
    expect(await keys({ lte: 'b' })).toEqual(['a', 'b'])
    expect(await keys({ gte: '', lt: '' })).toEqual([])
    expect(await keys({ prefix: 'b' })).toEqual(['b'])
    expect(await keys({ prefix: '' })).toEqual(['a', 'b', 'c'])
    expect(await keys({ lte: bytes(0xff, 0xff) })).toEqual(['a', 'b', 'c'])
    expect(await all(sub.keys())).toEqual(['a', 'b', 'c'])
    expect(await all(sub.values({ gte: 'c' }))).toEqual(['v/c'])
    expect(await all(sub.entries({ lt: 'b' }))).toEqual([{ key: 'a', value: 'v/a' }])
    expect(await sub.deleteRange(bytes(0), bytes(0xff, 0xff))).toBe(3)
    expect((await stored()).map(([key]) => key)).toEqual(['u', 'v', 'v.', 'v0', 'w'])
  })

  test('SV1: a prefix that ends with bytes 0xff, or is made of them', async () => {
    const prefix = Buffer.concat([utf8(at.key('')), bytes(0xff, 0xff)])
    const behind = at.key('').replace(/\/$/, '0')
    await at.store.put(behind, 'behind')
    const sub = at.store.sub(prefix)
    await sub.put(bytes(0xff), 'v')
    await sub.put(bytes(0), 'w')
    expect((await sub.scan()).map(({ key }) => key)).toEqual([bytes(0), bytes(0xff)])
    expect((await sub.scan({ prefix: bytes(0xff) })).map(({ key }) => key)).toEqual([bytes(0xff)])
    expect((await sub.scan({ gt: bytes(0) })).map(({ key }) => key)).toEqual([bytes(0xff)])
    const last = at.store.sub(Buffer.concat([bytes(0xff, 0xff), utf8(at.key())]))
    await last.put('k', 'v')
    const open = at.store.sub(bytes(0xff, 0xff))
    expect((await open.scan({}, as)).length).toBeGreaterThan(0)
    expect((await open.scan({ prefix: at.key() })).length).toBe(1)
    expect(await last.delete('k')).toBe(1)
    await at.store.delete(behind)
  })

  test('SV2: watches: changes, what is there, by key, prefix and range', async () => {
    const sub = view('v/')
    await at.store.put(at.key('w'), 'outside')
    const { revision } = await sub.put('a', '1')
    const initial = sub.watch({ prefix: '' }, { initial: true, resync: true })
    expect(await take(initial, 2)).toMatchObject([
      { type: 'put', initial: true, key: 'a', value: '1', revision },
      { type: 'synced' },
    ])
    const [one, range, past] = [
      sub.watch({ key: 'b' }),
      sub.watch({ range: { gte: 'b' } }),
      sub.watch({ prefix: '', from: revision }),
    ]
    // A write of the same store is applied after the watches have begun. Writes of another store might come first.
    await at.store.put(at.key('begin'), '')
    await at.other.put(at.key('v0'), 'outside')
    await at.other.sub(at.key('v/')).put('b', '2')
    await at.other.put(at.key('v/c'), '3')
    await sub.delete('b')
    expect((await take(initial, 3)).map((event) => [event.type, 'key' in event && event.key])).toEqual([
      ['put', 'b'],
      ['put', 'c'],
      ['delete', 'b'],
    ])
    expect((await take(one, 2)).map(({ type, key, previous }) => [type, key, previous])).toEqual([
      ['put', 'b', undefined],
      ['delete', 'b', '2'],
    ])
    expect((await take(range, 3)).map(({ key }) => key)).toEqual(['b', 'c', 'b'])
    expect((await take(past, 4)).map(({ key }) => key)).toEqual(['a', 'b', 'c', 'b'])
    for (const watch of [initial, one, range, past]) await watch.return?.()
  })

  test('SV2: a mirror', async () => {
    const sub = view('v/')
    await at.store.put(at.key('w'), 'outside')
    await sub.put('a', '1')
    await using mirror = await sub.mirror({ prefix: '' })
    const changed: unknown[] = []
    mirror.on('change', ({ key, value }) => changed.push([key, value]))
    expect([...mirror]).toEqual([['a', '1']])
    const { revision } = await sub.put('b', '2')
    await at.store.put(at.key('w'), 'outside')
    await until(() => mirror.revision >= revision)
    expect([mirror.get('b'), mirror.has('v/b'), mirror.has('b'), mirror.size]).toEqual(['2', false, true, 2])
    expect(changed).toEqual([['b', '2']])
  })

  test('a sub of a sub; each with its own encoding', async () => {
    const outer = at.store.sub(at.key('v/'), { as: 'json' })
    const inner = outer.sub('w/')
    await inner.put('k', { n: 1 })
    expect(await at.store.get(at.key('v/w/k'), as)).toBe('{"n":1}')
    expect(await outer.get<{ n: number }>('w/k')).toEqual({ n: 1 })
    const text = inner.sub('x/', as)
    await text.put('k', 'plain')
    expect((await text.scan()).map(({ key }) => key)).toEqual(['k'])
    expect((await outer.scan({ keysOnly: true })).map(({ key }) => key)).toEqual(['w/k', 'w/x/k'])
    expect([at.store.as, outer.as, inner.as, text.as]).toEqual(['bytes', 'json', 'json', 'string'])
    expect(await text.get('k', { as: 'bytes' })).toEqual(utf8('plain'))
    const loose = at.store.sub(at.key('v/w/x/'), { as: 'json', onUndecodable: 'bytes' })
    expect(await loose.get('k')).toEqual(utf8('plain'))
    expect((await at.store.sub(at.key('v/'), {}).scan()).map(({ key }) => key)).toEqual([
      utf8('w/k'),
      utf8('w/x/k'),
    ])
  })

  test('SV2: errors name keys without the prefix', async () => {
    const sub = at.store.sub(at.key('v/'), { as: 'json' })
    const { revision } = await sub.put('bad', '{', as)
    const undecodable = code('ERR_UNDECODABLE', { key: 'bad', revision })
    const failed = await sub.get('bad').catch((error: unknown) => error as Error)
    expect(failed).toMatchObject(undecodable)
    expect((failed as Error).message).toMatch(/^The value of "bad" of revision/)
    await expect(sub.getEntry('bad')).rejects.toMatchObject(undecodable)
    await expect(sub.scan()).rejects.toMatchObject(code('ERR_UNDECODABLE', { key: 'bad' }))
    await expect(sub.getAndPut('bad', 1)).rejects.toMatchObject(
      code('ERR_UNDECODABLE', { key: 'bad', outcome: 'unknown' }),
    )
    const mirror = await sub.mirror({ prefix: '' })
    await at.store.put(at.key('v/bad'), '{')
    await until(() => thrown(() => mirror.get('bad')) !== undefined)
    expect(thrown(() => mirror.get('bad'))).toMatchObject(code('ERR_UNDECODABLE', { key: 'bad' }))
    await mirror.close()
  })

  test('the limit of a key counts the prefix, and the error says so', async () => {
    const prefix = at.key('v/')
    const room = 4096 - prefix.length
    const sub = at.store.sub(prefix, as)
    await sub.put(LONG(room), 'v')
    expect(await sub.get(LONG(room))).toBe('v')
    await expect(sub.put(LONG(room + 1), 'v')).rejects.toMatchObject(tooLarge(prefix.length, 4097))
    await expect(sub.get(LONG(room + 1))).rejects.toMatchObject(tooLarge(prefix.length, 4097))
    await expect(sub.multiGet(['a', LONG(room + 1)])).rejects.toMatchObject(tooLarge(prefix.length, 4097))
    await expect(sub.scan({ gte: LONG(room + 2) })).rejects.toThrow(/a bound of the range has 4098 bytes/)
    expect(thrown(() => sub.watch({ prefix: LONG(room + 2) }))).toBeInstanceOf(LatchkeyError)
    expect((await sub.scan({ gt: LONG(room) })).length).toBe(0)
    expect(thrown(() => sub.sub(LONG(room)))).toMatchObject(code('ERR_TOO_LARGE'))
    expect(thrown(() => at.store.sub(LONG(4096)))).toMatchObject(code('ERR_TOO_LARGE'))
    expect(at.store.sub(LONG(4095)).as).toBe('bytes')
    await sub.delete(LONG(room))
  })

  test('mistakes are a TypeError at the call', async () => {
    const sub = at.store.sub as unknown as (...args: unknown[]) => SubStore<As>
    const call = (...args: unknown[]) => thrown(() => sub.apply(at.store, args))
    for (const args of [
      [],
      [''],
      [undefined],
      [7],
      [null],
      [new Uint8Array(0)],
      ['a', 'json'],
      ['a', { as: 'text' }],
    ])
      expect(call(...args)).toBeInstanceOf(TypeError)
    expect(call('')).toMatchObject({ message: expect.stringMatching(/prefix must not be empty/) })
    expect(call('a', { ass: 'json' })).toMatchObject({
      message: 'unknown option "ass" of sub: did you mean "as"?',
    })
    await expect(view('v/').get('')).rejects.toThrow(TypeError)
    await expect(view('v/').put('', 'v')).rejects.toThrow(TypeError)
  })

  test('the bytes of a prefix are copied; what a sub has not got is absent', () => {
    const prefix = utf8(at.key('v/'))
    const sub = at.store.sub(prefix, as)
    prefix.fill(0)
    const names = [
      'close',
      'ready',
      'status',
      'members',
      'sessions',
      'backup',
      'snapshot',
      'on',
      'once',
      'off',
    ]
    for (const name of [
      ...names,
      'transferLeadership',
      'tryLockWith',
      'releaseLockWith',
      Symbol.asyncDispose,
    ])
      expect([name, name in sub]).toEqual([name, false])
    return expect(sub.put('k', 'v').then(() => at.store.get(at.key('v/k'), as))).resolves.toBe('v')
  })
})
