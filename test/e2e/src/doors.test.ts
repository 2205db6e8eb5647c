// Test: requests that a member refuses: a wrong token, a missing right, a web page of a foreign origin, and
// nonsense bytes.

import { randomBytes } from 'node:crypto'
import { connect as connectSocket } from 'node:net'
import { connect } from '@latchkey/client'
import { decodeWelcome, ERROR_CODES } from '@latchkey/protocol'
import { ask } from '@latchkey/test-chaos/ask'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { latchkey } from '@latchkey/test-chaos/command'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'

const TOKEN = 'the-right-one'
let cluster: Cluster

beforeAll(async () => {
  const tokens = ['--token', TOKEN, '--token', 'read:a-reader', '--allow-origin', 'https://ours.example']
  cluster = await Cluster.start({ size: 1, flags: tokens, token: TOKEN })
})
afterAll(() => cluster.destroy())

const http = () => cluster.get('a').http
const ws = () => cluster.get('a').url

test('a wrong token, or none, is refused at every door', async () => {
  for (const token of ['wrong', undefined]) {
    await expect(connect(cluster.urls, { token })).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' })
    const asked = token === undefined ? {} : { token }
    for (const path of ['/v1/kv/k', '/status', '/metrics', '/v1/locks/k'])
      expect((await ask(http() + path, asked))?.status, path).toBe(401)
    expect((await ask(`${http()}/livez`, asked))?.status).toBe(200)
  }
  const command = await latchkey(['get', 'k', '--token', 'wrong'], cluster.urls).ended
  expect(command).toMatchObject({ code: 1, out: '', err: expect.stringContaining('ERR_UNAUTHORIZED') })
})

test('a reader reads, and is forbidden to write or to administer', async () => {
  const reader = await connect(cluster.urls, { token: 'a-reader' })
  expect(await reader.get('k')).toBeUndefined()
  await expect(reader.put('k', 'v')).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
  await expect(reader.snapshot()).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
  await reader.close()
  const put = await ask(`${http()}/v1/kv/k`, { method: 'PUT', body: 'v', token: 'a-reader' })
  expect(put?.status).toBe(403)
})

test('a page of a foreign origin is refused, by HTTP and by WebSocket, even with the token', async () => {
  const from = (origin: string) => ask(`${http()}/v1/kv/k`, { token: TOKEN, headers: { origin } })
  expect((await from('https://evil.example'))?.status).toBe(403)
  expect((await from('null'))?.status).toBe(403)
  expect((await from('https://ours.example'))?.status).toBe(404)
  for (const path of ['/clients', '/members'])
    expect(await upgrade(`${ws()}${path}`, 'https://evil.example'), path).toBe(403)
})

test('a name that was rebound to this machine is refused', async () => {
  const rebound = await ask(`${http()}/v1/kv/k`, { token: TOKEN, headers: { host: 'evil.example' } })
  expect(rebound?.status).toBe(403)
})

test('garbage on the port is refused, and disturbs nobody', async () => {
  const store = await connect(cluster.urls, { token: TOKEN, as: 'string' })
  await store.put('before', 'garbage')
  const noise = [
    ...Array.from({ length: 20 }, (_, i) => randomBytes(1 + i * 97)),
    Buffer.from('GET / HTTP/1.1\r\n'.repeat(200)),
    Buffer.from('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
  ]
  await Promise.all(noise.map((bytes) => rawBytes(cluster.get('a').options.port, bytes)))
  for (const path of ['/clients', '/members'])
    for (const bytes of [randomBytes(50), Buffer.from([1, 0xc1]), Buffer.from('hello'), Buffer.alloc(0)])
      await frame(`${ws()}${path}`, bytes)
  expect(await store.get('before')).toBe('garbage')
  expect(cluster.get('a').running).toBe(true)
  await store.close()
})

test('a client that speaks nonsense is told ERR_PROTOCOL', async () => {
  const answer = await frame(`${ws()}/clients`, Buffer.from([1, 0xc1, 7]))
  const welcome = decodeWelcome(answer as Buffer)
  if (typeof welcome === 'string' || welcome.ok) throw new Error('it was let in')
  expect(ERROR_CODES[(welcome.answer[0] as number) - 1]).toBe('ERR_PROTOCOL')
  expect(welcome.answer[1]).toMatch(/handshake was refused/)
})

/** The status with which a WebSocket is refused; 101: it was let in. */
function upgrade(url: string, origin: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, { origin })
    socket.on('error', () => {})
    socket.on('open', () => resolve(101))
    socket.on('unexpected-response', (_, response) => {
      resolve(response.statusCode)
      response.destroy()
    })
  })
}

/**
 * Sends one frame as the first, and waits until the member closes the connection; resolves with the last that
 * it said.
 */
function frame(url: string, bytes: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url)
    let said: Buffer | undefined
    socket.on('error', () => {})
    socket.on('message', (data: Buffer) => (said = data))
    socket.on('open', () => socket.send(bytes))
    socket.on('close', () => resolve(said))
  })
}

/**
 * Sends bytes, and waits until the member ends the connection, or until it has had a moment to fail over
 * them.
 */
function rawBytes(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1', () => socket.end(bytes))
    socket.setTimeout(1_000, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('data', () => {})
    socket.on('close', () => resolve())
  })
}
