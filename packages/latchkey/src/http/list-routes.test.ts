// Test: lists, reads of several keys, batches and transactions over HTTP, with a real member in memory.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { open, restore } from '../open/index.js'
import { httpMemberOfFile } from './testing/http-member.js'

const http = httpMemberOfFile()

type Entry = { key?: string; keyBase64?: string; value?: Record<string, unknown>; modRevision?: number }
const list = async (query: string) => (await http.send('GET', `/v1/kv?${query}`)).body
const entriesOf = async (query: string) => (await list(query)).entries as Entry[]

describe('lists', () => {
  beforeAll(async () => {
    const { store } = http.member
    for (const key of ['l/a', 'l/b', 'l/c', 'l/d']) await store.put(key, `of ${key}`)
    await store.put('m/json', '{"n":1}')
    await store.put('m/picture', Uint8Array.of(0xff, 0xd8))
    await store.put(Buffer.concat([Buffer.from('o/'), Uint8Array.of(0xff)]), 'bytes')
    await store.put(Buffer.concat([Buffer.from('o/'), Uint8Array.of(0xfe)]), 'bytes')
  })

  test('a page, and the next one behind it, with the revision of each value', async () => {
    const first = await list('prefix=l/&limit=3')
    expect(first).toEqual({
      revision: expect.any(Number),
      entries: ['l/a', 'l/b', 'l/c'].map((key) => ({
        key,
        value: { text: `of ${key}` },
        modRevision: expect.any(Number),
      })),
      next: 'l/c',
    })
    expect(await list('prefix=l/&limit=3&after=l/c')).toMatchObject({ entries: [{ key: 'l/d' }], next: null })
    expect((await list('prefix=l/&limit=4')).next).toBeNull()
    expect(await list('prefix=l/&limit=0')).toMatchObject({ entries: [], next: null })
    const [entry] = await entriesOf('prefix=l/&limit=1')
    const got = await http.call('/v1/kv/l%2Fa')
    expect(got.headers.get('etag')).toBe(`"${entry?.modRevision}"`)
  })

  test('bounds, and keys alone', async () => {
    const keys = async (query: string) => (await entriesOf(query)).map(({ key }) => key)
    expect(await keys('gte=l/b&lt=l/d')).toEqual(['l/b', 'l/c'])
    expect(await keys('prefix=l/&gte=l/c&after=l/a')).toEqual(['l/c', 'l/d'])
    expect(await keys('prefix=l/&gte=l/a&after=l/a')).toEqual(['l/b', 'l/c', 'l/d'])
    expect((await list('prefix=l/&keys_only=true&limit=1')).entries).toEqual([{ key: 'l/a' }])
  })

  test('the caller chooses the form of values, and a value that has not this form is base64', async () => {
    const values = async (as: string) => (await entriesOf(`prefix=m/&as=${as}`)).map(({ value }) => value)
    expect(await values('text')).toEqual([{ text: '{"n":1}' }, { base64: '/9g=' }])
    expect(await values('json')).toEqual([{ json: { n: 1 } }, { base64: '/9g=' }])
    expect(await values('base64')).toEqual([{ base64: 'eyJuIjoxfQ==' }, { base64: '/9g=' }])
  })

  test('next leads on behind a key that is no text', async () => {
    const first = await list('prefix=o/&limit=1')
    expect(first).toMatchObject({ entries: [{ keyBase64: 'by/+' }], next: 'base64:by/+' })
    const after = new URLSearchParams({ prefix: 'o/', after: first.next as string })
    expect(await list(String(after))).toMatchObject({ entries: [{ keyBase64: 'by//' }], next: null })
    expect(await entriesOf('prefix=o/%ff')).toMatchObject([{ keyBase64: 'by//' }])
  })

  test('a page that ends because of its bytes leads to the next one', async () => {
    const { store } = http.member
    for (const key of ['big/1', 'big/2', 'big/3']) await store.put(key, new Uint8Array(700_000))
    const seen: unknown[] = []
    let query = 'prefix=big/&as=base64'
    for (let pages = 0; pages < 4; pages++) {
      const page = await list(query)
      seen.push(...(page.entries as Entry[]).map(({ key }) => key))
      if (page.next === null) break
      query = `prefix=big/&as=base64&after=${page.next as string}`
    }
    expect(seen).toEqual(['big/1', 'big/2', 'big/3'])
  })

  test('several keys of one moment', async () => {
    const keys = ['l/a', 'absent', { keyBase64: 'by//' }]
    expect((await http.send('POST', '/v1/kv:getMany?as=text', { keys })).body).toEqual({
      entries: [
        { key: 'l/a', value: { text: 'of l/a' } },
        null,
        { keyBase64: 'by//', value: { text: 'bytes' } },
      ],
    })
  })

  test.each([
    ['limt=1', 'did you mean "limit"?'],
    ['limit=1001', 'at most 1000'],
    ['limit=-1', 'whole number'],
    ['limit=1&limit=2', 'given once'],
    ['keys_only=maybe', 'true'],
    ['as=msgpack', "'json'"],
    ['prefix=%zz', 'percent-encoding'],
    ['after=base64:!', 'base64'],
  ])('%s is 400: %s', async (query, why) => {
    const answer = await http.send('GET', `/v1/kv?${query}`)
    expect(answer).toMatchObject({ status: 400, type: 'application/problem+json' })
    expect(answer.body).toMatchObject({
      code: 'BAD_REQUEST',
      status: 400,
      detail: expect.stringContaining(why),
    })
  })
})

