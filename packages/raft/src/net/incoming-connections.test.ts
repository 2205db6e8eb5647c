// Test: strangers, other clusters, hostile frames and certificates, over real sockets.

import { seededRandom } from '@latchkey/base'
import { pack } from '@latchkey/protocol'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { FRAME_LIMIT, join, MEMBERS_PATH, turnParts } from './frames.js'
import type { Self } from './handshake-frames.js'
import { TYPE } from './message-encoder.js'
import { dialAs } from './testing/handshakes.js'
import { Crew, heartbeat, introduce, type Member, type Options, pause, until } from './testing/crew.js'

let crew = new Crew()
afterEach(async () => {
  await crew.close()
  crew = new Crew()
})

const warnings = (member: Member) => member.log.filter(({ level }) => level === 'warn')

async function meet(left: Options, right: Options): Promise<[Member, Member]> {
  const a = await crew.start('a', left)
  const b = await crew.start('b', right)
  introduce(a, b)
  return [a, b]
}

describe('refused, with a reason that is logged once', () => {
  test.each([
    ['another cluster name', { cluster: 'other' }, 'ERR_WRONG_CLUSTER'],
    ['another cluster id', { clusterId: 'c-2' }, 'ERR_WRONG_CLUSTER'],
    ['a wrong member token', { tokens: ['guess'] }, 'ERR_UNAUTHORIZED'],
    ['no member token', { tokens: [] }, 'ERR_UNAUTHORIZED'],
    ['another group', { group: 4 }, 'ERR_WRONG_CLUSTER'],
  ])('%s', async (_what, self, code) => {
    const ours = { clusterId: 'c-1', tokens: ['secret'] }
    const [a, b] = await meet({ self: ours }, { self: { ...ours, ...self } })
    // Each side makes several attempts.
    await until(() => a.network.stats.refused >= 6 && b.network.stats.refused >= 6)
    expect(a.events).toEqual([])
    expect(b.events).toEqual([])
    for (const member of [a, b]) {
      const lines = warnings(member)
      expect(new Set(lines.map((line) => line.fields?.['code']))).toEqual(new Set([code]))
      expect(lines.length).toBeLessThanOrEqual(2)
      expect(lines.length).toBeGreaterThan(0)
    }
  })

  test('M13: the same name from another directory, as the owner decides', async () => {
    const admit = ({ incarnation }: { incarnation: string }) =>
      incarnation === 'of b' ? undefined : 'remove b, then start it with join: true'
    const [a, b] = await meet({ admit }, { self: { incarnation: 'wiped', clusterId: '' } })
    await until(() => b.refused.some(({ by }) => by === 'them') && a.refused.length > 0)
    expect(b.refused.find(({ by }) => by === 'them')).toMatchObject({
      id: 'a',
      code: 'ERR_WRONG_CLUSTER',
      reason: 'remove b, then start it with join: true',
      info: { id: 'a' },
    })
    expect(a.network.connected('b')).toBe(false)
    expect(b.network.connected('a')).toBe(false)
  })

  test('a connected member is checked again after `recheck`', async () => {
    let known = 'of b'
    const admit = ({ incarnation }: { incarnation: string }) => (incarnation === known ? undefined : 'no')
    const [a, b] = await meet({ admit }, {})
    await until(() => a.network.connected('b') && b.network.connected('a'))
    known = 'another'
    a.network.recheck()
    await until(() => a.events.includes('gone b') && b.events.includes('gone a'))
    const from = b.events.length
    await pause(100)
    expect(b.events.slice(from)).not.toContain('up a')
  })

  test('an address that leads to another member, or back to the same one', async () => {
    const a = await crew.start('a')
    const b = await crew.start('b')
    a.network.setPeers({ c: { url: b.url }, d: { url: a.url } })
    await until(() => new Set(a.refused.filter(({ by }) => by === 'them').map(({ id }) => id)).size === 2)
    expect(a.refused.every(({ code }) => code === 'ERR_WRONG_CLUSTER')).toBe(true)
    expect(a.events).toEqual([])
  })
})

// ---- strangers

const url = (member: Member) => member.url + MEMBERS_PATH

/** Sends these frames on a new connection. Resolves with the code that closes the connection. */
function knock(member: Member, frames: readonly (Uint8Array | string)[]): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url(member), { perMessageDeflate: false })
    socket.on('error', () => {})
    socket.on('open', () => {
      for (const frame of frames) socket.send(frame)
    })
    socket.on('close', (code) => resolve(code))
  })
}

