// Test: lists of locks, forced release, semaphores and elections over HTTP, with a real member in memory.

import type { LockPort } from '@latchkey/lock'
import { expect, test } from 'vitest'
import { TOLD_WITHIN, unlessStalled } from '../contract/testing/small-test-functions.js'
import { type HttpMember, httpMember, httpMemberOfFile } from './testing/http-member.js'

const http = httpMemberOfFile()

const post = (path: string, body: object, headers?: Record<string, string>) =>
  http.send('POST', `/v1/${path}`, body, headers)

/** Waits until so many callers wait for that lock. */
const waiters = (key: string, count: number) =>
  expect
    .poll(async () => (await http.member.store.locks.query(key))[0]?.waiters, {
      interval: 5,
    })
    .toBe(count)

test('the list of locks tells who holds each and who waits in which order; pages are never cut within a lock', async () => {
  await post('locks/a:acquire', { id: 'one', lease: '30s', context: 'host' })
  const waiting = post('locks/a:acquire', { id: 'two', lease: '30s', wait: '30s', context: 'next' })
  await waiters('a', 1)
  for (const id of ['s1', 's2', 's3']) await post('locks/b:acquire', { id, lease: '30s', mode: 'shared' })
  const { body } = await http.send('GET', '/v1/locks?limit=2')
  const held = {
    fencingToken: expect.any(Number),
    remainingMillis: expect.any(Number),
    sinceMillis: expect.any(Number),
  }
  expect(body).toEqual({
    locks: [
      {
        key: 'a',
        mode: 'exclusive',
        id: 'one',
        context: 'host',
        acquires: 1,
        waiters: 1,
        queue: [{ id: 'two', context: 'next', mode: 'exclusive', waitedMillis: expect.any(Number) }],
        ...held,
      },
      ...['s1', 's2', 's3'].map((id) => ({
        key: 'b',
        mode: 'shared',
        id,
        acquires: 1,
        waiters: 0,
        queue: [],
        ...held,
      })),
    ],
    next: null,
  })
  const first = (await http.send('GET', '/v1/locks?limit=1&queue=false')).body
  expect(first).toMatchObject({ locks: [{ key: 'a' }], next: 'a' })
  expect((first.locks as object[])[0]).not.toHaveProperty('queue')
  expect((await http.send('GET', '/v1/locks?limit=1&after=a')).body.locks).toHaveLength(3)
  expect((await http.send('GET', '/v1/locks?prefix=c')).body).toEqual({ locks: [], next: null })

  // The next waiter is granted the lock in the same entry.
  const { fencingToken } = (await http.send('GET', '/v1/locks/a')).body
  expect((await post('locks/a:forceRelease', { fencingToken })).body).toEqual({ released: 1 })
  expect(await waiting).toMatchObject({ status: 200, body: { id: 'two' } })
  expect((await post('locks/a:forceRelease', { fencingToken })).body).toEqual({ released: 0 })
  expect((await http.send('POST', '/v1/locks/b:forceRelease')).body).toEqual({ released: 3 })
})

/** Starts a member that counts the rows in the answer of each read of its routes. */
async function memberCountingRows() {
  const counts: number[] = []
  const counting = await httpMember(undefined, (member) => ({
    actAs: (who) => {
      const by = member.actAs(who)
      const read: LockPort['read'] = async (given, options) => {
        const answer = await by.lockPort.read(given, options)
        counts.push((answer as unknown[]).length)
        return answer
      }
      return Object.assign(Object.create(by), {
        lockPort: Object.assign(Object.create(by.lockPort), { read }),
      })
    },
  }))
  return { counts, counting }
}

/** Reads all pages of a list with seven rows a page, and resolves to the names of the rows. */
async function readByPages({ send }: HttpMember, list: 'locks' | 'latches' | 'barriers', prefix: string) {
  const seen: unknown[] = []
  let after = ''
  for (let pages = 0; pages < 20; pages++) {
    const { body } = await send('GET', `/v1/${list}?prefix=${prefix}&limit=7${after}`)
    seen.push(...(body[list] as { key?: string; name?: string }[]).map(({ key, name }) => key ?? name))
    if (body.next === null) break
    after = `&after=${body.next as string}`
  }
  return seen
}

