// Test: store.mirror keeps a Map that always shows a state of the store.

import type { As, MirrorEvents } from '@latchkey/client'
import { expect, test } from 'vitest'
import { open } from '../open/index.js'
import { onEveryStore } from './testing/every-store.js'
import { code, until, utf8 } from './testing/small-test-functions.js'

const as = { as: 'string' } as const
type Change<A extends As = 'string'> = MirrorEvents<A>['change']

onEveryStore((at) => {
  test('a mirror shows the present keys, and follows changes', async () => {
    await at.store.put(at.key('a'), '1')
    await at.store.put(at.key('b'), '2')
    await using mirror = await at.store.mirror({ prefix: at.key('') }, as)
    expect([mirror.size, mirror.get(at.key('a')), mirror.has(at.key('b'))]).toEqual([2, '1', true])
    expect([mirror.get(at.key('none')), mirror.has(at.key('none'))]).toEqual([undefined, false])
    const { revision } = await at.other.put(at.key('c'), '3')
    await until(() => mirror.revision >= revision)
    await at.other.delete(at.key('a'))
    await until(() => !mirror.has(at.key('a')))
    const expected = [
      [at.key('b'), '2'],
      [at.key('c'), '3'],
    ]
    expect([...mirror].toSorted()).toEqual(expected)
    expect([...mirror.entries()].toSorted()).toEqual(expected)
    expect([[...mirror.keys()].toSorted(), [...mirror.values()].toSorted()]).toEqual([
      [at.key('b'), at.key('c')],
      ['2', '3'],
    ])
    const seen: unknown[] = []
    mirror.forEach((value, key, of) => seen.push([key, value, of === mirror]))
    expect(seen.toSorted()).toEqual(expected.map((pair) => [...pair, true]))
  })

  test('bytes by default, as copies; json; keys as strings or as bytes', async () => {
    await at.store.put(at.key('a'), '{"n":1}')
    await at.store.put(at.key('bad'), '{')
    await using bytes = await at.store.mirror({ key: at.key('a') })
    const value = bytes.get(utf8(at.key('a'))) as Uint8Array
    value.fill(0)
    expect(bytes.get(at.key('a'))).toEqual(utf8('{"n":1}'))
    expect([...bytes.keys()]).toEqual([utf8(at.key('a'))])
    await using json = await at.store.mirror({ prefix: at.key('') }, { as: 'json' })
    expect(json.get(at.key('a'))).toEqual({ n: 1 })
    expect(() => json.get(at.key('bad')) as unknown).toThrow()
    const changes: Change<'json'>[] = []
    json.on('change', (change) => changes.push(change))
    await at.store.put(at.key('bad'), '{{')
    await at.store.put(at.key('bad'), '2')
    await until(() => changes.length === 2)
    expect(changes.map((change) => change.value as unknown)).toEqual([utf8('{{'), 2])
  })

  test('C62: changes of one revision are shown together, and their events come after that', async () => {
    await using mirror = await at.store.mirror({ prefix: at.key('') }, as)
    const told: [Change, unknown[]][] = []
    mirror.on('change', (change) => told.push([change, [...mirror.values()].toSorted()]))
    const { revision } = await at.other.putAll([
      [at.key('a'), '1'],
      [at.key('b'), '1'],
      [at.key('c'), '1'],
    ])
    await until(() => told.length === 3)
    expect(told.map(([{ key }]) => key)).toEqual([at.key('a'), at.key('b'), at.key('c')])
    for (const [change, values] of told) {
      expect(change).toMatchObject({ type: 'put', value: '1', previous: undefined, revision })
      expect(values).toEqual(['1', '1', '1'])
    }
    expect(mirror.revision).toBe(revision)
  })

  test('C62: an iteration shows one state, whatever changes meanwhile', async () => {
    await at.store.putAll(['a', 'b', 'c'].map((name) => [at.key(name), 'old'] as const))
    await using mirror = await at.store.mirror({ prefix: at.key('') }, as)
    const seen: unknown[] = []
    for (const [, value] of mirror) {
      seen.push(value)
      if (seen.length > 1) continue
      const { revision } = await at.store.putAll(
        ['a', 'b', 'c', 'd'].map((name) => [at.key(name), 'new'] as const),
      )
      await until(() => mirror.revision >= revision)
    }
    expect(seen).toEqual(['old', 'old', 'old'])
    expect([...mirror.values()]).toEqual(['new', 'new', 'new', 'new'])
  })

  test('close(): the mirror stops following, emits closed once, and still shows the last state', async () => {
    await at.store.put(at.key('a'), '1')
    const mirror = await at.store.mirror({ prefix: at.key('') }, as)
    const ends: MirrorEvents['closed'][] = []
    mirror.on('closed', (end) => ends.push(end))
    expect(mirror.closed).toBe(false)
    await mirror.close()
    await mirror.close()
    await at.store.put(at.key('a'), '2')
    expect([mirror.closed, mirror.error, mirror.get(at.key('a')), ends]).toEqual([
      true,
      undefined,
      '1',
      [{ error: undefined }],
    ])
  })

  test('its signal ends it, while it is being opened and later', async () => {
    const reason = new Error('enough')
    await expect(
      at.store.mirror({ prefix: at.key('') }, { signal: AbortSignal.abort(reason) }),
    ).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason }))
    const controller = new AbortController()
    const mirror = await at.store.mirror({ prefix: at.key('') }, { signal: controller.signal })
    controller.abort(reason)
    expect(mirror.error).toMatchObject(code('ERR_ABORTED', { cause: reason }))
  })

  test('wrong arguments are TypeErrors', async () => {
    const wrong: [unknown, unknown][] = [
      [undefined, undefined],
      [{}, undefined],
      [{ key: 'a', from: 1 }, undefined],
      [{ prefix: 'a', limit: 1 }, undefined],
      [{ prefix: 'a' }, { resync: true }],
      [{ prefix: 'a' }, { as: 'xml' }],
    ]
    for (const [target, options] of wrong)
      await expect(at.store.mirror(target as never, options as never)).rejects.toThrow(TypeError)
    await using mirror = await at.store.mirror({ prefix: at.key('') })
    expect(() => mirror.on('changed' as never, () => {})).toThrow(/did you mean "change"/)
    expect(() => mirror.get('')).toThrow(TypeError)
  })
})

test('closing the store ends the mirror, with an error that says so', async () => {
  const store = await open({ id: 'a', memory: true })
  await store.put('a', '1')
  const mirror = await store.mirror({ prefix: '' }, as)
  const ends: MirrorEvents['closed'][] = []
  mirror.on('closed', (end) => ends.push(end))
  await store.close()
  await until(() => mirror.closed)
  expect([mirror.error, mirror.get('a'), ends.length]).toMatchObject([code('ERR_CLOSED'), '1', 1])
  await expect(store.mirror({ prefix: '' })).rejects.toMatchObject(code('ERR_CLOSED'))
})
