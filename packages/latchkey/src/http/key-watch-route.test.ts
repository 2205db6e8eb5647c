// Test: watches over HTTP as server-sent events, with a real member in memory.

import { describe, expect, test } from 'vitest'
import { eventsOf, type HeardEvent, httpMember, httpMemberOfFile } from './testing/http-member.js'

const http = httpMemberOfFile({
  tokens: ['all', { token: 'some', rights: ['read', 'write'], keys: ['in/'], locks: ['in/'] }],
})

const ALL = { authorization: 'Bearer all' }

interface Watching {
  next(): Promise<HeardEvent>
  end(): Promise<void>
  readonly response: Response
}

/** Resolves when the member has said that the watch is on. */
async function watching(path: string, headers: Record<string, string> = {}): Promise<Watching> {
  const hangUp = new AbortController()
  const response = await http.call(path, { headers: { ...ALL, ...headers }, signal: hangUp.signal })
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ])
  const events = eventsOf(response)
  return {
    response,
    async next() {
      const { value, done } = await events.next()
      if (done === true) throw new Error('the stream has ended')
      return value
    },
    async end() {
      hangUp.abort()
      await events.next().catch(() => {})
    },
  }
}

describe('keys', () => {
  test('the watch begins behind the revision that it says first, and each change has its revision as id', async () => {
    const { store } = http.member
    await store.put('w/before', '1')
    const watch = await watching('/v1/watch?prefix=w/&previous=true')
    const { id, data } = await watch.next()
    expect([Number(id), data]).toEqual([expect.any(Number), undefined])
    const { revision } = await store.put('w/a', 'one')
    await store.put('w/a', 'two')
    await store.delete('w/a')
    const told = { type: 'put', key: 'w/a' }
    expect(await watch.next()).toMatchObject({
      id: `${revision}`,
      data: { ...told, revision, value: { text: 'one' } },
    })
    expect(await watch.next()).toMatchObject({
      data: { ...told, value: { text: 'two' }, previous: { text: 'one' } },
    })
    expect((await watch.next()).data).toMatchObject({ type: 'delete', key: 'w/a' })
    await watch.end()
  })

  test('C70: only the last change of a revision has its id, and who comes back with an id misses no key of a later one', async () => {
    const { store } = http.member
    const { revision } = await store.putAll([
      ['h/1', 'a'],
      ['h/2', 'b'],
      ['h/3', 'c'],
    ])
    const watch = await watching(`/v1/watch?prefix=h/&from=${revision}`)
    const ids = [await watch.next(), await watch.next(), await watch.next()].map(({ id }) => id)
    expect(ids).toEqual([undefined, undefined, `${revision}`])
    await watch.end()
    const { revision: second } = await store.putAll([
      ['h/1', 'd'],
      ['h/2', 'e'],
    ])
    const back = await watching('/v1/watch?prefix=h/', { 'last-event-id': `${revision}` })
    expect([await back.next(), await back.next()]).toMatchObject([
      { id: undefined, data: { key: 'h/1', revision: second } },
      { id: `${second}`, data: { key: 'h/2', revision: second } },
    ])
    await back.end()
  })

  test('initial: what is there, then synced, then changes; who comes back with an id gets changes alone', async () => {
    const { store } = http.member
    await store.put('i/1', 'a')
    const watch = await watching('/v1/watch?prefix=i/&initial=true')
    expect(await watch.next()).toMatchObject({
      id: undefined,
      data: { type: 'put', initial: true, key: 'i/1' },
    })
    const synced = await watch.next()
    expect(synced).toMatchObject({ id: expect.any(String), data: { type: 'synced' } })
    await store.put('i/2', 'b')
    expect((await watch.next()).data).toMatchObject({ type: 'put', key: 'i/2' })
    await watch.end()
    const back = await watching('/v1/watch?prefix=i/&initial=true', { 'last-event-id': String(synced.id) })
    expect((await back.next()).data).toMatchObject({ type: 'put', key: 'i/2' })
    await back.end()
  })

  test('C70: an id of another store, or of the time before a restore, is refused, and does not wait for ever', async () => {
    const { revision } = await http.member.store.put('f/a', 'x')
    const watch = await watching('/v1/watch?prefix=f/', { 'last-event-id': `${revision + 1}` })
    const told = await watch.next()
    expect(told).toMatchObject({ event: 'error', data: { code: 'ERR_COMPACTED' } })
    expect(told.data?.message).toMatch(/initial=true/)
    await expect(watch.next()).rejects.toThrow('the stream has ended')
    const present = await watching('/v1/watch?prefix=f/', { 'last-event-id': `${revision}` })
    await http.member.store.put('f/a', 'y')
    expect(await present.next()).toMatchObject({ data: { type: 'put', key: 'f/a' } })
    await present.end()
  })

  test('a revision that is gone is told as an event, and the stream ends', async () => {
    const { store } = http.member
    const big = new Uint8Array(1024 * 1024)
    await store.put('c/first', 'x')
    for (let n = 0; n < 70; n++) await store.put('c/big', big)
    const watch = await watching('/v1/watch?prefix=c/&from=1')
    expect(await watch.next()).toMatchObject({
      event: 'error',
      data: { code: 'ERR_COMPACTED' },
    })
    await expect(watch.next()).rejects.toThrow('the stream has ended')
  })

  test('a caller that hangs up leaves nothing behind', async () => {
    const watch = await watching('/v1/watch?prefix=g/')
    expect(http.requestHandler.busy).toBeGreaterThan(0)
    await watch.end()
    await expect.poll(() => http.requestHandler.busy, { interval: 5 }).toBe(0)
  })

  test('a caller that does not read makes the member wait, and gets all of it when it reads', async () => {
    const { store } = http.member
    const { revision } = await store.put('slow/0', 'begin')
    const watch = await watching(`/v1/watch?prefix=slow/&from=${revision}`)
    const value = 'x'.repeat(400_000)
    for (let n = 1; n <= 40; n++) await store.put(`slow/${n}`, value)
    const keys: unknown[] = []
    for (let n = 0; n <= 40; n++) keys.push((await watch.next()).data?.key)
    expect(keys).toEqual(Array.from({ length: 41 }, (_, n) => `slow/${n}`))
    await watch.end()
  })

  test.each([
    ['prefix=a&key=b', 400],
    ['from=x', 400],
    ['initial=true&from=1', 400],
    ['form=1', 400],
  ])('%s is %d', async (query, status) => {
    const response = await http.call(`/v1/watch?${query}`, { headers: ALL })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ code: 'BAD_REQUEST' })
  })

  test.each([
    '/v1/watch?prefix=out/',
    '/v1/watch?prefix=out/&initial=true',
    '/v1/watch?prefix=out/&from=1',
    '/v1/locks:watch?prefix=out/',
    '/v1/locks/out%2Fl:watch',
    '/v1/elections/out%2Fe:observe',
  ])('who may not watch there is told so by the status: %s', async (path) => {
    const response = await http.call(path, { headers: { authorization: 'Bearer some' } })
    expect([response.status, response.headers.get('content-type')]).toEqual([403, 'application/problem+json'])
    expect(await response.json()).toMatchObject({ code: 'ERR_FORBIDDEN' })
  })
})

