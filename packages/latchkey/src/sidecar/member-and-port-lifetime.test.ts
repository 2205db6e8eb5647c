// Test: a sidecar on a real port with a real member in memory: what it serves, what it refuses, and how it
// stops.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { connect as dial, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir, uptime } from 'node:os'
import { dirname, join } from 'node:path'
import { silentLogger, systemClock } from '@latchkey/base'
import { connect } from '@latchkey/client'
import { FRESH_MS, Metrics } from '@latchkey/daemon'
import { expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { activeMillis } from '../contract/testing/small-test-functions.js'
import { openMember } from '../open/index.js'
import { freePorts } from '../open/testing/free-ports.js'
import { sidecarOptions } from './options-from-settings.js'
import { ConfigError, resolveSettings } from './setting-values-by-precedence.js'
import { Sidecar } from './member-and-port-lifetime.js'

const clock = systemClock(uptime)
const ports = { clock, logger: silentLogger, openMember }

function optionsOf(flags: Record<string, unknown> = {}) {
  const quick = {
    id: 'a',
    memory: true,
    listen: '127.0.0.1:0',
    'election-timeout': '100',
    heartbeat: '10',
    ...flags,
  }
  return sidecarOptions(resolveSettings({ flags: quick, env: {} }), (path) => path)
}

async function start(flags: Record<string, unknown> = {}) {
  const sidecar = await Sidecar.open(optionsOf(flags), ports)
  onTestFinished(() => sidecar.stop())
  const at = `127.0.0.1:${sidecar.port}`
  await expect.poll(async () => (await fetch(`http://${at}/readyz`)).status, { interval: 10 }).toBe(200)
  return { sidecar, at }
}

test('one port for HTTP and for clients', async () => {
  const { at } = await start()
  const remote = await connect([`ws://${at}`])
  await remote.put('k', 'by socket')
  expect(await (await fetch(`http://${at}/v1/kv/k`)).text()).toBe('by socket')
  await fetch(`http://${at}/v1/kv/k`, { method: 'PUT', body: 'by http' })
  expect(await remote.get('k', { as: 'string' })).toBe('by http')
  await remote.close()
})

test('the figures are in the format of Prometheus, with the members', async () => {
  const { at } = await start()
  await fetch(`http://${at}/v1/kv/absent`)
  const response = await fetch(`http://${at}/metrics`)
  expect(response.headers.get('content-type')).toContain('text/plain')
  const text = await response.text()
  expect(text).toMatch(/^latchkey_leader 1$/m)
  expect(text).toMatch(/^latchkey_ready 1$/m)
  expect(text).toMatch(/^latchkey_member_alive\{member="a"\} 1$/m)
  expect(text).toMatch(/^latchkey_http_request_duration_seconds_count\{route="kv",status="404"\} 1$/m)
  expect(text).toMatch(/^process_cpu_seconds_total/m)
  // What has not happened yet is 0: an alert on it can be written and tried.
  for (const where of ['client', 'http', 'upgrade', 'member', 'dialled member'])
    expect(text).toContain(`latchkey_connection_errors_total{where="${where}"} 0`)
  expect(text).toContain('latchkey_refused_total{door="http",reason="unauthorized"} 0')
  expect(text).toContain('latchkey_refused_total{door="members",reason="stranger-ERR_UNAUTHORIZED"} 0')
  expect(text).toContain('latchkey_refused_total{door="clients",reason="frame"} 0')
})

test('locks of every kind are in the figures, as gauges and counters by kind', async () => {
  const { at } = await start()
  const store = await connect([`ws://${at}`])
  await store.locks.acquire('a')
  await store.locks.acquire('b', { mode: 'shared' })
  await store.semaphores.acquire('c', { of: 5, permits: 3 })
  await store.elections.campaign('d')
  const waits = [store.locks.acquire('a'), store.elections.campaign('d')]
  const text = async () => (await fetch(`http://${at}/metrics`)).text()
  await expect.poll(text).toMatch(/^latchkey_waiters\{kind="election"\} 1$/m)
  const page = await text()
  for (const line of [
    '# TYPE latchkey_holds gauge',
    'latchkey_holds{kind="lock"} 1',
    'latchkey_holds{kind="shared_lock"} 1',
    'latchkey_holds{kind="semaphore"} 1',
    'latchkey_holds{kind="election"} 1',
    'latchkey_holds{kind="web_lock"} 0',
    'latchkey_permits_out 3',
    'latchkey_waiters{kind="lock"} 1',
    'latchkey_waiters{kind="latch"} 0',
    '# TYPE latchkey_granted_total counter',
    'latchkey_granted_total{kind="semaphore"} 1',
    'latchkey_expired_total{kind="lock"} 0',
  ])
    expect(page.split('\n')).toContain(line)
  const own = await store.metrics()
  expect(own.find(({ name }) => name === 'latchkey_granted_total')).toMatchObject({
    type: 'counter',
    values: expect.arrayContaining([{ labels: { kind: 'lock' }, value: 1 }]),
  })
  const over = waits.map((wait) => wait.catch((error: unknown) => error))
  await store.close()
  for (const wait of over) expect(await wait).toMatchObject({ code: 'ERR_CLOSED' })
})

test('C29: a tokens file gives names, rights and prefixes, for WebSockets and HTTP alike', async () => {
  const tokens = join(mkdtempSync(join(tmpdir(), 'latchkey-tokens-')), 'tokens.json')
  onTestFinished(() => rmSync(dirname(tokens), { recursive: true }))
  const written = [
    { sha256: createHash('sha256').update('all').digest('hex') },
    { token: 'writer', rights: ['write'] },
    { token: 'inside', rights: ['read', 'write'], keys: ['a/'], locks: ['l/'] },
  ]
  writeFileSync(tokens, JSON.stringify({ tokens: written }), { mode: 0o600 })
  const { at } = await start({ tokens })
  const call = async (token: string, method: string, path: string, body?: string, more = {}) => {
    const headers = { authorization: `Bearer ${token}`, ...more }
    const response = await fetch(`http://${at}/v1/${path}`, { method, headers, ...(body && { body }) })
    return [response.status, await response.text()] as const
  }
  const ask = (id: string) => JSON.stringify({ id, lease: '1m', context: 'a secret' })
  expect((await call('all', 'POST', 'locks/l%2F1:acquire', ask('me')))[0]).toBe(200)
  const [held, owner] = await call('writer', 'POST', 'locks/l%2F1:acquire', ask('you'))
  expect([held, JSON.parse(owner).id, owner.includes('secret')]).toEqual([409, 'me', false])
  expect((await call('inside', 'POST', 'locks/l%2F1:acquire', ask('you')))[1]).toContain('a secret')
  expect((await call('inside', 'POST', 'locks/m:acquire', ask('you')))[0]).toBe(403)
  expect((await call('inside', 'PUT', 'kv/a%2F1', 'v'))[0]).toBe(200)
  expect((await call('inside', 'PUT', 'kv/a%2F1', 'v', { 'if-match': '*' }))[0]).toBe(200)
  expect((await call('inside', 'GET', 'kv/a%2F1'))[1]).toBe('v')
  for (const [method, body] of [['PUT', 'v'], ['GET'], ['DELETE']] as const) {
    const [status, text] = await call('inside', method, 'kv/b', body)
    expect([status, JSON.parse(text).code]).toEqual([403, 'ERR_FORBIDDEN'])
    expect(text).toContain('keys below \\"a/\\"')
  }
  expect((await call('inside', 'PUT', 'kv/b', 'v', { 'if-match': '*' }))[0]).toBe(403)
  expect((await call('inside', 'PUT', 'kv/a%2F1', 'v', { 'latchkey-guard': 'm;1' }))[0]).toBe(403)
  expect((await call('inside', 'PUT', 'kv/a%2F1', 'v', { 'latchkey-guard': 'l%2F9;1' }))[0]).toBe(409)
  const remote = await connect([`ws://${at}`], { token: 'inside' })
  onTestFinished(() => remote.close())
  await expect(remote.put('b', 'v')).rejects.toMatchObject({ code: 'ERR_FORBIDDEN', outcome: 'not-applied' })
  expect(await remote.scan({ prefix: 'a/' }, { as: 'string' })).toMatchObject([{ key: 'a/1', value: 'v' }])
  await expect(remote.scan()).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
  // A wait for a lock, by one who may not read: woken by the push of its grant.
  const waiter = await connect([`ws://${at}`], { token: 'writer' })
  onTestFinished(() => waiter.close())
  const hold = await remote.locks.acquire('l/2', { lease: '1m' })
  const waiting = waiter.locks.acquire('l/2', { lease: '1m', wait: '20s' })
  await expect.poll(async () => (await remote.locks.query('l/2'))[0]?.waiters).toBe(1)
  await hold.release()
  expect((await waiting).held).toBe(true)
})

test('tokens: none and wrong ones are refused on every door, an old and a new one work together', async () => {
  const { at } = await start({ token: ['old-token', 'read:new-token'] })
  expect((await fetch(`http://${at}/status`)).status).toBe(401)
  await expect(connect([`ws://${at}`], { token: 'guessed' })).rejects.toMatchObject({
    code: 'ERR_UNAUTHORIZED',
  })
  const old = await connect([`ws://${at}`], { token: 'old-token' })
  await old.put('k', 'v')
  const reader = await connect([`ws://${at}`], { token: 'new-token' })
  expect(await reader.get('k', { as: 'string' })).toBe('v')
  await expect(reader.put('k', 'w')).rejects.toMatchObject({ code: 'ERR_FORBIDDEN', outcome: 'not-applied' })
  await old.close()
  await reader.close()
})

test("a page's WebSocket is refused", async () => {
  const { at } = await start()
  const socket = new WebSocket(`ws://${at}/clients`, { headers: { origin: 'https://attacker.example' } })
  const status = await new Promise((resolve) => {
    socket.on('unexpected-response', (_, response) => resolve(response.statusCode))
    socket.on('error', () => {})
  })
  expect(status).toBe(403)
})

test.each([
  ['beyond loopback without tokens', { listen: '0.0.0.0:0', insecure: true }, 403],
  ['beyond loopback with tokens', { listen: '0.0.0.0:0', insecure: true, token: ['t'] }, 404],
  ['on loopback', {}, 403],
])('C36: a page that had its own name lead here reads nothing: %s', async (_, flags, status) => {
  const { at } = await start({ ...flags, 'allow-host': ['known.example'] })
  const ask = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, authorization: 'Bearer t' }
      get(`http://${at}/v1/kv/absent`, { headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      }).on('error', reject)
    })
  expect(await ask('evil.example')).toBe(status)
  expect(await ask(`evil.example:${at.split(':')[1]}`)).toBe(status)
  for (const host of ['known.example', 'Known.example:80', 'localhost', '127.0.0.1', '[::1]:7001'])
    expect(await ask(host), host).toBe(404)
})

