// Test: watch of the section "Keys and values" of docs/api.md, and its rules.

import { expect, test } from 'vitest'
import type { WatchEvent } from '@latchkey/protocol'
import { onEveryStore } from './testing/every-store.js'
import { code, sleep, take, utf8 } from './testing/small-test-functions.js'

const as = { as: 'string' } as const
const brief = ({ type, key, value, previous }: WatchEvent<'string'>) => [
  type,
  key.split('/').at(-1),
  value,
  previous,
]

onEveryStore((at) => {
  test('events of a key: put and delete, with previous', async () => {
    const key = at.key('a')
    const watch = at.store.watch({ key }, as)
    const { revision } = await at.store.put(key, '1')
    await at.store.put(at.key('ab'), 'other')
    await at.store.put(key, '2')
    await at.store.delete(key)
    const events = await take(watch, 3)
    expect(events[0]).toEqual({ revision, type: 'put', key, value: '1', previous: undefined })
    expect(events.slice(1).map(brief)).toEqual([
      ['put', 'a', '2', '1'],
      ['delete', 'a', undefined, '2'],
    ])
    await watch.return?.()
  })

  test('keys and values are bytes by default', async () => {
    const watch = at.store.watch({ key: at.key() })
    await at.store.put(at.key(), 'v')
    const [event] = await take(watch, 1)
    expect(event).toMatchObject({ key: utf8(at.key()), value: utf8('v') })
    await watch.return?.()
  })

  test('prefix and range', async () => {
    const prefix = at.store.watch({ prefix: at.key('p') }, as)
    const range = at.store.watch({ range: { gte: at.key('b'), lt: at.key('d') } }, as)
    const above = at.store.watch({ range: { gt: at.key('b'), lte: at.key('d') } }, as)
    // A write of the same store is applied after the watches have begun. Writes of another store might come first.
    await at.store.put(at.key('z'), '')
    for (const name of ['a', 'b', 'c', 'd', 'p1', 'p2']) await at.other.put(at.key(name), '')
    expect((await take(prefix, 2)).map(({ key }) => key)).toEqual([at.key('p1'), at.key('p2')])
    expect((await take(range, 2)).map(({ key }) => key)).toEqual([at.key('b'), at.key('c')])
    expect((await take(above, 2)).map(({ key }) => key)).toEqual([at.key('c'), at.key('d')])
    await Promise.all([prefix.return?.(), range.return?.(), above.return?.()])
  })

  test('from is inclusive; without it the watch begins after the revision at the call', async () => {
    const first = await at.store.put(at.key('a'), '1')
    const second = await at.store.put(at.key('a'), '2')
    const late = at.store.watch({ prefix: at.key('') }, as)
    const back = at.store.watch({ prefix: at.key(''), from: first.revision }, as)
    const between = at.store.watch({ prefix: at.key(''), from: second.revision }, as)
    await at.store.put(at.key('a'), '3')
    expect((await take(late, 1)).map(brief)).toEqual([['put', 'a', '3', '2']])
    expect((await take(back, 3)).map(({ value }) => value)).toEqual(['1', '2', '3'])
    expect((await take(between, 2)).map(brief)).toEqual([
      ['put', 'a', '2', '1'],
      ['put', 'a', '3', '2'],
    ])
    await Promise.all([late.return?.(), back.return?.(), between.return?.()])
  })

  test('from a future revision', async () => {
    const { revision } = await at.store.put(at.key('a'), '1')
    const watch = at.store.watch({ prefix: at.key(''), from: revision + 2 }, as)
    await at.store.put(at.key('a'), '2')
    await at.store.put(at.key('a'), '3')
    expect((await take(watch, 1)).map(({ value }) => value)).toEqual(['3'])
    await watch.return?.()
  })

  test('events of one revision come together in the order of operations; a deleteRange has one event for each key', async () => {
    await at.store.putAll([
      [at.key('x'), 'x'],
      [at.key('y'), 'y'],
    ])
    const watch = at.store.watch({ prefix: at.key('') }, as)
    const { revision } = await at.store.batch([
      { type: 'put', key: at.key('b'), value: '1' },
      { type: 'put', key: at.key('a'), value: '2' },
      { type: 'put', key: at.key('b'), value: '3' },
      { type: 'merge', key: at.key('a'), value: '4' },
      { type: 'deleteRange', start: at.key('x'), end: at.key('z') },
      { type: 'delete', key: at.key('absent') },
    ])
    const last = await at.store.put(at.key('end'), '')
    const events = await take(watch, 7)
    expect(events.map(brief)).toEqual([
      ['put', 'b', '1', undefined],
      ['put', 'a', '2', undefined],
      ['put', 'b', '3', '1'],
      ['put', 'a', '2,4', '2'],
      ['delete', 'x', undefined, 'x'],
      ['delete', 'y', undefined, 'y'],
      ['put', 'end', '', undefined],
    ])
    expect(events.map((event) => event.revision)).toEqual([...Array(6).fill(revision), last.revision])
    await watch.return?.()
  })

  test('in order, without a gap or a repetition', async () => {
    const watch = at.store.watch({ prefix: at.key('') }, as)
    const writes = Array.from({ length: 300 }, (_, n) => at.store.put(at.key(`${n % 7}`), `${n}`))
    await Promise.all(writes)
    const events = await take(watch, 300)
    const revisions = events.map(({ revision }) => revision)
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b))
    expect(new Set(events.map(({ value }) => value)).size).toBe(300)
    await watch.return?.()
  })

  test('a call that changes nothing has no event; locks and sequences have none', async () => {
    const watch = at.store.watch({ prefix: at.key('') }, as)
    await at.store.delete(at.key('absent'))
    await at.store.getSequence(at.key('sequence'), 1)
    await (await at.store.locks.acquire(at.key('lock'))).release()
    await at.store.put(at.key('a'), '1')
    expect((await take(watch, 1)).map(brief)).toEqual([['put', 'a', '1', undefined]])
    await watch.return?.()
  })

  test('ends with ERR_ABORTED by its signal, whose reason is the cause', async () => {
    const controller = new AbortController()
    const watch = at.store.watch({ prefix: at.key('') }, { signal: controller.signal })
    const next = watch.next()
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(next).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason }))
    expect(await watch.next()).toEqual({ done: true, value: undefined })
    const never = at.store.watch({ prefix: at.key('') }, { signal: AbortSignal.abort(reason) })
    await expect(never.next()).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason }))
  })

  test('return() ends it without an error, also for a waiting reader', async () => {
    const watch = at.store.watch({ prefix: at.key('') }, as)
    const next = watch.next()
    await sleep(5)
    expect(await watch.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    const loop = at.store.watch({ prefix: at.key('') }, as)
    await at.store.put(at.key('a'), '1')
    for await (const event of loop) {
      expect(event.value).toBe('1')
      break
    }
    expect(await loop.next()).toEqual({ done: true, value: undefined })
  })

  test('wrong arguments are a TypeError at the call', () => {
    for (const target of [
      undefined,
      null,
      {},
      'key',
      { key: '' },
      { key: 'a', prefix: 'b' },
      { key: 'a', range: {} },
      { range: 'a' },
      { range: { gte: 'a', gt: 'a' } },
      { key: 'a', from: -1 },
      { key: 'a', from: 1.5 },
      { key: 'a', from: '1' },
    ])
      expect(() => at.store.watch(target as never)).toThrow(TypeError)
    expect(() => at.store.watch({ key: 'a' }, { as: 'xml' as never })).toThrow(TypeError)
  })
})