describe('locks and elections', () => {
  test('a lock is seen being acquired, waited for and released', async () => {
    const { store } = http.member
    const watch = await watching('/v1/locks/in%2Fl:watch')
    const all = await watching('/v1/locks:watch?prefix=in/')
    const hold = await store.locks.acquire('in/l', { lease: '20s', context: 'here' })
    const heard = { type: 'acquired', key: 'in/l', context: 'here', fencingToken: hold.token }
    expect((await watch.next()).data).toMatchObject(heard)
    expect((await all.next()).data).toMatchObject(heard)
    await hold.release()
    expect((await watch.next()).data).toMatchObject({ type: 'released', key: 'in/l' })
    await Promise.all([watch.end(), all.end()])
  })

  test('an election begins with what is', async () => {
    const empty = await watching('/v1/elections/in%2Fe:observe')
    expect((await empty.next()).data).toMatchObject({ type: 'vacant', value: null })
    const { store } = http.member
    const leadership = await store.elections.campaign('in/e', { value: 'one' })
    expect((await empty.next()).data).toMatchObject({ type: 'elected', value: { text: 'one' } })
    await leadership.proclaim('two')
    expect((await empty.next()).data).toMatchObject({ type: 'proclaimed', value: { text: 'two' } })
    const late = await watching('/v1/elections/in%2Fe:observe')
    expect((await late.next()).data).toMatchObject({
      type: 'elected',
      value: { text: 'two' },
      fencingToken: leadership.token,
    })
    await leadership.resign()
    expect((await empty.next()).data).toMatchObject({ type: 'vacant' })
    await Promise.all([empty.end(), late.end()])
  })
})

test('C71: a stop ends streams at once, and tells them', async () => {
  const own = await httpMember()
  const response = await own.call('/v1/watch')
  const events = eventsOf(response)
  await events.next()
  // The patience is longer than the test.
  await own.requestHandler.drain(600_000)
  expect(await events.next()).toMatchObject({ value: { event: 'error', data: { code: 'ERR_CLOSED' } } })
  await own.close()
})