// Without this law: one small page costs as much as the list of all locks.
test('a page of the list reads the holds of that page, and one hold more', async () => {
  const { counts, counting } = await memberCountingRows()
  const keys = Array.from({ length: 40 }, (_, i) => `many/${i + 10}`)
  await counting.send('POST', '/v1/locks:acquireAll', { id: 'all', keys, lease: '1h' })
  const seen = await readByPages(counting, 'locks', 'many/')
  await counting.close()
  expect(seen).toEqual(keys)
  expect(counts).toEqual([8, 8, 8, 8, 8, 5])
})

test('a page of latches or barriers reads the rows of that page, and one row more', async () => {
  const { counts, counting } = await memberCountingRows()
  const names = Array.from({ length: 40 }, (_, i) => `many/${i + 10}`)
  const { latches, barriers } = counting.member.store
  for (const name of names) await latches.create(name, 1)
  expect(await readByPages(counting, 'latches', 'many/')).toEqual(names)
  expect(counts.splice(0)).toEqual([8, 8, 8, 8, 8, 5])

  const giveUp = new AbortController()
  const waits = names.map((name) => barriers.enter(name, { parties: 2, signal: giveUp.signal }))
  const ends = Promise.allSettled(waits)
  await expect.poll(async () => (await barriers.query('many/')).length, { interval: 5 }).toBe(names.length)
  expect(await readByPages(counting, 'barriers', 'many/')).toEqual(names)
  expect(counts).toEqual([8, 8, 8, 8, 8, 5])
  giveUp.abort()
  await ends
  await counting.close()
})

test('a watch of many locks checks the right of the caller with a read of at most one hold', async () => {
  const { counts, counting } = await memberCountingRows()
  const keys = Array.from({ length: 40 }, (_, i) => `many/${i + 10}`)
  await counting.send('POST', '/v1/locks:acquireAll', { id: 'all', keys, lease: '1h' })
  for (const query of ['', '?prefix=many/']) {
    const watch = await counting.call(`/v1/locks:watch${query}`)
    expect(watch.status).toBe(200)
    await watch.body?.cancel()
  }
  await counting.close()
  expect(counts).toEqual([1, 1])
})

test('an Idempotency-Key is the id of an acquire that has none', async () => {
  const key = { 'idempotency-key': 'attempt-1' }
  const first = await post('locks/k:acquire', { lease: '20s' }, key)
  expect(first).toMatchObject({ status: 200, body: { id: 'attempt-1' } })
  expect((await post('locks/k:acquire', { lease: '20s' }, key)).body.fencingToken).toBe(
    first.body.fencingToken,
  )
  expect(await post('locks/k:acquire', { lease: '20s' })).toMatchObject({ status: 400 })
})

test('a latch opens when it has been counted down, for whoever waits at it', async () => {
  expect((await post('latches/l:create', { count: 2 })).body).toEqual({ created: true })
  expect((await post('latches/l:create', { count: 5 })).body).toEqual({ created: false })
  const waiting = post('latches/l:wait?timeout=30s', {})
  await unlessStalled(TOLD_WITHIN, async () =>
    expect(await post('latches/l:wait?timeout=50ms', {})).toMatchObject({
      status: 504,
      body: { code: 'ERR_TIMEOUT', message: expect.stringContaining('by 2') },
    }),
  )
  expect((await post('latches/l:countDown', {})).body).toEqual({ left: 1 })
  expect((await post('latches/l:countDown', { by: 7 })).body).toEqual({ left: 0 })
  expect(await waiting).toMatchObject({ status: 200, body: { open: true } })
  expect((await post('latches/l:countDown', { bye: 1 })).status).toBe(400)
  expect((await post('latches/l:create', { count: -1 })).status).toBe(400)
  expect((await http.send('DELETE', '/v1/latches/l')).status).toBe(204)
  expect((await http.send('DELETE', '/v1/latches/l')).status).toBe(404)
  for (const verb of ['countDown', 'wait'])
    expect(await post(`latches/l:${verb}`, {})).toMatchObject({
      status: 409,
      body: { code: 'ERR_MISMATCH', message: expect.stringContaining('no latch "l"') },
    })
})

