// Test: every key-value command of docs/api.md, with its edge cases.

import { CAPS, OP, READ, STEP } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { codeOf, show } from '../testing/results-as-text.js'
import { World, k } from '../testing/state-machine-with-own-log.js'

let w: World
beforeEach(async () => {
  w = await World.open()
})

const get = async (key: string) => show(await w.machine.read([READ.get, k(key)]))
const entry = async (key: string) =>
  show(((await w.machine.read([READ.getEntry, k(key)])) as unknown[] | null)?.[1] ?? null)
const put = (key: string, value: string) => w.one([OP.put, null, k(key), k(value)])

describe('put, putAll, putIfAbsent, getAndPut', () => {
  test('a put takes one revision, and counts versions', async () => {
    expect(await put('a', '1')).toBe(1)
    expect(await put('b', '1')).toBe(2)
    expect(await put('a', '2')).toBe(3)
    expect(await entry('a')).toEqual([1, 3, 2, '2'])
    expect(await entry('b')).toEqual([2, 2, 1, '1'])
    expect(await entry('c')).toBeNull()
  })

  test('a key that was removed begins with version 1 again', async () => {
    await w.run(
      [OP.put, null, k('a'), k('1')],
      [OP.deleteAll, null, [k('a')]],
      [OP.put, null, k('a'), k('2')],
    )
    expect(await entry('a')).toEqual([3, 3, 1, '2'])
  })

  test('empty and binary values, keys of 1 byte and of 4 KiB, keys of zero bytes and of 0xff', async () => {
    const keys = [
      Uint8Array.of(0),
      Uint8Array.of(0xff),
      new Uint8Array(CAPS.keyBytes).fill(7),
      Uint8Array.of(0, 0),
    ]
    const values = [new Uint8Array(0), Uint8Array.of(0, 255, 10, 13), new Uint8Array(CAPS.valueBytes).fill(1)]
    for (const key of keys) {
      for (const value of values) {
        await w.one([OP.put, null, key, value])
        expect(Buffer.compare(w.machine.read([READ.get, key]) as Uint8Array, value)).toBe(0)
      }
    }
    await w.restart()
    for (const key of keys)
      expect((w.machine.read([READ.get, key]) as Uint8Array).length).toBe(CAPS.valueBytes)
  })

  test('the caller may change the bytes of an entry after it was applied', async () => {
    const value = Buffer.from('before')
    await w.one([OP.put, null, k('a'), value])
    for (const { data } of w.log) data.fill(0)
    expect(await get('a')).toBe('before')
  })

  test('putAll is one change; if a key is repeated, the last value wins and counts once', async () => {
    const pairs = [
      [k('a'), k('1')],
      [k('b'), k('2')],
      [k('a'), k('3')],
    ] as const
    expect(await w.one([OP.putAll, null, pairs])).toBe(1)
    expect(await entry('a')).toEqual([1, 1, 1, '3'])
    expect(await entry('b')).toEqual([1, 1, 1, '2'])
    expect(await w.one([OP.putAll, null, []])).toBe(1)
  })

  test('putIfAbsent and getAndPut answer with the previous value or null', async () => {
    expect(await w.one([OP.putIfAbsent, null, k('a'), k('1')])).toBeNull()
    expect(show(await w.one([OP.putIfAbsent, null, k('a'), k('2')]))).toBe('1')
    expect(w.machine.revision).toBe(1)
    expect(show(await w.one([OP.getAndPut, null, k('a'), k('3')]))).toBe('1')
    expect(await w.one([OP.getAndPut, null, k('b'), k('')])).toBeNull()
    expect(show(await w.one([OP.getAndPut, null, k('b'), k('x')]))).toBe('')
    expect(w.machine.revision).toBe(4)
  })
})

