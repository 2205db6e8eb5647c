// Test: connect() works over real sockets of the loopback network.

import { createServer } from 'node:net'
import { uptime } from 'node:os'
import { seededRandom, systemClock } from '@latchkey/base'
import { type As, LatchkeyError, MOST_IN_FRAME, READ, errorAnswer } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { connect, connectIn } from './connect.js'
import { checkConnect, type ConnectOptions } from './connect-options.js'
import { socketDial } from './websocket-link.js'
import { ClientStore } from './store/create-store.js'
import type { Store } from './store/store-interface.js'
import { codeOf, follow, scene } from './testing/stores-on-fake-cluster.js'
import { socketMembers } from './testing/fake-member-on-socket.js'

const { member, opened } = socketMembers()
const join = async <S extends As = 'bytes'>(
  urls: readonly string[],
  options?: ConnectOptions<S>,
): Promise<Store<S>> => {
  const made = await connect(urls, options)
  opened(made)
  return made
}
const failure = async (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as LatchkeyError,
  )

test('resolves at the first handshake, and calls work', async () => {
  const { url, machine, hellos } = await member()
  const store = await join([url], { token: 'secret', as: 'string' })
  expect(await store.put('k', 'v')).toEqual({ revision: 1 })
  expect(await store.get('k')).toBe('v')
  expect(await store.get('absent')).toBe(undefined)
  expect(machine.data.get('k')).toBe('v')
  expect(hellos).toEqual([{ cluster: 'latchkey', clusterId: undefined, token: 'secret', least: 1, most: 1 }])
  expect((await failure(store.members.add('d', 'ws://d')))?.code).toBe('ERR_FORBIDDEN')
})

test('ERR_UNAUTHORIZED and ERR_WRONG_CLUSTER at once, with what the member said', async () => {
  for (const code of ['ERR_UNAUTHORIZED', 'ERR_WRONG_CLUSTER'] as const) {
    const { url } = await member({ welcome: () => ({ ok: false, answer: errorAnswer(code, 'go away') }) })
    const started = performance.now()
    const error = await failure(connect(url, { timeout: '50s' }))
    expect(error).toBeInstanceOf(LatchkeyError)
    expect(error).toMatchObject({ code, message: 'go away', outcome: 'not-applied' })
    // Not at the end of its timeout.
    expect(performance.now() - started).toBeLessThan(30_000)
  }
})

test('nobody there within the timeout: ERR_NO_LEADER, with the reason; a signal: ERR_ABORTED', async () => {
  const error = await failure(connect(['ws://127.0.0.1:1'], { timeout: 2_500 }))
  expect(error?.code).toBe('ERR_NO_LEADER')
  expect(String(error?.cause)).toContain('ECONNREFUSED')
  const reason = new Error('enough')
  const aborted = await failure(connect(['ws://127.0.0.1:1'], { signal: AbortSignal.abort(reason) }))
  expect(aborted).toMatchObject({ code: 'ERR_ABORTED', cause: reason })
  const stop = new AbortController()
  const later = failure(connect(['ws://127.0.0.1:1'], { signal: stop.signal }))
  setTimeout(() => stop.abort(reason), 20)
  expect(await later).toMatchObject({ code: 'ERR_ABORTED', cause: reason })
})

test('a connect that has failed dials nobody any more, and leaves no timer', async () => {
  const { world, cluster } = scene('failed', ['ws://a'])
  const failed = async (reason: string, options: ConnectOptions) => {
    const made = follow(
      connectIn(
        { clock: world.clock(), dial: (url) => cluster.dialTo(url) },
        checkConnect('ws://a', { logger: false, tracing: false, ...options }),
      ),
    )
    await world.run(1_000)
    expect(codeOf(made)).toBe(reason)
    const { dials } = cluster
    await world.run(60_000)
    expect([cluster.dials, cluster.links.size, world.pending], reason).toEqual([dials, 0, 0])
  }
  cluster.down.add('ws://a')
  await failed('ERR_NO_LEADER', { timeout: 900 })
  const stop = new AbortController()
  setImmediate(() => stop.abort())
  await failed('ERR_ABORTED', { signal: stop.signal })
  cluster.refusal = new LatchkeyError('ERR_UNAUTHORIZED')
  await failed('ERR_UNAUTHORIZED', {})
})

