// Test: proofs over real sockets: what a stranger at a member's address can read, and what an attacker
// between two members can do.

import { EMPTY, newNonce } from '@latchkey/base'
import { readFileSync } from 'node:fs'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { MEMBERS_PATH } from './frames.js'
import type { Self } from './handshake-frames.js'
import { DialledHandshake, DiallingHandshake } from './handshake-steps.js'
import { proofOf, provenWith } from './token-proof.js'
import { bytesOf } from './websocket-settings.js'
import { channelOf } from './tls.js'
import { Crew, introduce, until } from './testing/crew.js'

let crew = new Crew()
const closing: (() => void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) close()
  await crew.close()
  crew = new Crew()
})

const secret = { tokens: ['the-member-token'], clusterId: 'cluster-id', incarnation: 'incarnation-of-a' }
/** No stranger may read these values. */
const HIDDEN = [...secret.tokens, secret.clusterId, secret.incarnation]
const found = (bytes: Buffer) => HIDDEN.filter((word) => bytes.includes(word))

const closed = <Closable extends { close(): unknown }>(one: Closable): Closable => {
  closing.push(() => void one.close())
  return one
}

/** Makes a server record every byte that it receives. */
function tap(server: Server, heard: Buffer[]): void {
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => heard.push(bytes))
    closing.push(() => socket.destroy())
  })
}