/** The same, after a successful handshake. */
function enter(member: Member, self: Self, frame: Uint8Array): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url(member), { perMessageDeflate: false })
    socket.on('error', () => {})
    dialAs(self, member.id, socket, () => socket.send(frame))
    socket.on('close', (code) => resolve(code))
  })
}

const status = (member: Member, options: { path?: string; origin?: string }): Promise<number | undefined> =>
  new Promise((resolve) => {
    const { path = MEMBERS_PATH, ...rest } = options
    const socket = new WebSocket(member.url + path, rest)
    socket.on('error', () => {})
    socket.on('unexpected-response', (_request, response) => {
      resolve(response.statusCode)
      response.destroy()
    })
    socket.on('open', () => socket.close())
  })

const noise = (random: { next(): number }, length: number) =>
  Uint8Array.from({ length }, () => random.next() & 0xff)

function rawSocket(member: Member): Promise<Socket> {
  const socket = connect(member.listener.port, '127.0.0.1')
  socket.on('error', () => {})
  return new Promise((resolve) => socket.once('connect', () => resolve(socket)))
}

const memory = () => {
  const { rss, arrayBuffers } = process.memoryUsage()
  return Math.max(rss, arrayBuffers)
}

describe('strangers', () => {
  test('a browser page, and another path', async () => {
    const a = await crew.start('a')
    expect(await status(a, { origin: 'http://page.example' })).toBe(403)
    expect(await status(a, { path: '/elsewhere' })).toBe(404)
  })

  test('a connection without a greeting is closed', async () => {
    const a = await crew.start('a')
    expect(await knock(a, [])).toBe(1006)
  })

  test('a value that cannot be made a text, from who dials and from who is dialled: refused, and the member lives', async () => {
    const hostile = Buffer.from('9182a8746f537472696e6701a776616c75654f6601', 'hex')
    const welcome = Buffer.from('93010182a8746f537472696e6701a776616c75654f6601', 'hex')
    const a = await crew.start('a')
    await knock(a, [hostile])
    const impostor = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    await new Promise((resolve) => impostor.once('listening', resolve))
    let dialled = 0
    impostor.on('connection', (socket) => {
      dialled++
      socket.send(dialled % 2 === 0 ? hostile : welcome)
    })
    const { port } = impostor.address() as { port: number }
    a.network.setPeers({ x: { url: `ws://127.0.0.1:${port}` } })
    await until(() => dialled >= 2)
    for (const socket of impostor.clients) socket.terminate()
    await new Promise((resolve) => impostor.close(resolve))
    const b = await crew.start('b')
    introduce(a, b)
    await until(() => a.network.connected('b'))
  })

  test('a connection with a frame that is too long is closed before the frame is in memory', async () => {
    const a = await crew.start('a')
    expect([1006, 1009]).toContain(await knock(a, [new Uint8Array(FRAME_LIMIT + 1)]))
  })

  test('before its greeting a connection may send a few KiB', async () => {
    const a = await crew.start('a', { timing: { hello: 60_000 } })
    expect(await knock(a, [new Uint8Array(FRAME_LIMIT / 2)])).toBe(1006)
  })

  test('many connections without a greeting do not keep a member out', async () => {
    const a = await crew.start('a', { timing: { hello: 60_000 } })
    const sockets = await Promise.all(
      Array.from({ length: 600 }, async () => {
        const socket = new WebSocket(url(a))
        socket.on('error', () => {})
        await new Promise((resolve) => socket.once('open', resolve))
        return socket
      }),
    )
    const b = await crew.start('b')
    introduce(a, b)
    await until(() => b.network.connected('a'))
    await until(() => a.sockets.size < 540)
    for (const socket of sockets) socket.terminate()
  })

  test('L22: hundreds of hostile frames over real sockets: no crash, no growth, and a member still gets through', async () => {
    const [a, b] = await meet({}, {})
    await until(() => a.network.connected('b') && b.network.connected('a'))
    const random = seededRandom('strangers')
    const member = { ...b.self, id: 'c' }
    const before = memory()
    for (let round = 0; round < 60; round++) {
      await Promise.all([
        knock(a, [noise(random, random.between(0, 4000))]),
        knock(a, ['text']),
        knock(a, [pack([1, 0, 'latchkey', null, 'a', 0, 0, ['c', '', 1, '', 0, 1]])]),
        // A member is admitted and then sends random bytes.
        enter(a, member, noise(random, random.between(0, 4000))),
        enter(a, member, hostileTurn(random.between(0, 6))),
      ])
    }
    expect(memory() - before).toBeLessThan(128 * 1024 * 1024)
    expect(a.network.stats.malformed).toBeGreaterThan(20)
    expect(warnings(a).length).toBeLessThan(40)
    expect(a.messages).toEqual([])
    b.network.send('a', heartbeat(b, a, 5))
    await until(() => a.messages.length === 1)
  })

  test('L22: rubbish below WebSocket, and frames that announce what never comes', async () => {
    const a = await crew.start('a')
    const random = seededRandom('below')
    const before = memory()
    for (let i = 0; i < 200; i++) {
      const socket = await rawSocket(a)
      const key = Buffer.from(noise(random, 16)).toString('base64')
      const upgrade = `GET ${MEMBERS_PATH} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`
      if (i % 4 !== 0) socket.write(upgrade)
      // A masked binary frame that announces 2^62 bytes, one of 200 KiB whose bytes do not follow, a fragment
      // without an end, and random bytes.
      const rubbish = [
        noise(random, 500),
        Buffer.from([0x82, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
        Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 3, 0, 0, 1, 2, 3, 4]),
        Buffer.from([0x02, 0x81, 1, 2, 3, 4, 9]),
      ][i % 4] as Uint8Array
      socket.write(rubbish)
      if (i % 2 === 0) socket.destroy()
    }
    await until(() => a.sockets.size === 0)
    expect(memory() - before).toBeLessThan(128 * 1024 * 1024)
  })
})

