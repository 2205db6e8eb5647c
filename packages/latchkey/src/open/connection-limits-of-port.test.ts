// Test: the connections of one port: new strangers replace old strangers, clients cannot use the connections
// reserved for members, and idle HTTP connections do not count as clients.

import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect as dial, type AddressInfo, type Socket } from 'node:net'
import { uptime } from 'node:os'
import { RefusalLog, silentLogger, systemClock } from '@latchkey/base'
import { expect, onTestFinished, test } from 'vitest'
import { addressOf, limitsOf } from './connection-limits-of-port.js'
import { makePort } from './http-and-websocket-server.js'

const clock = systemClock(uptime)

/** A port where a request for /client or /member proves at once what it asks for, and is told yes or no. */
async function scene(maxConnections: number) {
  const refusals = new RefusalLog({ clock, logger: silentLogger })
  const { server, connections } = makePort({
    tls: undefined,
    clock,
    refusals,
    maxConnections,
    request: (request, response) => {
      const isClient = request.url === '/client'
      const has = !isClient || connections.proven(request.socket, 'client')
      setTimeout(() => response.writeHead(has ? 200 : 429).end(), 20)
    },
    upgrade: (request, socket, _, proven) => {
      const has = proven(request.url === '/member' ? 'member' : 'client')
      socket.resume().on('end', () => socket.end())
      socket.write(has ? 'yes' : 'no')
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    server.closeAllConnections()
  })
  const stranger = async () => {
    const socket = dial(port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const prove = async (what: 'client' | 'member') => {
    const socket = await stranger()
    socket.write(`GET /${what} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    return { socket, answer: String(answer) }
  }
  const counts = (wanted: Partial<ReturnType<typeof connections.counts>>) =>
    expect.poll(() => connections.counts()).toMatchObject(wanted)
  return { port, connections, refusals, stranger, prove, counts }
}

test('C22: the places of each kind add up to the whole, and members keep some', () => {
  for (const whole of [3, 10, 100, 1_000, 10_000, 100_000]) {
    const { strangers, clients, strangersOfOneAddress, clientsOfOneAddress } = limitsOf(whole)
    expect(strangers + clients).toBeLessThanOrEqual(whole)
    if (whole >= 4) expect(whole - strangers - clients).toBeGreaterThan(0)
    expect(strangersOfOneAddress).toBeLessThanOrEqual(strangers)
    expect(clientsOfOneAddress).toBeLessThanOrEqual(clients)
  }
  expect(limitsOf(10_000)).toEqual({
    strangers: 2_000,
    strangersOfOneAddress: 1_000,
    clients: 7_936,
    clientsOfOneAddress: 3_968,
  })
})

test('C22: when the strangers are too many, the one that came first gives way, and the newest is served', async () => {
  const { stranger, prove, counts, refusals } = await scene(100)
  // Of the 20 places of strangers one address has 16.
  const first = await stranger()
  const gone = once(first, 'close')
  for (let i = 0; i < 15; i++) await stranger()
  await counts({ stranger: 16 })
  expect((await prove('member')).answer).toBe('yes')
  await gone
  expect((await prove('client')).answer).toBe('yes')
  await counts({ client: 1, member: 1 })
  expect(refusals.counts()).toContainEqual({ door: 'port', reason: 'address-gave-way', count: 1 })
})

test('C22: clients never take the places of members, and a place that was left is given again', async () => {
  const { prove, counts, refusals } = await scene(20)
  // 20: 4 strangers, 5 members, 11 clients.
  const clients = []
  for (let i = 0; i < 11; i++) clients.push(await prove('client'))
  expect(clients.every(({ answer }) => answer === 'yes')).toBe(true)
  expect((await prove('client')).answer).toBe('no')
  for (let i = 0; i < 5; i++) expect((await prove('member')).answer).toBe('yes')
  expect(refusals.counts()).toContainEqual({ door: 'port', reason: 'clients-full', count: 1 })
  clients[0]?.socket.destroy()
  await counts({ client: 10, member: 5 })
  expect((await prove('client')).answer).toBe('yes')
})

test('C22: one address has half of the places of clients', async () => {
  const { prove, refusals } = await scene(100)
  // 100: 20 strangers, 25 members, 55 clients.
  const answers = []
  for (let i = 0; i < 29; i++) answers.push((await prove('client')).answer)
  expect(answers.filter((answer) => answer === 'yes')).toHaveLength(28)
  expect(refusals.counts()).toContainEqual({ door: 'port', reason: 'address-full', count: 1 })
})

test('C22: a connection of HTTP is a client only while it is answered; idle ones give way like strangers', async () => {
  const { port, counts } = await scene(100)
  const agent = new Agent({ keepAlive: true, maxSockets: 40, maxFreeSockets: 40 })
  onTestFinished(() => agent.destroy())
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      get({ port, host: '127.0.0.1', path: '/client', agent }, (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode))
      }).on('error', reject)
    })
  const first = await Promise.all(Array.from({ length: 14 }, ask))
  expect(first).toEqual(Array.from({ length: 14 }, () => 200))
  await counts({ client: 0, stranger: 14 })
  for (let round = 0; round < 3; round++)
    expect(await Promise.all(Array.from({ length: 8 }, ask))).not.toContain(429)
  await counts({ client: 0 })
})

// Without this law: one user has 2^64 addresses, and takes all places.
test.each([
  ['10.0.0.7', '10.0.0.7'],
  ['::ffff:10.0.0.7', '10.0.0.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['2001:db8::3:4:5:6', '2001:db8:0:0::/64'],
  ['2001::2:3:4:5:6', '2001:0:0:2::/64'],
  ['fe80::', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
])('C22: %s is counted as %s', (remoteAddress, counted) => {
  expect(addressOf({ remoteAddress } as Socket)).toBe(counted)
})