async function listening(server: Server): Promise<number> {
  closed(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

describe('M19: a stranger at the address of a member', () => {
  /** A peer that answers each frame of a handshake with the result of `answer`. */
  async function fakePeer(
    answer: (frame: Uint8Array, handshake: DialledHandshake) => Uint8Array | undefined,
  ) {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    closed(server)
    const said: Buffer[] = []
    const self: Self = {
      cluster: 'latchkey',
      clusterId: '',
      id: 'b',
      incarnation: '',
      boot: 1,
      group: 0,
      level: 1,
      tokens: [],
    }
    server.on('connection', (socket, request) => {
      const handshake = new DialledHandshake({
        self: () => self,
        admit: () => undefined,
        missing: () => undefined,
        newNonce,
        channel: EMPTY,
        whyNotNamed: () => undefined,
      })
      said.push(Buffer.from(JSON.stringify(request.headers)))
      socket.on('error', () => {})
      socket.on('message', (data) => {
        const frame = Buffer.from(bytesOf(data))
        said.push(frame)
        const reply = answer(frame, handshake)
        if (reply !== undefined) socket.send(reply)
      })
    })
    await new Promise<void>((resolve) => server.once('listening', resolve))
    return { said, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }

  test.each([
    [
      'that goes along as far as it can',
      (frame: Uint8Array, one: DialledHandshake) => sendOf(one.receive(frame)),
    ],
    ['that says everything back', (frame: Uint8Array) => frame],
    ['that says nothing', () => undefined],
    [
      'that challenges, and says the proof back',
      (frame: Uint8Array, one: DialledHandshake) => sendOf(one.receive(frame)) ?? frame,
    ],
  ])('%s: reads no secret, in no byte, and is no member', async (_what, answer) => {
    const peer = await fakePeer(answer)
    const a = await crew.start('a', { self: secret, timing: { connect: 200 } })
    a.network.setPeers({ b: { url: peer.url } })
    await until(() => peer.said.length >= 6)
    expect(found(Buffer.concat(peer.said))).toEqual([])
    expect(a.events).toEqual([])
  })
})

const sendOf = (step: ReturnType<DialledHandshake['receive']>) =>
  step.next === 'refused' ? undefined : step.send

describe('M20: somebody between two members', () => {
  test('without TLS reads no token, and what it recorded opens no door', async () => {
    const a = await crew.start('a', { self: secret })
    const b = await crew.start('b', { self: { ...secret, incarnation: 'incarnation-of-b' } })
    const heard: Buffer[] = []
    const said: Buffer[] = []
    const between = createServer((left) => {
      const right = connect(b.listener.port, '127.0.0.1')
      for (const socket of [left, right]) socket.on('error', () => {})
      left.pipe(right).pipe(left)
      left.on('data', (bytes) => said.push(bytes))
      right.on('data', (bytes) => heard.push(bytes))
      closing.push(() => right.destroy())
    })
    tap(between, [])
    const port = await listening(between)
    a.network.setPeers({ b: { url: `ws://127.0.0.1:${port}` } })
    await until(() => a.network.connected('b'))
    expect(Buffer.concat([...said, ...heard]).includes('the-member-token')).toBe(false)
    // All bytes that a has sent, replayed on a new connection.
    expect(b.refused).toEqual([])
    const again = connect(b.listener.port, '127.0.0.1')
    again.on('error', () => {})
    again.write(Buffer.concat(said))
    closing.push(() => again.destroy())
    await until(() => b.refused.length > 0)
    expect(b.refused[0]).toMatchObject({ id: 'a', by: 'us', code: 'ERR_UNAUTHORIZED', info: undefined })
  })
})

// ---- TLS

const file = (name: string) => readFileSync(new URL(`./testing/certs/${name}.pem`, import.meta.url))
const tls = { cert: file('cluster-cert'), key: file('cluster-key'), ca: file('cluster-ca') }

describe('M20: under TLS', () => {
  test('both ends of a connection have one channel, and another connection has another (TLS 1.3)', async () => {
    const a = await crew.start('a', { self: secret, tls })
    const b = await crew.start('b', { self: secret, tls })
    const channels: string[] = []
    const protocols = new Set<unknown>()
    for (const { listener } of [a, b]) {
      listener.server.on('secureConnection', (socket: TLSSocket) => {
        protocols.add(socket.getProtocol())
        channels.push(Buffer.from(channelOf(tls, socket)).toString('hex'))
        expect(channelOf(tls, socket)).toEqual(channelOf(tls, socket))
      })
    }
    introduce(a, b)
    await until(() => a.network.connected('b') && b.network.connected('a'))
    expect([...protocols]).toEqual(['TLSv1.3'])
    expect(channels.length).toBeGreaterThan(1)
    expect(new Set(channels).size).toBe(channels.length)
    // Where TLS is required and the socket has none, the channel matches no other.
    const plain = new Socket()
    expect(channelOf(tls, plain)).not.toEqual(channelOf(tls, plain))
    expect(channelOf(undefined, plain)).toEqual(EMPTY)
  })

  test('somebody with a certificate of the same authority who ends TLS between two members is refused by both', async () => {
    const a = await crew.start('a', { self: secret, tls })
    const b = await crew.start('b', { self: secret, tls })
    let passed = 0
    const between = createHttpsServer({ ...tls, requestCert: true, rejectUnauthorized: false })
    between.on('secureConnection', (left) => {
      passed++
      const right = connectTls({ port: b.listener.port, host: '127.0.0.1', ...tls })
      for (const socket of [left, right]) socket.on('error', () => {})
      left.pipe(right).pipe(left)
      closing.push(() => [left, right].forEach((socket) => socket.destroy()))
    })
    const port = await listening(between as unknown as Server)
    a.network.setPeers({ b: { url: `wss://127.0.0.1:${port}` } })
    await until(() => passed > 0 && a.refused.length > 0 && b.refused.length > 0)
    expect(a.refused[0]).toMatchObject({ id: 'b', code: 'ERR_UNAUTHORIZED', info: undefined })
    expect(b.refused[0]).toMatchObject({ by: 'us', code: 'ERR_UNAUTHORIZED', info: undefined })
    expect([a.network.connected('b'), a.events, b.events]).toEqual([false, [], []])
  })
})

describe('a handshake that stops half-way', () => {
  test.each([0, 1, 2])('after %i frames is ended at the deadline, whatever was said', async (steps) => {
    const a = await crew.start('a', { self: secret, timing: { hello: 200 } })
    const socket = new WebSocket(a.url + MEMBERS_PATH)
    socket.on('error', () => {})
    const self: Self = { ...a.self, id: 'b', incarnation: 'of b' }
    const ports = { self: () => self, admit: () => undefined, newNonce, channel: EMPTY }
    const handshake = new DiallingHandshake(ports, 'a')
    let left = steps
    const say = (frame: Uint8Array) => {
      if (left-- > 0) socket.send(frame)
    }
    socket.on('open', () => say(handshake.greeting))
    socket.on('message', (data) => {
      const step = handshake.receive(bytesOf(data))
      if (step.next === 'wait') say(step.send)
    })
    const code = await new Promise((resolve) => socket.on('close', resolve))
    expect(code).toBe(1006)
    await until(() => a.sockets.size === 0)
    expect(a.events).toEqual([])
  })

  test('many who stop after their greeting do not keep a member out', async () => {
    const a = await crew.start('a', { timing: { hello: 60_000 } })
    const sockets = Array.from({ length: 600 }, () => {
      const socket = new WebSocket(a.url + MEMBERS_PATH)
      socket.on('error', () => {})
      closing.push(() => socket.terminate())
      const ports = { self: () => a.self, admit: () => undefined, newNonce, channel: EMPTY }
      socket.on('open', () => socket.send(new DiallingHandshake(ports, 'a').greeting))
      return new Promise((resolve) => socket.once('message', resolve))
    })
    await Promise.all(sockets)
    const b = await crew.start('b')
    introduce(a, b)
    await until(() => b.network.connected('a'))
    await until(() => a.sockets.size < 540)
  })
})

test('M20: a proof of the wrong length, or of other keys, is no proof', () => {
  const side = () => ({ nonce: newNonce(), least: 1, most: 1 })
  const inputs = {
    cluster: 'latchkey',
    from: 'a',
    to: 'b',
    dialled: side(),
    answered: side(),
    channel: EMPTY,
  }
  const right = proofOf('one', 'the one who dials', inputs)
  expect(provenWith(['two', 'one'], 'the one who dials', inputs, right)).toEqual({ token: 'one' })
  expect(provenWith(['two'], 'the one who dials', inputs, right)).toBe(false)
  expect(provenWith([], 'the one who dials', inputs, right)).toBe(false)
  expect(provenWith(['one'], 'the one who was dialled', inputs, right)).toBe(false)
  expect(provenWith(['one'], 'the one who dials', inputs, right.subarray(1))).toBe(false)
  // HMAC treats a key and the same key with a zero byte at its end as equal; a token must not be.
  expect(provenWith(['one\0'], 'the one who dials', inputs, right)).toBe(false)
})
