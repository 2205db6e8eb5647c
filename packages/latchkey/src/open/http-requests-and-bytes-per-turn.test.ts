// Test: HTTP requests of one port: how many requests of a connection wait, how connections take turns, and
// that each request gets an answer.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect as dial, type AddressInfo, Socket } from 'node:net'
import { uptime } from 'node:os'
import { connect as dialTls } from 'node:tls'
import { RefusalLog, silentLogger, systemClock } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { HttpRequests } from './http-requests-and-bytes-per-turn.js'
import { makePort } from './http-and-websocket-server.js'

const clock = systemClock(uptime)
const most = CAPS.unansweredRequests

const pem = (name: string) =>
  readFileSync(new URL(`../../../raft/src/net/testing/certs/${name}.pem`, import.meta.url), 'utf8')
const TLS = { cert: pem('mixed-member-cert'), key: pem('mixed-member-key'), ca: pem('mixed-ca') }

async function scene(
  request: (request: IncomingMessage, response: ServerResponse) => void,
  tls?: typeof TLS,
) {
  const refusals = new RefusalLog({ clock, logger: silentLogger })
  const { server, connections } = makePort({ tls, clock, refusals, request, upgrade: () => {} })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const stranger = async (): Promise<Socket> => {
    const socket =
      tls === undefined
        ? dial(port, '127.0.0.1')
        : dialTls({ port, host: '127.0.0.1', ca: tls.ca, checkServerIdentity: () => undefined })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    await once(socket, tls === undefined ? 'connect' : 'secureConnect')
    return socket
  }
  return { stranger, refusals, connections }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

/** All that it is answered until it has said enough, or is gone. */
function answers(socket: Socket, isEnough: (said: string) => boolean): Promise<string> {
  let said = ''
  return new Promise((resolve) => {
    socket.on('data', (chunk) => {
      said += String(chunk)
      if (isEnough(said)) resolve(said)
    })
    socket.on('close', () => resolve(said))
  })
}

const count = (text: string, part: string) => text.split(part).length - 1

test('C43: as many requests as may wait are answered in their order; who sends one more is cut off', async () => {
  const { stranger, refusals } = await scene((request, response) => response.end(`<${request.url}>`))
  const polite = await stranger()
  const said = answers(polite, (text) => text.includes(`</${most - 1}>`))
  polite.write(Array.from({ length: most }, (_, i) => get(`/${i}`)).join(''))
  expect((await said).match(/<\/\d+>/g)).toEqual(Array.from({ length: most }, (_, i) => `</${i}>`))
  const rude = await stranger()
  // Its end may come as a reset, which `once` would throw.
  const gone = new Promise((resolve) => rude.once('close', resolve))
  rude.resume()
  rude.write(get('/').repeat(20_000))
  await gone
  expect(refusals.counts()).toEqual([{ door: 'http', reason: 'pipelined', count: 1 }])
})

test('C43: of one connection one request is begun in a turn, and others get theirs in between', async () => {
  const begun: string[] = []
  const { stranger } = await scene((request, response) => {
    begun.push(request.url ?? '')
    response.end('.')
  })
  const [greedy, other] = [await stranger(), await stranger()]
  const all = answers(greedy, (text) => count(text, 'HTTP/1.1 200') === most)
  // The second one asks when the first one's first answer is here: fifteen of its requests are there already.
  greedy.once('data', () => other.write(get('/other')))
  greedy.write(get('/greedy').repeat(most))
  await Promise.all([all, answers(other, (text) => text.includes('200'))])
  expect(begun).toHaveLength(most + 1)
  expect(begun.indexOf('/other')).toBeLessThan(most)
})

test('C43: requests that are slow to begin leave turns to others', async () => {
  let began = 0
  const { stranger } = await scene((_, response) => {
    began++
    const until = clock.now() + 4
    while (clock.now() < until);
    response.end('.')
  })
  const sockets = await Promise.all(Array.from({ length: 30 }, stranger))
  const all = sockets.map((socket) => answers(socket, (text) => text.includes('200')))
  let most = 0
  let last = began
  const look = () => {
    most = Math.max(most, began - last)
    last = began
    if (began < 30) setImmediate(look)
  }
  look()
  for (const socket of sockets) socket.write(get('/'))
  expect((await Promise.all(all)).every((said) => said.includes('200'))).toBe(true)
  expect(most).toBeLessThan(6)
})

test('C43: who reads late is answered all the same, in order, also where Node stops its connection meanwhile', async () => {
  const large = 'x'.repeat(3_000_000)
  let begun = 0
  const { stranger } = await scene((request, response) => {
    begun++
    response.end(`<${request.url}>${large}`)
  })
  const socket = await stranger()
  socket.pause()
  socket.write(get('/0') + get('/1'))
  await expect.poll(() => begun).toBe(2)
  // Each is a quarter of what is heard at once: Node stops in the midst of it.
  const padded = (path: string) => get(path).replace('Host', `Padding: ${'p'.repeat(1000)}\r\nHost`)
  socket.write(Array.from({ length: most - 2 }, (_, i) => padded(`/${i + 2}`)).join(''))
  await new Promise((resolve) => setTimeout(resolve, 100))
  // Node does not hear what is behind an answer that is not read.
  expect(begun).toBeLessThan(most)
  const order: string[] = []
  const all = new Promise<void>((resolve) => {
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      order.push(...(text.match(/<\/\d+>/g) ?? []))
      // Where the chunk ends within a name, the rest of it is still to come.
      text = /<[^>x]*$/.exec(text.slice(-8))?.[0] ?? ''
      if (order.length === most) resolve()
    })
  })
  socket.resume()
  await all
  expect(order).toEqual(Array.from({ length: most }, (_, i) => `</${i}>`))
})