describe('compareAndPutAll', () => {
  const cas = (...list: [string, string | null, string | null][]) =>
    w.one([
      OP.compareAndPutAll,
      null,
      list.map(
        ([key, expect, update]) =>
          [k(key), expect === null ? null : k(expect), update === null ? null : k(update)] as const,
      ),
    ])

  test('absent and delete; a comparison of absent with absent is true and changes nothing', async () => {
    expect(await cas(['a', null, null])).toBe(true)
    expect(w.machine.revision).toBe(0)
    expect(await cas(['a', null, '1'])).toBe(true)
    expect(await cas(['a', null, '2'])).toBe(false)
    expect(await cas(['a', '1', null])).toBe(true)
    expect(await get('a')).toBeNull()
    expect(w.machine.revision).toBe(2)
  })

  test('an empty value is not an absent one', async () => {
    await put('a', '')
    expect(await cas(['a', null, 'x'])).toBe(false)
    expect(await cas(['a', '', 'x'])).toBe(true)
  })

  test('all or nothing', async () => {
    await put('a', '1')
    expect(await cas(['a', '1', '2'], ['b', 'nothing', '3'])).toBe(false)
    expect(await get('a')).toBe('1')
    expect(await cas(['a', '1', '2'], ['b', null, '3'])).toBe(true)
    expect([await get('a'), await get('b')]).toEqual(['2', '3'])
    expect(w.machine.revision).toBe(2)
  })

  test('a repeated key: both items are compared with the state before, and the last update wins', async () => {
    expect(await cas(['a', null, '1'], ['a', '1', '2'])).toBe(false)
    expect(await cas(['a', null, '1'], ['a', null, '2'])).toBe(true)
    expect(await entry('a')).toEqual([1, 1, 1, '2'])
  })

  test('A12: two conditional writes in one entry: only the first succeeds', async () => {
    const one = [OP.compareAndPutAll, null, [[k('a'), null, k('1')]]] as const
    const two = [OP.putIfAbsent, null, k('a'), k('2')] as const
    expect(show(await w.run(one, one, two))).toEqual([true, false, '1'])
  })
})

describe('merge', () => {
  test('a value is appended after a comma; an absent key gets the value alone; empty values count', async () => {
    expect(await w.one([OP.merge, null, k('a'), k('1')])).toBe(1)
    expect(await w.one([OP.merge, null, k('a'), k('2')])).toBe(2)
    expect(await w.one([OP.merge, null, k('a'), k('')])).toBe(3)
    expect(await get('a')).toBe('1,2,')
    expect(await entry('a')).toEqual([1, 3, 3, '1,2,'])
  })

  test('a result over 1 MiB: ERR_TOO_LARGE, and nothing is changed; exactly 1 MiB is accepted', async () => {
    await w.one([OP.put, null, k('a'), new Uint8Array(CAPS.valueBytes - 3)])
    expect(await w.one([OP.merge, null, k('a'), k('xy')])).toBe(2)
    expect(codeOf(await w.one([OP.merge, null, k('a'), k('')]))).toBe('ERR_TOO_LARGE')
    expect(w.machine.revision).toBe(2)
    expect((w.machine.read([READ.get, k('a')]) as Uint8Array).length).toBe(CAPS.valueBytes)
  })
})