function hostileTurn(which: number): Uint8Array {
  const turn = (items: unknown[], bytes = 0) => join(turnParts(items, [new Uint8Array(bytes)]))
  switch (which) {
    case 0:
      return turn([[TYPE.heartbeat, [], 0, 2 ** 53, 1, 1]])
    case 1:
      return turn([[TYPE.append, [2 ** 40], 0, 1, 1, 1, 1, 1, [1, 1, 1]]], 10)
    case 2:
      return turn([[TYPE.heartbeat, [], 3, 1, 1, 1]])
    case 3:
      return turn([[TYPE.snapshot, [4, 4], 0, 1, 1, 1, 1, 0, true]], 8)
    case 4:
      return Buffer.concat([Buffer.from([1, 0, 3, 0, 0]), Buffer.alloc(200_000, 0x91)])
    default:
      return Buffer.concat([Buffer.from([0]), turn([]).subarray(1)])
  }
}

// ---- certificates

const file = (name: string) => readFileSync(new URL(`./testing/certs/${name}.pem`, import.meta.url))
const cluster = { cert: file('cluster-cert'), key: file('cluster-key'), ca: file('cluster-ca') }
const stranger = { cert: file('stranger-cert'), key: file('stranger-key'), ca: file('cluster-ca') }

describe('mutual TLS', () => {
  test('members with certificates of one authority talk', async () => {
    const [a, b] = await meet({ tls: cluster }, { tls: cluster })
    await until(() => a.network.connected('b') && b.network.connected('a'))
    a.network.send('b', heartbeat(a, b, 1))
    await until(() => b.messages.length === 1)
  })

  test('a certificate of another authority is refused on both ways', async () => {
    const [a, b] = await meet({ tls: cluster }, { tls: stranger })
    await until(() => a.network.stats.refused >= 6 && b.network.stats.refused >= 3)
    const comes = a.refused.filter(({ id }) => id === undefined)
    const dialled = a.refused.filter(({ id }) => id === 'b')
    expect(comes[0]).toMatchObject({ by: 'us', code: 'ERR_UNAUTHORIZED' })
    expect(dialled[0]).toMatchObject({ by: 'us', code: 'ERR_UNAUTHORIZED' })
    expect(dialled[0]?.reason).toMatch(/certificate is not accepted: [A-Z_]+/)
    expect(b.refused[0]).toMatchObject({ id: 'a', by: 'them', code: 'ERR_UNAUTHORIZED' })
    expect(b.refused[0]?.reason).toMatch(/401/)
    // One warning in each direction, however many attempts there are.
    expect(warnings(a)).toHaveLength(2)
    expect(warnings(b)).toHaveLength(1)
    expect([...a.events, ...b.events]).toEqual([])
  })

  test('E19: a certificate that names another member is refused on both ways, before anything is proved', async () => {
    const named = (id: string) => ({
      cert: file(`named-${id}-cert`),
      key: file(`named-${id}-key`),
      ca: file('named-ca'),
      memberName: '{id}.members.test',
    })
    const [a, b] = await meet({ tls: named('a') }, { tls: named('b') })
    await until(() => a.network.connected('b') && b.network.connected('a'))
    a.network.send('b', heartbeat(a, b, 1))
    await until(() => b.messages.length === 1)
    // Member d uses the certificate of b.
    const c = await crew.start('c', { tls: { ...named('a'), memberName: undefined } })
    const d = await crew.start('d', { tls: named('b') })
    c.network.setPeers({ b: { url: b.url } })
    a.network.setPeers({ b: { url: b.url }, d: { url: d.url } })
    await until(() => b.refused.length > 0 && a.refused.length > 0)
    expect(b.refused[0]).toMatchObject({
      id: 'c',
      by: 'us',
      code: 'ERR_UNAUTHORIZED',
      reason: 'the certificate of member c does not name c.members.test',
    })
    expect(a.refused[0]).toMatchObject({ id: 'd', by: 'us', code: 'ERR_UNAUTHORIZED' })
    expect([c.network.connected('b'), a.network.connected('d')]).toEqual([false, false])
  })

  test('M21: a certificate of our authority that is good for clients alone is no member, though no token is asked for', async () => {
    const mixed = (name: string) => ({
      cert: file(`mixed-${name}-cert`),
      key: file(`mixed-${name}-key`),
      ca: file('mixed-ca'),
    })
    const [a, b] = await meet({ tls: mixed('member') }, { tls: mixed('member') })
    await until(() => a.network.connected('b') && b.network.connected('a'))
    const client = await crew.start('c', { tls: mixed('client') })
    client.network.setPeers({ b: { url: b.url } })
    await until(() => client.refused.length > 0 && b.refused.length > 0)
    expect(client.refused[0]).toMatchObject({ id: 'b', by: 'them', code: 'ERR_UNAUTHORIZED' })
    expect(b.refused[0]?.reason).toBe('its certificate is for clients alone, not for a server')
    expect(client.events).toEqual([])
  })

  test('no certificate at all is refused, although the port itself takes connections without one', async () => {
    const a = await crew.start('a', { tls: cluster })
    const answer = await new Promise<number | undefined>((resolve) => {
      const socket = new WebSocket(url(a), { ca: cluster.ca })
      socket.on('error', () => {})
      socket.on('unexpected-response', (_request, response) => {
        resolve(response.statusCode)
        response.destroy()
      })
    })
    expect(answer).toBe(401)
  })

  test('M21: a connection without a certificate that resumes an earlier TLS session is refused', async () => {
    const a = await crew.start('a', { tls: cluster })
    const { port } = new URL(url(a))
    const asked = `GET ${MEMBERS_PATH} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`
    /** Connects, and resolves with the first line of the answer and the TLS session that could be resumed. */
    const knock = (session: Buffer | undefined) =>
      new Promise<{ said: string; session: Buffer | undefined }>((resolve, reject) => {
        let last: Buffer | undefined
        const socket = connectTls({ port: Number(port), host: '127.0.0.1', ca: cluster.ca, session })
        socket.on('session', (given) => (last = given))
        socket.on('secureConnect', () => socket.write(asked))
        socket.once('data', (data) => {
          // A session arrives with the answer at the latest.
          setImmediate(() => socket.destroy())
          resolve({ said: data.toString('latin1').slice(0, 12), session: last })
        })
        socket.on('error', reject)
      })
    const first = await knock(undefined)
    expect(first.said).toBe('HTTP/1.1 401')
    expect((await knock(first.session)).said).toBe('HTTP/1.1 401')
  })

  test('a plain address is not dialled where members use TLS', async () => {
    const a = await crew.start('a', { tls: cluster })
    const b = await crew.start('b')
    a.network.setPeers({ b: { url: b.url } })
    await until(() => a.refused.length > 0)
    expect(a.refused[0]?.reason).toMatch(/wss/)
    expect(b.sockets.size).toBe(0)
  })
})
