// Test: C11: a watch has no gap, no repeated event and no older event, whatever happens to the links.

import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { utf8 } from '@latchkey/base'
import { type EventResult, type WatchEvent, errorAnswer, okAnswer } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { NO_FAULTS } from '../testing/fake-cluster.js'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

/** Reads until it ends; what was told, and how it ended. */
function reader(watch: AsyncIterableIterator<WatchEvent>) {
  const told: number[] = []
  const end = follow(
    (async () => {
      for await (const { revision } of watch) told.push(revision)
    })(),
  )
  return { told, end }
}

test('C11: links that break, move and cut: every revision once, in order', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { world, cluster, store, random } = scene(`watch ${seed}`, ['a', 'b', 'c'])
    const client = store({ as: 'string' })
    const { told, end } = reader(client.watch({ prefix: '' }))
    const writes = 200
    for (let step = 0; step < writes; step++) {
      void client.put(`k${step % 7}`, `${step}`, { timeout: 60_000 })
      if (random.chance(0.06)) for (const link of [...cluster.links]) link.break()
      if (random.chance(0.04)) cluster.elect(random.pick(cluster.urls))
      await world.run(random.between(0, 12))
    }
    await world.run(20_000)
    expect(cluster.machine.revision).toBe(writes)
    expect(told, `seed ${seed}`).toEqual(Array.from({ length: writes }, (_, at) => at + 1))
    expect(codeOf(end)).toBe('pending')
    await client.close()
    await world.run(1)
    expect(codeOf(end)).toBe('ERR_CLOSED')
  }
})

test('C11: a member that knows no leader serves a watch with what it has', async () => {
  const { world, cluster, store } = scene('a watch without a leader')
  const written = follow(store().put('k', '1'))
  await world.run(100)
  expect(codeOf(written)).toBe('ok')
  cluster.elect(undefined)
  const { told } = reader(store().watch({ prefix: '', from: 1 }))
  await world.run(100)
  expect(told).toEqual([1])
})

test('a watch begins at the call: what was written before is not told, what this store writes afterwards is', async () => {
  const { world, cluster, store } = scene()
  const client = store({ as: 'string' })
  const before = follow(client.put('k', 'before'))
  await world.run(50)
  expect(codeOf(before)).toBe('ok')
  cluster.readDelay = 20
  // Writes are faster than reads here: without care the put would be seen by the read that finds the
  // beginning.
  const watch = client.watch({ key: 'k' })
  const after = follow(client.put('k', 'after'))
  const first = follow(watch.next())
  await world.run(100)
  expect(codeOf(after)).toBe('ok')
  expect(first.fate).toMatchObject({
    is: 'ok',
    value: { done: false, value: { revision: 2, key: 'k', value: 'after' } },
  })
  expect(cluster.requests.findIndex((r) => r.kind === 'read')).toBeLessThan(
    cluster.requests.findLastIndex((r) => r.kind === 'command'),
  )
})

test('events of a revision come together: one that was cut by a lost link is told whole, once', async () => {
  const { world, cluster, store } = scene()
  const client = store({ as: 'string' })
  const { told } = reader(client.watch({ prefix: '', from: 1 }))
  await world.run(50)
  const event = (revision: number, key: string): EventResult => [revision, 0, utf8(key), utf8('v'), null]
  cluster.machine.revision = 2
  const watchOf = (link: (typeof links)[number]) => [...(link?.watches.keys() ?? [])][0] as number
  let links = [...cluster.links]
  links[0]?.tell({
    kind: 'events',
    ids: [watchOf(links[0])],
    events: [event(1, 'a'), event(2, 'b')],
    upTo: 1,
  })
  await world.run(20)
  expect(told).toEqual([1])
  links[0]?.break()
  await world.run(200)
  links = [...cluster.links]
  expect(links[0]?.sent.find((request) => request.kind === 'watch')).toMatchObject({ from: 2 })
  const tell = (revision: number, upTo: number, keys: string[]) =>
    links[0]?.tell({
      kind: 'events',
      ids: [watchOf(links[0])],
      events: keys.map((key) => event(revision, key)),
      upTo,
    })
  tell(2, 1, ['b'])
  tell(2, 2, ['c'])
  await world.run(20)
  expect(told).toEqual([1, 2, 2])
})

