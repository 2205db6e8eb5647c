// Test: clients that have certificates instead of tokens, over WebSockets and over HTTP, at a sidecar and at
// an embedded member.

import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { uptime } from 'node:os'
import { silentLogger, systemClock } from '@latchkey/base'
import { connect } from '@latchkey/client'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings, sidecarOptions } from '../sidecar/index.js'
import { Sidecar } from '../sidecar/exports-to-run-member.js'
import { open, openMember } from './open.js'
import { checkOptions } from './options.js'
import { freePorts } from './testing/free-ports.js'

const pem = (name: string) =>
  readFileSync(new URL(`../../../raft/src/net/testing/certs/${name}.pem`, import.meta.url), 'utf8')
const pair = (name: string) => ({ cert: pem(`${name}-cert`), key: pem(`${name}-key`) })
const ca = pem('mixed-ca')
const tls = { ...pair('mixed-member'), ca, clientCert: 'required' as const }
const client = { ca, ...pair('mixed-client') }
const entry = { cert: 'mixed client', rights: ['read', 'write'] as const, keys: ['a/'] }

async function embedded(): Promise<string> {
  const [port = 0] = await freePorts(1)
  const at = `127.0.0.1:${port}`
  const auth = { tokens: [entry], memberToken: 'm' }
  const quick = { electionTimeout: 100, heartbeat: 20, logger: silentLogger }
  const store = await open({ id: 'a', memory: true, members: { a: `wss://${at}` }, tls, auth, ...quick })
  onTestFinished(() => store.close())
  await store.ready()
  return at
}

async function sidecar(): Promise<string> {
  const flags = { id: 'a', memory: true, listen: '127.0.0.1:0', 'election-timeout': '100', heartbeat: '20' }
  const options = sidecarOptions(resolveSettings({ flags, env: {} }), (path) => path)
  const started = await Sidecar.open(
    { ...options, open: { ...options.open, tls, auth: { tokens: [entry], memberToken: 'm' } } },
    { clock: systemClock(uptime), logger: silentLogger, openMember },
  )
  onTestFinished(() => started.stop())
  return `127.0.0.1:${started.port}`
}

test.each([
  ['an embedded member', embedded],
  ['a sidecar', sidecar],
])('C40: at %s a certificate of the authority gives its rights, and nothing else does', async (_, start) => {
  const url = `wss://${await start()}`
  const remote = await connect([url], { tls: client, timeout: '20s' })
  onTestFinished(() => remote.close())
  await remote.put('a/1', 'v', { timeout: '20s' })
  await expect(remote.put('b', 'v')).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
  await expect(remote.snapshot()).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
  for (const shown of [{ ca }, { ca, ...pair('stranger') }, { ca, ...pair('mixed-member') }]) {
    const refused = connect([url], { tls: shown, token: 'mixed client' })
    await expect(refused).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' })
    await expect(refused).rejects.toThrow(/certificate/)
  }
})

const call = (at: string, path: string, more: object) =>
  new Promise<number | undefined>((resolve, reject) => {
    const asked = request(`https://${at}${path}`, { ca, ...more }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
    asked.on('error', reject).end()
  })

test('C40: over HTTP likewise; probes need none', async () => {
  const at = await sidecar()
  await expect.poll(() => call(at, '/readyz', {})).toBe(200)
  expect(await call(at, '/v1/kv/a%2F1', pair('mixed-client'))).toBe(404)
  expect(await call(at, '/v1/kv/b', pair('mixed-client'))).toBe(403)
  expect(await call(at, '/v1/kv/a%2F1', {})).toBe(401)
  expect(await call(at, '/v1/kv/a%2F1', { headers: { authorization: 'Bearer mixed client' } })).toBe(401)
  expect(await call(at, '/v1/kv/a%2F1', pair('mixed-member'))).toBe(401)
})

test("M21: a client's certificate does not open the members' door", async () => {
  const at = await sidecar()
  const answer = await new Promise<number | undefined>((resolve) => {
    const socket = new WebSocket(`wss://${at}/members`, client)
    socket.on('error', () => {})
    socket.on('open', () => resolve(101))
    socket.on('unexpected-response', (_request, response) => {
      resolve(response.statusCode)
      response.destroy()
    })
  })
  expect(answer).toBe(401)
})

test.each([
  ['no authority', { tls: { ...tls, ca: undefined } }, 'tls.ca'],
  ['another word', { tls: { ...tls, clientCert: true } }, 'tls.clientCert'],
  ['a token beside it', { auth: { tokens: [entry, 'token'], memberToken: 'm' } }, 'cert'],
  ['an entry without it', { tls: { ...tls, clientCert: undefined } }, 'tls.clientCert'],
  ['no entries', { auth: undefined }, 'auth.tokens'],
  ['nothing that tells members from clients', { auth: { tokens: [entry] } }, 'auth.memberToken'],
  ['a name twice', { auth: { tokens: [entry, entry], memberToken: 'm' } }, 'are the same'],
])('%s is refused', (_, more, named) => {
  const options = { id: 'a', memory: true, tls, auth: { tokens: [entry], memberToken: 'm' }, ...more }
  expect(() => checkOptions(options as never)).toThrow(TypeError)
  expect(() => checkOptions(options as never)).toThrow(named)
})