test('connections beyond the cap are refused, those within go on', async () => {
  // Of three connections, one is kept for those that have not greeted yet.
  const { at } = await start({ 'max-connections': '3' })
  const remote = await connect([`ws://${at}`])
  const second = await connect([`ws://${at}`])
  await expect(connect([`ws://${at}`], { timeout: 300 })).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
  await remote.put('k', 'v')
  await remote.close()
  await second.close()
})

test('a cluster of one writes down where it is, and is there again when nobody says where', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'latchkey-sidecar-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const [port = 0] = await freePorts(1)
  const place = { memory: undefined, dir: join(dir, 'a') }
  const first = await Sidecar.open(optionsOf({ ...place, listen: `127.0.0.1:${port}` }), ports)
  const members = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/status`)
    return ((await response.json()) as { members: { url: string }[] }).members
  }
  await expect.poll(members).toMatchObject([{ url: `ws://127.0.0.1:${port}` }])
  await first.stop()
  const again = await Sidecar.open(optionsOf({ ...place, listen: undefined }), ports)
  expect(again.port).toBe(port)
  await expect.poll(members).toHaveLength(1)
  await again.stop()
})

test('a port that is taken is bad configuration, and nothing was opened', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo
  let opened = 0
  const counting = {
    ...ports,
    openMember: (options: Parameters<typeof openMember>[0]) => (opened++, openMember(options)),
  }
  await expect(Sidecar.open(optionsOf({ listen: `127.0.0.1:${port}` }), counting)).rejects.toThrow(
    ConfigError,
  )
  expect(opened).toBe(0)
})