test('C11: events that are told of several watches at once are each reader’s own', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const readers = [1, 2].map(() => follow(client.watch({ prefix: '', from: 1 }).next()))
  await world.run(50)
  const [link] = [...cluster.links]
  const event: EventResult = [1, 0, utf8('k'), utf8('v'), null]
  link?.tell({ kind: 'events', ids: [...link.watches.keys()], events: [event], upTo: 1 })
  await world.run(20)
  const values = readers.map(({ fate }) =>
    fate.is === 'ok' ? (fate.value.value as { value: Uint8Array }).value : fate,
  )
  expect(values).toEqual([new Uint8Array(utf8('v')), new Uint8Array(utf8('v'))])
  ;(values[0] as Uint8Array)[0] = 0
  expect(values[1]).toEqual(new Uint8Array(utf8('v')))
})

test('back-pressure: a reader that does not read lets only so many events come', async () => {
  const { world, cluster, store } = scene()
  const client = store({ as: 'string' })
  const watch = client.watch({ prefix: '', from: 1 })
  await world.run(50)
  for (let at = 0; at < 5_000; at++) cluster.machine.events.push([at + 1, 0, utf8('k'), utf8(`${at}`), null])
  cluster.machine.revision = 5_000
  for (const link of cluster.links) cluster.pushEvents(link)
  await world.run(500)
  const [link] = cluster.links
  expect([...(link?.watches.values() ?? [])][0]?.next).toBe(1_025)
  const told: number[] = []
  const all = follow(
    (async () => {
      for await (const { revision } of watch) {
        told.push(revision)
        if (revision === 5_000) return true
      }
      return false
    })(),
  )
  await world.run(1_000)
  expect(codeOf(all)).toBe('ok')
  expect(told).toEqual(Array.from({ length: 5_000 }, (_, at) => at + 1))
  // It is allowed more by halves: a word of ours for each event would cost as much as the event.
  const more = cluster.requests.flatMap((request) => (request.kind === 'watchMore' ? [request.events] : []))
  expect(more[0]).toBe(1_024)
  expect(Math.min(...more)).toBeGreaterThanOrEqual(512)
  expect(more.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(5_000 + 1_024)
})

test('the ends of a watch: compacted, aborted, closed, returned', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const compacted = reader(client.watch({ prefix: '', from: 1 }))
  await world.run(50)
  const [link] = cluster.links
  const [id] = [...(link?.watches.keys() ?? [])]
  link?.tell({ kind: 'watchOver', id: id as number, answer: errorAnswer('ERR_COMPACTED') })
  await world.run(10)
  link?.watches.delete(id as number)
  expect(codeOf(compacted.end)).toBe('ERR_COMPACTED')

  const reason = new Error('enough')
  const stop = new AbortController()
  const aborted = reader(client.watch({ prefix: '', from: 1 }, { signal: stop.signal }))
  await world.run(50)
  stop.abort(reason)
  await world.run(1)
  expect(codeOf(aborted.end)).toBe('ERR_ABORTED')
  expect(aborted.end.fate.is === 'failed' && aborted.end.fate.error.cause).toBe(reason)

  const returned = client.watch({ prefix: '', from: 1 })
  const next = follow(returned.next())
  const back = follow((returned.return as () => Promise<unknown>)())
  await world.run(1)
  expect(next.fate).toEqual({ is: 'ok', value: { done: true, value: undefined } })
  expect(codeOf(back)).toBe('ok')
  expect([...cluster.links].flatMap((one) => [...one.watches.keys()])).toEqual([])

  const passing = reader(client.watch({ prefix: '', from: 1 }))
  await world.run(50)
  const [other] = [...(link?.watches.keys() ?? [])]
  link?.tell({ kind: 'watchOver', id: other as number, answer: errorAnswer('ERR_NO_LEADER') })
  void client.put('k', 'v')
  await world.run(500)
  expect(passing.told).toEqual([1])
  expect(codeOf(passing.end)).toBe('pending')
})

// Without this law: a signal that lives as long as its process keeps every watch that ever used it.
test('a watch that has ended has no listener on its signal, however it ended', async () => {
  const { world, cluster, store } = scene('listeners')
  const client = store()
  const { signal } = new AbortController()
  const listeners = () => getEventListeners(signal, 'abort').length
  const watch = () => client.watch({ prefix: '', from: 1 }, { signal })
  const ends: ((watch: AsyncIterableIterator<unknown>) => unknown)[] = [
    (one) => one.return?.(),
    (one) => follow((one.throw as (error: Error) => Promise<unknown>)(new Error('enough'))),
    (one) => (one as unknown as AsyncDisposable)[Symbol.asyncDispose](),
    () => {
      const [link] = cluster.links
      const [id] = [...(link?.watches.keys() ?? [])]
      link?.tell({ kind: 'watchOver', id: id as number, answer: errorAnswer('ERR_COMPACTED') })
    },
  ]
  for (const end of ends) {
    const one = watch()
    await world.run(50)
    expect(listeners()).toBe(1)
    end(one)
    await world.run(50)
    expect(listeners()).toBe(0)
    for (const link of cluster.links) link.watches.clear()
  }
})