test('a port that is no member: not a handshake, and not a hang', async () => {
  const server = createServer((socket) => socket.resume().end('HTTP/1.1 404 Not Found\r\n\r\n'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened({ close: () => new Promise((resolve) => server.close(resolve)) })
  const { port } = server.address() as { port: number }
  const error = await failure(connect([`ws://127.0.0.1:${port}`], { timeout: 300 }))
  expect(error?.code).toBe('ERR_NO_LEADER')
})

test('a server that sends a value which cannot be made a text: refused, first or later, and the process lives', async () => {
  const hostile = Buffer.from('9182a8746f537472696e6701a776616c75654f6601', 'hex')
  const first = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await new Promise((resolve) => first.once('listening', resolve))
  opened({ close: () => new Promise((resolve) => first.close(resolve)) })
  first.on('connection', (socket) => socket.send(hostile))
  const { port } = first.address() as { port: number }
  expect(await failure(connect([`ws://127.0.0.1:${port}`], { timeout: 3_000 }))).toMatchObject({
    code: 'ERR_PROTOCOL',
    message: expect.stringContaining('a map'),
  })

  const one = await member()
  const store = await connect([one.url])
  opened(store)
  for (const socket of one.sockets) socket.send(hostile)
  await store.put('a', '1')
  expect(await store.get('a', { as: 'string' })).toBe('1')
})

test('C26: who listens to a link throws, at a word and again at its end: the link is over, and the process lives', async () => {
  const one = await member()
  const real = systemClock(uptime)
  const told: string[] = []
  const options = { clock: real, cluster: 'latchkey', token: undefined, tls: undefined }
  const events = {
    reply: () => {
      told.push('reply')
      throw new Error('no word like that')
    },
    closed: (reason: Error) => {
      told.push(reason.message)
      throw new Error('no end like that')
    },
    memberRemoved: () => {},
  }
  const dial = socketDial(one.url, { ...options, identity: { clusterId: undefined } })
  const link = await dial(events, new AbortController().signal)
  link.send({ kind: 'read', id: 1, stale: true, read: [READ.revision] })
  await expect.poll(() => one.sockets.size).toBe(0)
  expect(told).toEqual(['reply', expect.stringContaining('no word like that')])
})

test.each([
  [undefined, 'urls'],
  [[], 'urls'],
  [['http://127.0.0.1:1'], 'urls[0]'],
  [['ws://127.0.0.1:1', 5], 'urls[1]'],
])('bad addresses %j are a TypeError that names %s', async (urls, name) => {
  const error = await failure(connect(urls as string[]))
  expect(error).toBeInstanceOf(TypeError)
  expect(error?.message).toContain(name)
})

test.each([
  [{ token: 5 }, 'token'],
  [{ cluster: '' }, 'cluster'],
  [{ timeout: Number.POSITIVE_INFINITY }, 'timeout'],
  [{ as: 'xml' }, 'as'],
  [{ tls: { ca: 5 } }, 'tls.ca'],
  [{ drift: 1 }, 'drift'],
  [{ sessionLife: '1ms' }, 'sessionLife'],
  [{ signal: 1 }, 'signal'],
  [{ tokens: 'x' }, 'tokens'],
])('bad options %j are a TypeError that names %s', async (options, name) => {
  const error = await failure(connect(['ws://127.0.0.1:1'], options as object))
  expect(error).toBeInstanceOf(TypeError)
  expect(error?.message).toContain(name)
})

test('the requests of one turn are sent in frames of at most MOST_IN_FRAME requests', async () => {
  const { url, stats } = await member()
  const store = await join([url])
  await store.put('k', 'v')
  const sent = async (requests: number) => {
    const { frames, messages } = { ...stats }
    await Promise.all(Array.from({ length: requests }, (_, at) => store.put(`k${at}`, 'v')))
    return [stats.frames - frames, stats.messages - messages]
  }
  expect(await sent(MOST_IN_FRAME)).toEqual([1, MOST_IN_FRAME])
  expect(await sent(3 * MOST_IN_FRAME + 1)).toEqual([4, 3 * MOST_IN_FRAME + 1])
})

test('another member goes on when the first one dies; the cluster id that was met is told there', async () => {
  const a = await member()
  const store = await join([a.url], { as: 'string' })
  await store.put('k', 'v')
  const b = await member()
  b.machine.data.set('k', 'from b')
  const other = await join([b.url, a.url], { as: 'string' })
  await other.get('k')
  await a.close()
  expect(await other.get('k')).toBe('from b')
  expect((await failure(store.get('k', { timeout: 300 })))?.code).toBe('ERR_TIMEOUT')
})

test('C8: a peer that vanished without a word is found by its silence', async () => {
  const { url, freeze } = await member()
  const real = systemClock(uptime)
  // The pulse of this one beats twenty times as fast.
  const clock = { ...real, after: (ms: number, run: () => void) => real.after(ms / 20, run) }
  const socketOptions = {
    clock,
    cluster: 'latchkey',
    token: undefined,
    tls: undefined,
    identity: { clusterId: undefined },
  }
  const dialTo = (to: string) => socketDial(to, socketOptions)
  const store = new ClientStore({
    route: { seeds: [url], dialTo },
    clock: real,
    random: seededRandom(1),
    newId: () => 'id',
  })
  opened(store)
  await store.put('k', 'v')
  freeze()
  const started = performance.now()
  // Found, left, and answered by the same member on another socket; the machine had not seen the first
  // attempt.
  expect(await store.put('k', 'w', { timeout: '50s' })).toEqual({ revision: 2 })
  expect(performance.now() - started).toBeLessThan(30_000)
})

test('close() says what was asked before it, and leaves no socket', async () => {
  const { url, sockets, machine } = await member()
  const store = await connect([url])
  await store.put('k', 'v')
  expect(machine.sessions.size).toBe(1)
  const last = follow(store.put('k', 'w'))
  await store.close()
  await expect.poll(() => [sockets.size, machine.sessions.size]).toEqual([0, 0])
  expect(codeOf(last)).toBe('ERR_CLOSED')
})