/** Resolves when this process listens on the port. Rejects if another socket has the port. */
async function occupy(port: number) {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return server
}

test('a member that cannot open leaves no port behind', async () => {
  const [port = 0] = await freePorts(1)
  const failing = { ...ports, openMember: () => Promise.reject(new Error('damaged')) }
  await expect(Sidecar.open(optionsOf({ listen: `127.0.0.1:${port}` }), failing)).rejects.toThrow('damaged')
  await expect.poll(() => occupy(port).then(() => 'free')).toBe('free')
})

test('if the port that the member knows is taken, the member is closed, and its directory can be opened again', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'latchkey-sidecar-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const [port = 0] = await freePorts(1)
  const place = { memory: undefined, dir: join(dir, 'a') }
  await (await Sidecar.open(optionsOf({ ...place, listen: `127.0.0.1:${port}` }), ports)).stop()
  const other = await occupy(port)
  const again = () => Sidecar.open(optionsOf({ ...place, listen: undefined }), ports)
  await expect(again()).rejects.toThrow(ConfigError)
  other.close()
  await once(other, 'close')
  await (await again()).stop()
})

const post = (at: string, path: string, body: object) =>
  fetch(`http://${at}/v1/locks/${path}`, { method: 'POST', body: JSON.stringify(body) })

