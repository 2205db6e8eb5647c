// Test: clients on real sockets that send no handshake, too many bytes, or nonsense.

import { silentLogger } from '@latchkey/base'
import { connect } from '@latchkey/client'
import { CLIENTS_PATH, decodeWelcome, encodeHello, encodeRequests } from '@latchkey/protocol'
import { READ } from '@latchkey/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { activeMillis } from '../contract/testing/small-test-functions.js'
import { OpenedMember } from '../open/open-member.js'
import { checkOptions } from '../open/options.js'
import { listen, type OwnServer } from '../open/http-and-websocket-server.js'
import { addresses } from '../open/testing/free-ports.js'

let opened: OpenedMember
let server: OwnServer
let url: string
const warnings: unknown[] = []
const sockets: WebSocket[] = []

beforeEach(async () => {
  warnings.length = 0
  const members = await addresses(['a'])
  url = members.a
  const settings = checkOptions({
    id: 'a',
    memory: true,
    members,
    logger: { ...silentLogger, warn: (...line) => void warnings.push(line) },
    electionTimeout: 100,
    heartbeat: 20,
    auth: { tokens: ['all', { token: 'eyes', rights: ['read'] }] },
  })
  opened = await OpenedMember.open(settings)
  server = await listen(settings.listen as never, opened.arrivals(undefined))
  opened.serveAt(server)
  await opened.store.ready()
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate()
  await opened.store.close()
})

async function knock(headers = {}): Promise<WebSocket> {
  const socket = new WebSocket(url + CLIENTS_PATH, { headers, perMessageDeflate: false })
  sockets.push(socket)
  socket.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.once('close', () => reject(new Error('closed')))
  })
  return socket
}

const said = (socket: WebSocket) =>
  new Promise<Buffer>((resolve) => socket.once('message', (data) => resolve(data as Buffer)))
const closed = (socket: WebSocket) => new Promise<number>((resolve) => socket.once('close', resolve))
const hello = (token: string | undefined, cluster = 'latchkey') =>
  encodeHello({ cluster, clusterId: undefined, token, least: 1, most: 1 })

test.each([
  ['no token', hello(undefined), 'ERR_UNAUTHORIZED'],
  ['a wrong token', hello('al'), 'ERR_UNAUTHORIZED'],
  ['another cluster', hello('all', 'other'), 'ERR_WRONG_CLUSTER'],
  ['no handshake', encodeRequests([{ kind: 'attach', session: 1 }])[0], 'ERR_PROTOCOL'],
  ['no frame', Buffer.from([0xc1]), 'ERR_PROTOCOL'],
  [
    'a value that cannot be made a text',
    Buffer.from('9182a8746f537472696e6701a776616c75654f6601', 'hex'),
    'ERR_PROTOCOL',
  ],
])('%s is refused and closed', async (_, frame, code) => {
  const socket = await knock()
  const answer = said(socket)
  const end = closed(socket)
  socket.send(frame as Uint8Array)
  const welcome = decodeWelcome(await answer)
  expect(welcome).toMatchObject({ ok: false })
  const remote = connect([url], {
    token: code === 'ERR_UNAUTHORIZED' ? 'x' : 'all',
    cluster: code === 'ERR_WRONG_CLUSTER' ? 'other' : 'latchkey',
  })
  if (code === 'ERR_PROTOCOL') await (await remote).close()
  else await expect(remote).rejects.toMatchObject({ code })
  expect(await end).toBe(1008)
})

test('a page in a browser is no client', async () => {
  await expect(knock({ origin: 'http://localhost' })).rejects.toThrow('closed')
})

test('nonsense after the handshake closes the connection, and the member goes on', async () => {
  const socket = await knock()
  const answer = said(socket)
  socket.send(hello('all'))
  expect(decodeWelcome(await answer)).toMatchObject({ ok: true })
  const end = closed(socket)
  socket.send(Buffer.from('nonsense'))
  expect(await end).toBe(1002)
  await opened.store.put('k', 'v')
})

test('C21: frames that make no sense have one short line in the log, however long they are', async () => {
  for (let i = 0; i < 3; i++) {
    const socket = await knock()
    const answer = said(socket)
    socket.send(hello('all'))
    await answer
    const end = closed(socket)
    socket.send(
      encodeRequests([{ kind: 'attach', session: `${'x'.repeat(1_000_000)}` as never }])[0] as Uint8Array,
    )
    expect(await end).toBe(1002)
  }
  expect(opened.refusals.counts()).toContainEqual({ door: 'clients', reason: 'frame', count: 3 })
  expect(warnings).toHaveLength(1)
  expect(JSON.stringify(warnings).length).toBeLessThan(500)
})