test('a barrier opens when so many have come; who hangs up leaves it', async () => {
  const gone = new AbortController()
  const left = http.call('/v1/barriers/b:enter?timeout=30s', {
    method: 'POST',
    body: '{"parties":2}',
    signal: gone.signal,
  })
  const parties = async () => (await http.member.store.barriers.query('b'))[0]?.waiters
  await expect.poll(parties, { interval: 5 }).toBe(1)
  gone.abort()
  await expect(left).rejects.toThrow()
  await expect.poll(parties, { interval: 5 }).not.toBe(1)
  const both = await Promise.all([1, 2].map(() => post('barriers/b:enter?timeout=30s', { parties: 2 })))
  expect(both.map(({ status }) => status)).toEqual([200, 200])
  expect(both.map(({ body }) => (body as { index: number }).index).sort()).toEqual([0, 1])
  expect(await post('barriers/b:enter?timeout=50ms', { parties: 2 })).toMatchObject({ status: 504 })
  expect((await post('barriers/b:enter', { party: 2 })).status).toBe(400)
})

test('permits of a semaphore: so many and no more, in the order of arrival', async () => {
  const ask = { of: 3, lease: '20s' }
  const two = await post('semaphores/s:acquire', { ...ask, id: 'two', permits: 2 })
  expect(two).toMatchObject({ status: 200, body: { id: 'two', remainingMillis: expect.any(Number) } })
  expect(await post('semaphores/s:acquire', { ...ask, id: 'more', permits: 2 })).toMatchObject({
    status: 409,
    body: { code: 'HELD', retryable: true },
  })
  const waiting = post('semaphores/s:acquire', { ...ask, id: 'more', permits: 2, wait: '30s' })
  await expect
    .poll(async () => (await http.send('GET', '/v1/semaphores?prefix=s')).body, {
      interval: 5,
    })
    .toMatchObject({
      semaphores: [{ name: 's', permits: 2, id: 'two', queue: [{ id: 'more', permits: 2 }] }],
    })
  const { fencingToken } = two.body
  expect((await post('semaphores/s:renew', { id: 'two', fencingToken })).status).toBe(200)
  expect((await post('semaphores/s:release', { id: 'two', fencingToken })).status).toBe(200)
  expect(await waiting).toMatchObject({ status: 200, body: { id: 'more' } })
  expect(await post('semaphores/s:acquire', { id: 'x', of: 4 })).toMatchObject({
    status: 409,
    body: { code: 'ERR_MISMATCH', present: 3 },
  })
  expect(await post('semaphores/s:acquire', { id: 'x', of: 1, permits: 2 })).toMatchObject({ status: 400 })
  expect(await post('semaphores/s:acquire', { id: 'x', of: 3, premits: 2 })).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('did you mean "permits"?') },
  })
  expect(await post('semaphores/s:release', { id: 'two', fencingToken })).toMatchObject({
    status: 409,
    body: { code: 'ERR_NOT_OWNER', key: 's' },
  })
})