/** One holds the lock, two waits for it; both by HTTP. */
async function heldAndWaiting(at: string) {
  const first = await post(at, 'k:acquire', { id: 'one', lease: '30s' })
  const { fencingToken } = (await first.json()) as { fencingToken: number }
  const waiting = post(at, 'k:acquire', { id: 'two', lease: '10s', wait: '1h' })
  const remote = await connect([`ws://${at}`])
  await expect.poll(async () => (await remote.locks.query('k'))[0]?.waiters, { interval: 5 }).toBe(1)
  return { fencingToken, waiting, remote }
}

test('stopping: not ready at once, calls in flight are finished, later ones find nobody', async () => {
  const { sidecar, at } = await start()
  const { fencingToken, waiting, remote } = await heldAndWaiting(at)
  const stopped = sidecar.stop()
  await remote.locks.forceRelease('k', fencingToken)
  expect((await waiting).status).toBe(200)
  await stopped
  await expect(fetch(`http://${at}/livez`)).rejects.toThrow(/fetch failed/)
  await remote.close()
})

test('a stop does not wait longer than --grace for one who waits', async () => {
  const { sidecar, at } = await start({ grace: '50ms' })
  const { waiting, remote } = await heldAndWaiting(at)
  await sidecar.stop()
  expect([503, 504]).toContain((await waiting).status)
  await remote.close()
})

test('C44: a member stops in time after a connection ended with requests that were not answered', async () => {
  const { sidecar } = await start()
  const socket = dial(sidecar.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  // The first one waits for its lock, the others for its answer.
  const body = JSON.stringify({ id: 'two', wait: '1h' })
  const head = `POST /v1/locks/l:acquire HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`
  await fetch(`http://127.0.0.1:${sidecar.port}/v1/locks/l:acquire`, {
    method: 'POST',
    body: JSON.stringify({ id: 'one', lease: '1h' }),
  })
  socket.write(head + body + 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(8))
  const busy = () => fetch(`http://127.0.0.1:${sidecar.port}/v1/locks/l`).then((answer) => answer.text())
  await expect.poll(busy).toContain('one')
  await new Promise((resolve) => setTimeout(resolve, 100))
  socket.destroy()
  // Without the law it never ends.
  expect(await activeMillis(() => sidecar.stop())).toBeLessThan(6_000)
})

test('figures that many ask for at once, or soon after, are made once', async () => {
  let made = 0
  let now = 0
  const status = { members: [], role: 'leader', term: 1, commit: 1, applied: 1, clusterTime: 0 } as never
  const metrics = new Metrics({
    clock: { now: () => now },
    status: async () => {
      made++
      return status
    },
    isReady: () => true,
    figures: () => ({}),
    counters: () => [],
    connectionErrors: () => new Map(),
    connections: () => ({}),
    refusals: () => [],
  })
  await Promise.all(Array.from({ length: 1_000 }, () => metrics.collect()))
  now = FRESH_MS - 1
  await metrics.collect()
  expect(made).toBe(1)
  now = FRESH_MS
  await metrics.collect()
  expect(made).toBe(2)
})
