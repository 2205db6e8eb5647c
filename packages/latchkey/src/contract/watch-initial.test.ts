// Test: watch with `initial` and `resync`, and the section "List, then watch" of docs/guarantees.md.

import type { InitialWatchEvent, Store, WatchEvent } from '@latchkey/client'
import { expect, test } from 'vitest'
import { open } from '../open/index.js'
import { onEveryStore } from './testing/every-store.js'
import { code, sleep, take, thrown } from './testing/small-test-functions.js'

type Told = InitialWatchEvent<WatchEvent<'string'> | WatchEvent>

const as = { as: 'string', initial: true } as const

/** The items until the state is complete, in their order. */
async function untilSynced(watch: AsyncIterator<Told>): Promise<Told[]> {
  const told: Told[] = []
  while (told.at(-1)?.type !== 'synced') told.push(...(await take(watch, 1)))
  return told
}

onEveryStore((at) => {
  test('all present keys, then synced, then each change from the next revision on', async () => {
    const first = await at.store.put(at.key('a'), '1')
    const second = await at.store.put(at.key('b'), '2')
    await at.store.put(`elsewhere/${at.key()}`, 'elsewhere')
    const watch = at.store.watch({ prefix: at.key('') }, as)
    const initial = { type: 'put', initial: true, previous: undefined }
    const [a, b, synced] = await take(watch, 3)
    expect(a).toEqual({ ...initial, key: at.key('a'), value: '1', revision: first.revision })
    expect(b).toEqual({ ...initial, key: at.key('b'), value: '2', revision: second.revision })
    expect(synced).toEqual({ type: 'synced', revision: expect.any(Number) as number })
    const third = await at.other.put(at.key('a'), '3')
    const [change] = await take(watch, 1)
    expect(change).toEqual({
      type: 'put',
      key: at.key('a'),
      value: '3',
      previous: '1',
      revision: third.revision,
    })
    expect(synced?.type === 'synced' && synced.revision >= second.revision).toBe(true)
    await watch.return?.()
  })

  test('an empty range: synced at once; a key, a range; bytes by default', async () => {
    const { revision } = await at.store.put(at.key('b'), 'v')
    const none = at.store.watch({ prefix: at.key('none') }, as)
    const [synced] = await take(none, 1)
    expect(synced).toMatchObject({ type: 'synced' })
    const key = at.store.watch({ key: at.key('b') }, { initial: true })
    const range = at.store.watch({ range: { gt: at.key('a'), lte: at.key('b') } }, as)
    expect((await untilSynced(key))[0]).toMatchObject({ revision, value: new Uint8Array([118]) })
    expect((await untilSynced(range))[0]).toMatchObject({ revision, value: 'v' })
    await Promise.all([none.return?.(), key.return?.(), range.return?.()])
  })

  test('C61: while others write, the present keys and the changes together give the state, without a gap or a repetition', async () => {
    for (let n = 0; n < 40; n++) await at.store.put(at.key(`${n % 7}`), `before ${n}`)
    let last = { revision: 0 }
    const writes = (async () => {
      for (let n = 0; n < 120; n++) last = await at.other.put(at.key(`${n % 11}`), `${n}`)
      await at.other.delete(at.key('3'))
      last = await at.other.put(at.key('last'), 'last')
    })()
    const watch = at.store.watch({ prefix: at.key('') }, as)
    const state = new Map<string, string>()
    let synced = 0
    let seen = 0
    for await (const event of watch) {
      if (event.type === 'synced') seen = synced = event.revision
      else if (event.type === 'reset') throw new Error('a reset without resync')
      else {
        if (event.initial) expect(synced).toBe(0)
        else {
          expect(event.revision).toBe(seen + 1)
          expect(event.previous).toBe(state.get(event.key as string))
          seen = event.revision
        }
        if (event.type === 'put') state.set(event.key as string, event.value as string)
        else state.delete(event.key as string)
      }
      if (state.has(at.key('last'))) break
    }
    await writes
    const rows = await at.store.scan({ prefix: at.key('') }, { as: 'string' })
    expect([...state].toSorted()).toEqual(rows.map(({ key, value }) => [key, value]))
    expect(synced).toBeGreaterThan(0)
    expect(seen).toBeLessThanOrEqual(last.revision)
  })

  test('more than a page of keys, read slowly while they change', async () => {
    const rows = Array.from({ length: 2_300 }, (_, n) => [at.key(String(n).padStart(5, '0')), 'old'] as const)
    await at.store.putAll(rows)
    const watch = at.store.watch({ prefix: at.key('') }, as)
    const first = await take(watch, 10)
    await at.other.put(rows[2_000]?.[0] ?? '', 'new')
    const told = [...first, ...(await untilSynced(watch))]
    expect(told).toHaveLength(2_301)
    expect(told.slice(0, -1).every((event) => event.type === 'put' && event.value === 'old')).toBe(true)
    expect(await take(watch, 1)).toMatchObject([{ type: 'put', value: 'new', previous: 'old' }])
    await watch.return?.()
  })

  test('it ends by its signal, by return() and by break, like any watch', async () => {
    const controller = new AbortController()
    const watch = at.store.watch({ prefix: at.key('') }, { ...as, signal: controller.signal })
    await untilSynced(watch)
    const next = watch.next()
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(next).rejects.toMatchObject(code('ERR_ABORTED', { cause: reason }))
    expect(await watch.next()).toEqual({ done: true, value: undefined })
    const other = at.store.watch({ prefix: at.key('') }, as)
    await untilSynced(other)
    const waiting = other.next()
    await sleep(5)
    expect(await other.return?.()).toEqual({ done: true, value: undefined })
    expect(await waiting).toEqual({ done: true, value: undefined })
    for await (const event of at.store.watch({ prefix: at.key('') }, as)) if (event.type === 'synced') break
    expect(await at.store.watch({ prefix: at.key('') }, as).return?.()).toEqual({
      done: true,
      value: undefined,
    })
  })

  test('from and initial together, and resync alone, are TypeErrors; unknown names too', () => {
    const call = (target: unknown, options: unknown) =>
      thrown(() => at.store.watch(target as never, options as never))
    const wrong: [unknown, unknown, RegExp][] = [
      [{ key: 'a', from: 1 }, { initial: true }, /from/],
      [{ key: 'a' }, { resync: true }, /initial/],
      [{ key: 'a' }, { initial: 'yes' }, /initial/],
      [{ key: 'a' }, { initial: true, resync: 1 }, /resync/],
      [{ key: 'a' }, { intial: true }, /did you mean "initial"/],
      [{ key: 'a', initial: true }, {}, /initial/],
      [{ key: 'a' }, { initial: true, reSync: true }, /did you mean "resync"/],
    ]
    for (const [target, options, says] of wrong) {
      expect(call(target, options)).toBeInstanceOf(TypeError)
      expect(String(call(target, options))).toMatch(says)
    }
  })
})