test('an election: one leads and says something, the next leads when it resigns', async () => {
  expect(await http.send('GET', '/v1/elections/e')).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  })
  const ask = { lease: '20s', value: { json: { at: 'here' } } }
  const one = await post('elections/e:campaign', { ...ask, id: 'one' })
  const { fencingToken } = one.body
  expect((await http.send('GET', '/v1/elections/e?as=json')).body).toEqual({
    id: 'one',
    fencingToken,
    value: { json: { at: 'here' } },
    remainingMillis: expect.any(Number),
  })
  expect(await http.member.store.elections.leader('e')).toMatchObject({ id: 'one', token: fencingToken })
  expect(await post('elections/e:campaign', { ...ask, id: 'two' })).toMatchObject({
    status: 409,
    body: { code: 'HELD', id: 'one' },
  })
  const said = await post('elections/e:proclaim', { id: 'one', fencingToken, value: { text: 'there' } })
  expect(said).toMatchObject({ status: 200, body: { id: 'one', fencingToken } })
  expect((await http.send('GET', '/v1/elections/e')).body).toMatchObject({ value: { text: 'there' } })
  const two = post('elections/e:campaign', { id: 'two', lease: '20s', wait: '30s' })
  expect((await post('elections/e:renew', { id: 'one', fencingToken })).status).toBe(200)
  expect((await post('elections/e:resign', { id: 'one', fencingToken })).status).toBe(200)
  expect(await two).toMatchObject({ status: 200, body: { id: 'two' } })
  expect((await http.send('GET', '/v1/elections/e')).body).toMatchObject({ id: 'two', value: null })
  const late = await post('elections/e:proclaim', { id: 'one', fencingToken, value: { text: 'late' } })
  expect(late).toMatchObject({ status: 409, body: { code: 'ERR_NOT_OWNER', key: 'e', token: fencingToken } })
})

test('a lock: a new token, a shared hold in its place, and what happened to it', async () => {
  const { body } = await post('locks/h:acquire', { id: 'one', lease: '30s', context: 'first' })
  const first = body.fencingToken as number
  const rotated = await post('locks/h:rotate', { id: 'one', fencingToken: first })
  expect(rotated).toMatchObject({ status: 200, body: { id: 'one', remainingMillis: expect.any(Number) } })
  const second = rotated.body.fencingToken as number
  expect(second).toBeGreaterThan(first)
  expect(await http.send('PUT', '/v1/kv/h', 'v', { 'latchkey-guard': `h;${first}` })).toMatchObject({
    status: 409,
    body: { code: 'ERR_FENCED' },
  })
  expect((await post('locks/h:downgrade', { id: 'one', fencingToken: second })).body).toMatchObject({
    fencingToken: second,
  })
  expect((await post('locks/h:acquire', { id: 'two', mode: 'shared', lease: '30s' })).status).toBe(200)
  expect(await post('locks/h:rotate', { id: 'nobody', fencingToken: second })).toMatchObject({ status: 409 })
  await post('locks/h:forceRelease', {})

  const { body: told } = await http.send('GET', '/v1/locks/h:history')
  const history = told.history as { type: string; id: string; fencingToken: number; agoMillis: number }[]
  expect(history[0]).toEqual({
    type: 'acquired',
    id: 'one',
    context: 'first',
    fencingToken: first,
    revision: expect.any(Number),
    agoMillis: expect.any(Number),
  })
  expect(history.map(({ type, id }) => `${type} ${id}`)).toEqual(
    expect.arrayContaining(['rotated one', 'acquired two', 'released one', 'released two']),
  )
  expect(told.sinceMillis).toBeGreaterThanOrEqual(history[0]?.agoMillis as number)
  // What was cut is not spoken of.
  const cut = (await http.send('GET', '/v1/locks/h:history?limit=1')).body
  expect(cut).toMatchObject({ history: [{ type: 'released' }] })
  expect(cut.sinceMillis).toBe((cut.history as typeof history)[0]?.agoMillis)
  expect(await http.send('GET', '/v1/locks/h:history?limt=1')).toMatchObject({ status: 400 })
  expect((await http.send('GET', '/v1/locks/none:history')).body).toMatchObject({ history: [] })
})