describe('deleteAll, deleteRange', () => {
  test('they count the keys that existed, a repeated key once; without an existing key they take no revision', async () => {
    await w.run([OP.put, null, k('a'), k('1')], [OP.put, null, k('b'), k('1')])
    expect(await w.one([OP.deleteAll, null, [k('a'), k('x'), k('a')]])).toBe(1)
    expect(await w.one([OP.deleteAll, null, [k('a'), k('x')]])).toBe(0)
    expect(await w.one([OP.deleteAll, null, []])).toBe(0)
    expect(w.machine.revision).toBe(3)
  })

  const fill = () => w.one([OP.putAll, null, ['a', 'b', 'c', 'd'].map((key) => [k(key), k('1')] as const)])
  const range = (start: string, end: string) => w.one([OP.deleteRange, null, k(start), k(end)])

  test('end is exclusive; empty and reversed ranges remove nothing', async () => {
    await fill()
    expect(await range('b', 'b')).toBe(0)
    expect(await range('c', 'b')).toBe(0)
    expect(await range('a', '')).toBe(0)
    expect(await range('b', 'd')).toBe(2)
    expect([await get('a'), await get('b'), await get('c'), await get('d')]).toEqual(['1', null, null, '1'])
    expect(await range('', 'zzz')).toBe(2)
    expect(await range('', 'zzz')).toBe(0)
    expect(w.machine.revision).toBe(3)
  })

  test('a range sees stored keys, the overlay, the batch that is being written, and earlier commands of its entry (A12)', async () => {
    await put('stored', '1')
    await put('stored-then-deleted', '1')
    await w.machine.flush()
    await put('flying', '1')
    const flushing = w.machine.flush()
    await w.one([OP.deleteAll, null, [k('stored-then-deleted')]])
    await put('overlay', '1')
    const results = await w.run(
      [OP.put, null, k('now'), k('1')],
      [OP.deleteRange, null, k('a'), k('z')],
      [OP.deleteRange, null, k('a'), k('z')],
      [OP.put, null, k('after'), k('1')],
    )
    await flushing
    expect(results).toEqual([6, 4, 0, 8])
    expect(await get('after')).toBe('1')
    await w.restart()
    expect(show(await w.machine.read([READ.page, 0, false, null, null, false, 10, 'both']))).toEqual([
      0,
      [['after', '1']],
      8,
    ])
  })

  test('K35, K17: a range over everything removes no lock and no sequence', async () => {
    await w.run(
      [OP.put, null, k('x'), k('1')],
      [OP.tryLock, k('x'), null, false, 'me', 60_000, 0, null, null],
      [OP.nextSequence, null, k('x'), 10],
    )
    expect(await w.one([OP.deleteRange, null, k(''), Uint8Array.of(0xff, 0xff)])).toBe(1)
    expect(w.machine.read([READ.sequence, k('x')])).toBe(10)
    expect(show(w.machine.read([READ.lockQuery, null, false, false]))).toHaveLength(1)
  })
})

describe('batch', () => {
  test('one revision, results in order; a step sees the steps before it', async () => {
    const steps = [
      [STEP.put, k('a'), k('1')],
      [STEP.merge, k('a'), k('2')],
      [STEP.put, k('b'), k('x')],
      [STEP.delete, k('nothing')],
      [STEP.deleteRange, k('b'), k('c')],
      [STEP.put, k('b'), k('y')],
    ] as const
    expect(await w.one([OP.batch, null, steps])).toEqual([1, [true, true, true, 0, 1, true]])
    expect(await entry('a')).toEqual([1, 1, 2, '1,2'])
    expect(await entry('b')).toEqual([1, 1, 1, 'y'])
  })

  test('a batch that fails changes nothing', async () => {
    await w.one([OP.put, null, k('big'), new Uint8Array(CAPS.valueBytes)])
    const answer = await w.one([
      OP.batch,
      null,
      [
        [STEP.put, k('a'), k('1')],
        [STEP.deleteRange, k('x'), k('y')],
        [STEP.merge, k('big'), k('2')],
      ],
    ])
    expect(codeOf(answer)).toBe('ERR_TOO_LARGE')
    expect(await get('a')).toBeNull()
    expect((w.machine.read([READ.get, k('big')]) as Uint8Array).length).toBe(CAPS.valueBytes)
    expect(w.machine.revision).toBe(1)
  })

  test('an empty batch, or one that removes nothing, takes no revision', async () => {
    expect(await w.one([OP.batch, null, []])).toEqual([0, []])
    expect(await w.one([OP.batch, null, [[STEP.delete, k('a')]]])).toEqual([0, [0]])
  })
})