/** Writes so much that the history, which keeps 64 MiB of events, drops everything before. */
async function compact(store: Store): Promise<void> {
  const value = new Uint8Array(1024 * 1024)
  for (let n = 0; n < 36; n++) await store.put('large', value)
}

/** A watch whose reader stopped after `taken` events; the history has dropped the events after that. */
async function leftBehind(
  store: Store,
  options: { initial: true; resync?: boolean },
): Promise<AsyncIterator<Told>> {
  await store.put('p/0', 'first')
  const watch = store.watch({ prefix: 'p/' }, { as: 'string', ...options })
  await untilSynced(watch)
  for (let n = 0; n < 3; n++)
    await store.putAll(Array.from({ length: 1_000 }, (_, key) => [`p/${key}`, `${n}`] as const))
  await sleep(50)
  await compact(store)
  await store.put('p/after', 'after')
  return watch
}

test('a reader that is too slow for the history: ERR_COMPACTED, after the events that had arrived', async () => {
  await using store = await open({ id: 'a', memory: true })
  const watch = await leftBehind(store, { initial: true })
  const told: Told[] = []
  const reading = (async () => {
    for (;;) told.push(...(await take(watch, 1)))
  })()
  await expect(reading).rejects.toMatchObject(code('ERR_COMPACTED'))
  expect(told.length).toBeGreaterThan(0)
  expect(told.every((event) => event.type === 'put' && !event.initial)).toBe(true)
})

test('C61: with resync it begins again with a reset, and everything reported before is void', async () => {
  await using store = await open({ id: 'a', memory: true })
  const watch = await leftBehind(store, { initial: true, resync: true })
  const state = new Map<unknown, unknown>()
  let resets = 0
  let seen = 0
  for (;;) {
    const [event] = await take(watch, 1)
    if (event === undefined) throw new Error('the watch ended')
    if (event.type === 'reset') {
      resets++
      state.clear()
    } else if (event.type === 'put') state.set(event.key, event.value)
    else if (event.type === 'synced') {
      expect(event.revision).toBeGreaterThan(seen)
      seen = event.revision
      if (resets > 0) break
    }
  }
  expect(resets).toBe(1)
  const rows = await store.scan({ prefix: 'p/' }, { as: 'string' })
  expect([...state]).toEqual(rows.map(({ key, value }) => [key, value]))
  await store.put('p/next', 'next')
  expect(await take(watch, 1)).toMatchObject([{ key: 'p/next', value: 'next' }])
  await watch.return?.()
})