test('C43: a large body comes through whole, piece by piece, and the next request behind it', async () => {
  const got: number[] = []
  const { stranger } = await scene(async (request, response) => {
    let size = 0
    for await (const chunk of request) size += (chunk as Buffer).length
    got.push(size)
    response.end('.')
  })
  const socket = await stranger()
  const done = answers(socket, (text) => count(text, 'HTTP/1.1 200') === 3)
  const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${3 * 1024 * 1024}\r\n\r\n`
  const body = 'b'.repeat(3 * 1024 * 1024)
  socket.write(get('/') + head + body + get('/'))
  await done
  expect(got).toEqual([0, body.length, 0])
})

test('C44: each response is told its end when its connection is destroyed, begun or waiting, and once', async () => {
  const ends: string[] = []
  let begun = 0
  const { stranger, connections } = await scene((_, response) => {
    const name = `${begun++}`
    response.once('close', () => ends.push(name))
  })
  const socket = await stranger()
  socket.write(get('/').repeat(8))
  await expect.poll(() => begun).toBe(8)
  socket.destroy()
  await expect.poll(() => ends.length).toBe(8)
  expect(new Set(ends).size).toBe(8)
  expect(connections.counts()).toEqual({ stranger: 0, client: 0, member: 0 })
})

test('C43: a connection to which Node does not listen as expected is closed, and the process lives', async () => {
  const refusals = new RefusalLog({ clock, logger: silentLogger })
  const none = { clock, refusals, nextTurn: setImmediate, came: () => {}, begin: () => {} }
  const socket = new Socket()
  new HttpRequests(none).watch(socket)
  expect(socket.destroyed).toBe(true)
  expect(refusals.counts()).toEqual([{ door: 'http', reason: 'unbounded', count: 1 }])
})

/** As the HTTP client of Java sends it. */
const H2C =
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n'

test.each([
  ['', undefined],
  [', over TLS', TLS],
])(
  'a request that asks for another protocol too is a plain request, with its body and the ones behind it%s',
  async (_, tls) => {
    const seen: string[] = []
    const { stranger, connections } = await scene((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += String(chunk)))
      request.on('end', () => {
        seen.push(`${request.method} ${request.url} ${request.headers.upgrade} ${body}`)
        response.end(`<${request.url}>`)
      })
    }, tls)
    const socket = await stranger()
    const first = answers(socket, (text) => text.includes('</second>'))
    socket.write(`POST /first HTTP/1.1\r\nHost: a\r\n${H2C}Content-Length: 10\r\n\r\n01234`)
    await expect.poll(() => connections.counts().stranger, { interval: 5 }).toBe(1)
    socket.write(`56789${get('/second')}`)
    // The third request follows the second answer, because a request behind an unanswered one ends the
    // connection.
    expect((await first).match(/<\/\w+>/g)).toEqual(['</first>', '</second>'])
    const third = answers(socket, (text) => text.includes('</third>'))
    socket.write(`GET /third HTTP/1.1\r\nHost: a\r\n${H2C}\r\n`)
    expect((await third).match(/<\/\w+>/g)).toEqual(['</third>'])
    expect(seen).toEqual([
      'POST /first undefined 0123456789',
      'GET /second undefined ',
      'GET /third undefined ',
    ])
    expect(connections.counts()).toEqual({ stranger: 1, client: 0, member: 0 })
    socket.destroy()
    await expect.poll(() => connections.counts().stranger, { interval: 5 }).toBe(0)
  },
)

test('such a request behind one that waits for its answer ends the connection: no answer is given twice or lost', async () => {
  const held: ServerResponse[] = []
  const { stranger, connections } = await scene((_, response) => void held.push(response))
  const rude = await stranger()
  const gone = new Promise((resolve) => rude.once('close', resolve))
  rude.resume()
  rude.write(`${get('/first')}GET /second HTTP/1.1\r\nHost: a\r\n${H2C}\r\n`)
  await gone
  expect(held.length).toBeLessThanOrEqual(1)
  await expect.poll(() => connections.counts().stranger, { interval: 5 }).toBe(0)
})