test('lists of latches and barriers, page by page; another number of permits', async () => {
  for (const name of ['pages/a', 'pages/b', 'pages/c'])
    await post(`latches/${encodeURIComponent(name)}:create`, { count: 2 })
  const first = (await http.send('GET', '/v1/latches?prefix=pages/&limit=2')).body
  expect(first).toEqual({
    latches: ['pages/a', 'pages/b'].map((name) => ({ name, count: 2, waiters: 0 })),
    next: 'pages/b',
  })
  const rest = (await http.send('GET', `/v1/latches?prefix=pages/&after=${first.next as string}`)).body
  expect(rest).toMatchObject({ latches: [{ name: 'pages/c' }], next: null })
  const entered = post('barriers/listed:enter?timeout=30s', { parties: 2 })
  await expect
    .poll(async () => (await http.send('GET', '/v1/barriers?prefix=listed')).body, {
      interval: 5,
    })
    .toEqual({ barriers: [{ name: 'listed', generation: 1, parties: 2, waiters: 1 }], next: null })
  await post('barriers/listed:enter', { parties: 2 })
  await entered

  await post('semaphores/sized:acquire', { id: 'one', of: 1, lease: '30s' })
  expect((await post('semaphores/sized:resize', { of: 2 })).status).toBe(204)
  expect((await post('semaphores/sized:acquire', { id: 'two', of: 2, lease: '30s' })).status).toBe(200)
  expect(await post('semaphores/sized:resize', { of: 0 })).toMatchObject({ status: 400 })
})

test('C72: a hold that a script leaves ends with its lease, and its place in a queue with its connection', async () => {
  await post('locks/crash:acquire', { id: 'script', lease: '300ms' })
  const next = await post('locks/crash:acquire', { id: 'next', lease: '20s', wait: '30s' })
  expect(next).toMatchObject({ status: 200, body: { id: 'next' } })
  const gone = new AbortController()
  const waiting = http.call('/v1/semaphores/crash:acquire', { method: 'POST', body: '{"id":"a","of":1}' })
  expect((await waiting).status).toBe(200)
  const left = http.call('/v1/semaphores/crash:acquire', {
    method: 'POST',
    body: '{"id":"b","of":1,"wait":"1h"}',
    signal: gone.signal,
  })
  const queue = async () => (await http.member.store.semaphores.query('crash'))[0]?.waiters
  await expect.poll(queue, { interval: 5 }).toBe(1)
  gone.abort()
  await expect(left).rejects.toThrow(/abort/)
  await expect.poll(queue, { interval: 5 }).toBe(0)
})

test('a sequence gives blocks that never overlap; a key gets another life', async () => {
  expect((await http.send('GET', '/v1/sequences/n')).body).toEqual({ next: 0 })
  expect((await http.send('POST', '/v1/sequences/n:next')).body).toEqual({ start: 0, end: 1 })
  expect((await post('sequences/n:next', { step: 10 })).body).toEqual({ start: 1, end: 11 })
  expect((await http.send('GET', '/v1/sequences/n')).body).toEqual({ next: 11 })
  expect(await post('sequences/n:next', { step: -1 })).toMatchObject({ status: 400 })
  expect((await http.send('DELETE', '/v1/sequences/n')).status).toBe(204)
  expect((await http.send('GET', '/v1/sequences/n')).body).toEqual({ next: 0 })

  await http.send('PUT', '/v1/kv/lives', 'v')
  expect((await post('kv/lives:touch', { ttl: '1h' })).status).toBe(204)
  const left = (await http.call('/v1/kv/lives')).headers.get('latchkey-remaining-millis')
  expect(Number(left)).toBeGreaterThan(3_500_000)
  expect((await post('kv/none:touch', { ttl: '1h' })).status).toBe(404)
  expect(await post('kv/lives:touch', {})).toMatchObject({ status: 400 })
  expect(await post('kv/lives:touch', { ttl: '1h' }, { 'latchkey-guard': 'nobody;1' })).toMatchObject({
    status: 409,
    body: { code: 'ERR_FENCED' },
  })
})