test('a value that cannot be made a text closes the connection after the greeting, too', async () => {
  const socket = await knock()
  const welcome = said(socket)
  socket.send(hello('all'))
  await welcome
  const end = closed(socket)
  socket.send(Buffer.from('92019182a8746f537472696e6701a776616c75654f6601', 'hex'))
  expect(await end).toBe(1002)
  await opened.store.put('a', '1')
  expect([...opened.connectionErrors.counts()]).toEqual([])
})

test('who has not said who it is may say no more than a greeting, whole or in part', async () => {
  const long = await knock()
  const refused = closed(long)
  long.send(hello('x'.repeat(20_000)))
  expect([1006, 1008]).toContain(await refused)
  const huge = await knock()
  const end = closed(huge)
  huge.send(new Uint8Array(15 * 1024 * 1024))
  expect(await activeMillis(() => end)).toBeLessThan(4_000)
  expect(await end).toBe(1006)
  expect(opened.figures()['client_connections']).toBe(0)
})

test('after the greeting a frame may be large again', async () => {
  const remote = await connect([url], { token: 'all' })
  const big = new Uint8Array(1024 * 1024)
  await remote.putAll([1, 2, 3].map((n) => ({ key: `big/${n}`, value: big })))
  expect(await remote.scan({ prefix: 'big/' })).toHaveLength(3)
  await remote.close()
})

test('C7: a flood of questions whose answers nobody reads costs its connection, not the memory', async () => {
  await opened.store.put('big', new Uint8Array(1024 * 1024))
  const socket = await knock()
  const answer = said(socket)
  socket.send(hello('eyes'))
  await answer
  socket.pause()
  const end = closed(socket)
  const key = Buffer.from('big')
  const before = process.memoryUsage().rss
  for (let i = 0; i < 20; i++) {
    const reads = Array.from({ length: 500 }, (_, k) => {
      return { kind: 'read', id: i * 500 + k + 1, stale: true, read: [READ.get, key] } as const
    })
    for (const frame of encodeRequests(reads)) socket.send(frame)
  }
  await expect.poll(() => opened.figures()['client_connections'], { timeout: 30_000 }).toBe(0)
  expect(process.memoryUsage().rss - before).toBeLessThan(600 * 1024 * 1024)
  socket.resume()
  await end
  expect((await opened.store.get('big'))?.length).toBe(1024 * 1024)
})

test('C23: twelve connections that never read cost a bounded sum together, the slowest goes first, and who reads is served', async () => {
  await opened.store.put('big', new Uint8Array(1024 * 1024))
  const remote = await connect([url], { token: 'all' })
  const key = Buffer.from('big')
  const before = process.memoryUsage().rss
  let most = 0
  // Each asks for less than one connection may leave unread.
  const reads = Array.from({ length: 50 }, (_, k) => {
    return { kind: 'read', id: k + 1, stale: true, read: [READ.get, key] } as const
  })
  for (let i = 0; i < 12; i++) {
    const socket = await knock()
    const answer = said(socket)
    socket.send(hello('eyes'))
    await answer
    socket.pause()
    for (const frame of encodeRequests(reads)) socket.send(frame)
    expect((await remote.get('big'))?.length).toBe(1024 * 1024)
    most = Math.max(most, opened.unreadBytes.bytes)
  }
  const closedByNow = () =>
    opened.refusals.counts().find(({ reason }) => reason === 'slowest-of-all')?.count ?? 0
  await expect
    .poll(
      () => {
        most = Math.max(most, opened.unreadBytes.bytes)
        return closedByNow()
      },
      { timeout: 50_000 },
    )
    .toBeGreaterThanOrEqual(8)
  expect(most).toBeGreaterThan(64 * 1024 * 1024)
  expect(most).toBeLessThanOrEqual(128 * 1024 * 1024)
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024)
  // Whose connection was closed holds nothing here any more.
  await expect.poll(() => opened.figures()['served_clients']).toBeLessThanOrEqual(6)
  await remote.close()
})

test('C9: a close ends clients that are connected, greeted or not', async () => {
  const silent = await knock()
  const served = await connect([url], { token: 'all' })
  await served.put('k', 'v')
  const end = closed(silent)
  expect(await activeMillis(() => opened.store.close())).toBeLessThan(4_000)
  await end
  await served.close()
})

test('C26: what a client is told and cannot be packed ends its connection, and is counted', async () => {
  const socket = await knock()
  const welcome = said(socket)
  socket.send(hello('all'))
  await welcome
  socket.send(encodeRequests([{ kind: 'attach', session: 5 }])[0] as Uint8Array)
  // Answered behind what was said before it.
  socket.send(encodeRequests([{ kind: 'read', id: 1, stale: true, read: [READ.revision] }])[0] as Uint8Array)
  await said(socket)
  const end = closed(socket)
  opened.current?.push(5, Buffer.from('k'), [1n] as never)
  expect(await end).toBe(1011)
  expect([...opened.connectionErrors.counts()]).toEqual([['client', 1]])
  await opened.store.put('a', '1')
})
