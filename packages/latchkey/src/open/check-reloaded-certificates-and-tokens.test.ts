// Test: certificates and tokens that change while a member runs: only clients that lost their rights are
// disconnected, and wrong files change nothing.

import { readFileSync } from 'node:fs'
import { silentLogger } from '@latchkey/base'
import { connect, type ConnectOptions, type RemoteStore, type Store } from '@latchkey/client'
import { connect as tlsConnect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import type { EmbeddedStore } from './embedded-store.js'
import { open } from './open.js'
import { freePorts } from './testing/free-ports.js'

const pem = (name: string) =>
  readFileSync(new URL(`../../../raft/src/net/testing/certs/${name}.pem`, import.meta.url), 'utf8')
const pair = (name: string) => ({ cert: pem(`${name}-cert`), key: pem(`${name}-key`) })
const before = { ...pair('cluster'), ca: pem('cluster-ca') }
const after = { ...pair('named-a'), ca: pem('named-ca') }

async function opened(more: object): Promise<{ store: EmbeddedStore; port: number; scheme: string }> {
  const [port = 0] = await freePorts(1)
  const scheme = 'tls' in more ? 'wss' : 'ws'
  const members = { a: `${scheme}://127.0.0.1:${port}` }
  const quick = { electionTimeout: 100, heartbeat: 20, logger: silentLogger }
  const store = await open({ id: 'a', memory: true, members, ...quick, ...more })
  onTestFinished(() => store.close())
  await store.ready()
  return { store, port, scheme }
}

async function connected(url: string, options: ConnectOptions): Promise<RemoteStore> {
  const store = await connect([url], options)
  onTestFinished(() => store.close())
  return store
}

/** Whose certificate the port shows. */
const shownAt = (port: number) =>
  new Promise<string>((resolve, reject) => {
    const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.on('error', reject)
  })

/** Changes of its leader are told at each new link: one more says that the link was lost. */
function countLinks(store: Store): () => number {
  let links = 0
  store.on('leader', () => links++)
  return () => links
}

test('C41: new certificates are shown to who comes from now on, and connections stay', async () => {
  const { store, port } = await opened({ tls: before })
  const remote = await connected(`wss://127.0.0.1:${port}`, { tls: { ca: before.ca } })
  await remote.put('k', 'v')
  const watch = remote.watch({ key: 'k' })
  const next = watch.next()
  const links = countLinks(remote)
  expect(await shownAt(port)).toBe('test only cluster member')
  await store.reload({ tls: after })
  expect(await shownAt(port)).toBe('test only member a')
  await remote.put('k', 'w')
  expect((await next).value).toMatchObject({ type: 'put' })
  expect(links()).toBe(0)
  const other = await connected(`wss://127.0.0.1:${port}`, { tls: { ca: after.ca } })
  expect(await other.get('k', { as: 'string' })).toBe('w')
})

test.each([
  ['a key of another certificate', { tls: { ...after, key: before.key } }, 'tls'],
  ['half a certificate', { tls: { ...after, cert: after.cert.slice(0, 200) } }, 'tls'],
  ['no authority any more', { tls: pair('cluster') }, 'tls.ca'],
  ['a token twice', { auth: { tokens: ['t', 't'], memberToken: 'm' } }, 'are the same'],
  ['an option that is none', { token: 't' }, 'unknown option'],
  ['nothing', undefined, 'object'],
])('C41: %s is refused, and what was in force stays', async (_, given, named) => {
  const auth = { tokens: ['one'], memberToken: 'm' }
  const { store, port } = await opened({ tls: before, auth })
  const refused = store.reload(given as never)
  await expect(refused).rejects.toThrow(TypeError)
  await expect(refused).rejects.toThrow(named)
  expect(await shownAt(port)).toBe('test only cluster member')
  const remote = await connected(`wss://127.0.0.1:${port}`, { tls: { ca: before.ca }, token: 'one' })
  await remote.put('k', 'v')
})

test('C41: who shows a token that is no more, or may do something else, is disconnected; the others are not', async () => {
  const entries = { gone: { token: 'gone' }, less: { token: 'less' }, kept: { token: 'kept', name: 'kept' } }
  const { store, port } = await opened({ auth: { tokens: Object.values(entries) } })
  const url = `ws://127.0.0.1:${port}`
  const [gone, less, kept] = (await Promise.all(
    ['gone', 'less', 'kept'].map((token) => connected(url, { token })),
  )) as [RemoteStore, RemoteStore, RemoteStore]
  await Promise.all([gone, less, kept].map((one) => one.put('k', 'v')))
  const links = countLinks(kept)
  await store.reload({ auth: { tokens: [entries.kept, { token: 'less', rights: ['read'] }, 'new'] } })
  // What was on its way when the connection was closed may be unknown; what comes later hears the reason.
  await gone.put('k', 'w').catch(() => {})
  await expect(gone.put('k', 'w')).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' })
  await expect(connect([url], { token: 'gone' })).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' })
  expect(await less.get('k', { as: 'string' })).toBe('v')
  await expect(less.put('k', 'w')).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
  await kept.put('k', 'x')
  expect(links()).toBe(0)
  await (await connected(url, { token: 'new' })).put('k', 'y')
})

test('C41: a remote store goes on with a new token: its connection is closed with the old one, and made again', async () => {
  const memberToken = 'm'
  const { store, port } = await opened({ auth: { tokens: ['one', 'two'], memberToken } })
  const remote = await connected(`ws://127.0.0.1:${port}`, { token: 'one' })
  await remote.put('k', 'v')
  let losses = 0
  remote.on('disconnected', () => losses++)
  await remote.reload({ token: 'two' })
  await remote.put('k', 'w')
  expect(losses).toBe(0)
  await store.reload({ auth: { tokens: ['two'], memberToken } })
  expect(await remote.get('k', { as: 'string' })).toBe('w')
  await expect.poll(() => losses).toBe(1)
  expect(await remote.get('k', { as: 'string' })).toBe('w')
})

test('C41: a remote store whose token was withdrawn works again after a reload', async () => {
  const memberToken = 'm'
  const { store, port } = await opened({ auth: { tokens: ['one'], memberToken } })
  const remote = await connected(`ws://127.0.0.1:${port}`, { token: 'one' })
  await store.reload({ auth: { tokens: ['two'], memberToken } })
  const refusal = () => remote.get('k', { timeout: '1s' }).then(String, (error: Error) => error.message)
  await expect.poll(refusal).toMatch('The credentials are missing or not valid')
  await remote.reload({ token: 'two' })
  expect(await remote.get('k', { timeout: '20s' })).toBeUndefined()
})

test.each([
  ['an option that is none', { tokn: 't' }, 'did you mean "token"'],
  ['an empty token', { token: '' }, 'token must be'],
  ['half a certificate', { tls: { cert: after.cert } }, 'go together'],
  ['nothing', undefined, 'options'],
])('C41: a remote store refuses %s, and what was in force stays', async (_, given, named) => {
  const { port } = await opened({ auth: { tokens: ['one'], memberToken: 'm' } })
  const remote = await connected(`ws://127.0.0.1:${port}`, { token: 'one' })
  await expect(remote.reload(given as never)).rejects.toThrow(named)
  await remote.put('k', 'v')
})