describe('transactions', () => {
  test('then where all conditions are true, else where not, with values in each form', async () => {
    const txn = {
      when: [{ key: 't', value: null }],
      then: [
        { type: 'put', key: 't', value: { json: { n: 1 } }, ttl: '1h' },
        { type: 'increment', key: 't/n', by: 2 },
        { type: 'put', keyBase64: 'dP8=', value: { base64: '/9g=' } },
      ],
      else: [
        { type: 'get', key: 't' },
        { type: 'get', keyBase64: 'dP8=' },
        { type: 'get', key: 'none' },
      ],
    }
    const first = await http.send('POST', '/v1/txn', txn)
    expect(first.body).toEqual({ succeeded: true, revision: expect.any(Number), results: [true, 2, true] })
    const { revision } = first.body
    const again = await http.send('POST', '/v1/txn?as=json', txn)
    const entry = { createRevision: revision, modRevision: revision, version: 1 }
    expect(again.body).toEqual({
      succeeded: false,
      revision: expect.any(Number),
      results: [
        { ...entry, value: { json: { n: 1 } }, remainingMillis: expect.any(Number) },
        { ...entry, value: { base64: '/9g=' } },
        null,
      ],
    })
    const numbers = [
      { key: 't', field: 'modRevision', is: '=', value: revision },
      { key: 't/n', is: '>', value: 1, as: 'number' },
    ]
    expect((await http.send('POST', '/v1/txn', { when: numbers })).body).toMatchObject({ succeeded: true })
  })

  test('a batch is one revision, and a wrong step of it changes nothing', async () => {
    const ops = [
      { type: 'put', key: 'b/1', value: { text: 'one' } },
      { type: 'delete', key: 'b/none' },
    ]
    expect((await http.send('POST', '/v1/batch', { ops })).body).toEqual({
      revision: expect.any(Number),
      results: [true, 0],
    })
    const wrong = [
      { type: 'put', key: 'b/2', value: { text: '' } },
      { type: 'increment', key: 'b/1' },
    ]
    const refused = await http.send('POST', '/v1/batch', { ops: wrong })
    expect(refused).toMatchObject({ status: 409, body: { code: 'ERR_NOT_A_NUMBER', outcome: 'not-applied' } })
    expect((await http.call('/v1/kv/b%2F2')).status).toBe(404)
    const late = await http.send('POST', '/v1/batch', { ops }, { 'latchkey-guard': 'lock;7' })
    expect(late).toMatchObject({ status: 409, body: { code: 'ERR_FENCED', key: 'lock', token: 7 } })
  })

  test.each([
    [{ thn: [] }, 'did you mean "then"?'],
    [{ then: [{ type: 'putt', key: 'a', value: { text: '' } }] }, 'did you mean "put"?'],
    [{ then: [{ type: 'put', key: 'a', vlaue: { text: '' } }] }, 'did you mean "value"?'],
    [{ then: [{ type: 'put', key: 'a', value: 'plain' }] }, '{ "text": … }'],
    [{ then: [{ type: 'put', key: 'a', value: { text: 'a', base64: 'YQ==' } }] }, '{ "text": … }'],
    [{ then: [{ type: 'put', key: 'a', value: { base64: 'no base64' } }] }, 'base64'],
    [{ then: [{ type: 'put', key: 'a', keyBase64: 'YQ==', value: { text: '' } }] }, 'give one of them'],
    [{ then: [{ type: 'put', key: 'a', value: { text: '' }, ephemeral: true }] }, 'give the key a ttl'],
    [{ when: [{ key: 'a', field: 'age', value: 1 }] }, 'field'],
    [{ when: {} }, 'list'],
    ['[', 'JSON object'],
  ])('%j is 400: %s', async (body, why) => {
    const { status, body: answer } = await http.send('POST', '/v1/txn', body)
    expect([status, answer.message]).toEqual([400, expect.stringContaining(why)])
  })
})

test('members, version and status; a wrong path and a wrong verb name the nearest', async () => {
  expect((await http.send('GET', '/v1/members')).body).toMatchObject({ leader: 'a', members: [{ id: 'a' }] })
  expect((await http.send('GET', '/version')).body).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
  })
  const lost = await http.send('GET', '/v1/semaphore')
  expect(lost).toMatchObject({ status: 404, body: { detail: expect.stringContaining('/v1/semaphores') } })
  const verb = await http.send('POST', '/v1/locks/a:aquire', {})
  expect(verb).toMatchObject({ status: 405, body: { message: expect.stringContaining(':acquire') } })
})

test('a backup is a download that a member can be restored from', async () => {
  const response = await http.call('/v1/backup')
  expect(response.headers.get('content-disposition')).toContain('attachment')
  const bytes = new Uint8Array(await response.arrayBuffer())
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-http-'))
  try {
    await writeFile(join(folder, 'file'), bytes)
    await restore(join(folder, 'file'), { id: 'r', dir: join(folder, 'r') })
    await using store = await open({ id: 'r', dir: join(folder, 'r'), logger: false })
    await store.ready()
    expect(await store.get('l/a', { as: 'string' })).toBe('of l/a')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