test('several reads of one watch wait at once: each gets its event, in order, and all end with the watch', async () => {
  const { world, store } = scene('readers')
  const client = store({ as: 'string' })
  const one = client.watch({ prefix: '', from: 1 })
  const reads = Array.from({ length: 4 }, () => follow(one.next()))
  await world.run(50)
  for (const value of ['x', 'y']) void client.put('k', value)
  await world.run(100)
  const told = reads.map(({ fate }) => (fate.is === 'ok' ? (fate.value.value?.revision ?? 'end') : fate.is))
  expect(told).toEqual([1, 2, 'pending', 'pending'])
  await one.return?.()
  await world.run(1)
  expect(reads.map(({ fate }) => (fate.is === 'ok' ? fate.value.done : fate.is))).toEqual([
    false,
    false,
    true,
    true,
  ])
})

test('a watch whose beginning cannot be found does not keep writes waiting for ever', async () => {
  const { world, cluster, store } = scene('lift')
  cluster.faults = { ...NO_FAULTS }
  const client = store()
  const watch = client.watch({ key: 'k' })
  await (watch.return as () => Promise<unknown>)()
  const seen = follow(client.put('k', 'v'))
  await world.run(100)
  expect(codeOf(seen)).toBe('ok')
})

// Without it: each election has each of ten thousand watches begin anew, with a look into the history of
// events for each.
test('a watch stays as it is while its link does, whatever is said of leaders and whatever else is asked', async () => {
  const { world, cluster, store } = scene('stay')
  const client = store({ as: 'string' })
  const { told } = reader(client.watch({ prefix: '', from: 1 }))
  await world.run(50)
  const begun = () => cluster.requests.filter(({ kind }) => kind === 'watch' || kind === 'watchEnd').length
  expect(begun()).toBe(1)
  for (let i = 0; i < 3; i++) {
    cluster.elect('a')
    void client.put('k', `${i}`)
    cluster.faults = { ...NO_FAULTS, never: i === 1 ? 1 : 0 }
    void client.get('k')
    await world.run(20)
    cluster.faults = { ...NO_FAULTS }
    await world.run(500)
  }
  expect([begun(), told]).toEqual([1, [1, 2, 3]])
  for (const link of [...cluster.links]) link.break()
  await world.run(500)
  // The link is gone, and with it what was open there: there is nobody to be told of an end.
  expect(cluster.requests.filter(({ kind }) => kind === 'watchEnd')).toEqual([])
  expect(begun()).toBe(2)
})

test('a member that ends a watch without a reason is asked again, after a pause, from where it was', async () => {
  const { world, cluster, store } = scene('ended')
  const client = store({ as: 'string' })
  const { told, end } = reader(client.watch({ prefix: '', from: 1 }))
  await world.run(50)
  void client.put('k', '1')
  await world.run(50)
  const [link] = cluster.links
  const [id] = [...(link?.watches.keys() ?? [])]
  link?.watches.clear()
  link?.tell({ kind: 'watchOver', id: id as number, answer: okAnswer(null) })
  await world.run(3)
  const asked = () => cluster.requests.flatMap((request) => (request.kind === 'watch' ? [request.from] : []))
  expect(asked()).toEqual([1])
  void client.put('k', '2')
  await world.run(500)
  expect([asked(), told, codeOf(end)]).toEqual([[1, 2], [1, 2], 'pending'])
})

// Without it: a page that is shown a thousand times a day, each time with a watch, takes more memory each
// day.
test('a watch that ended leaves nothing behind', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { world, store } = scene('gone')
  const { engine } = store()
  await world.run(50)
  const sinks: WeakRef<object>[] = []
  const openAndEnd = () => {
    const sink = { events: () => {}, over: () => {} }
    sinks.push(new WeakRef(sink))
    return engine.watch(null, null, 1, sink)
  }
  for (let i = 0; i < 100; i++) {
    const handle = openAndEnd()
    await world.run(5)
    handle.end()
    await world.run(5)
  }
  for (let i = 0; i < 20 && sinks.some((sink) => sink.deref() !== undefined); i++) {
    await new Promise((resolve) => void setImmediate(resolve))
    collect()
  }
  // The last one may still stand somewhere on the stack.
  expect(sinks.filter((sink) => sink.deref() !== undefined).length).toBeLessThan(5)
})
