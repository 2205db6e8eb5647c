// Test: a client that gets addresses of two clusters refuses to connect, over real sockets of the loopback
// network.

import { type AddressInfo, createServer } from 'node:net'
import { uptime } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Clock, type Logger, silentLogger, systemClock } from '@latchkey/base'
import type { LatchkeyError, LeaderReply } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { type ClientEnvironment, connect, connectIn } from './connect.js'
import { ASK_MS, OneCluster } from './wrong-cluster-check.js'
import { socketDial } from './websocket-link.js'
import { checkConnect, type ConnectOptions } from './connect-options.js'
import type { Store } from './store/store-interface.js'
import { socketMembers } from './testing/fake-member-on-socket.js'

const { member, opened } = socketMembers()
const join = async (urls: readonly string[], options: ConnectOptions = {}): Promise<Store> => {
  const made = await connect(urls, { logger: false, ...options })
  opened(made)
  return made
}
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as LatchkeyError,
  )

/** Lines of warnings and errors. */
function recorder(): Logger & { readonly lines: string[] } {
  const lines: string[] = []
  const say: Logger['warn'] = (message, fields) => void lines.push(`${message} ${JSON.stringify(fields)}`)
  return { ...silentLogger, warn: say, error: say, lines }
}

const portOf = (url: string) => Number(new URL(url).port)

/** An address that nobody listens at. */
async function deadAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `ws://127.0.0.1:${port}`
}

test('C30: of two clusters none is picked: the error names who belongs to which, and nothing was handed to the wrong one', async () => {
  const y = await member({ clusterId: 'y' })
  const b = await member({ clusterId: 'x', others: [y.url] })
  const c = await member({ clusterId: 'x', others: [y.url, b.url] })
  const given = [y.url, b.url, c.url]
  let refused = 0
  for (let i = 0; i < 60; i++) {
    const store = await connect(given, { logger: false }).catch((error: LatchkeyError) => error)
    if ('code' in store) {
      refused++
      expect(store.code).toBe('ERR_WRONG_CLUSTER')
      expect(store.clusters?.['y']).toEqual([y.url])
      expect(store.clusters?.['x']?.length).toBeGreaterThan(0)
      expect(store.message).toContain(y.url)
    } else {
      await store.put('k', 'v')
      await store.close()
    }
  }
  // It was met first in about a third of them.
  expect(refused).toBeGreaterThan(3)
  expect(refused).toBeLessThan(60)
  expect(y.stats.messages).toBe(0)
  expect(y.machine.data.size).toBe(0)
  await expect.poll(() => [y, b, c].map(({ sockets }) => sockets.size)).toEqual([0, 0, 0])
})

test('C30: where all that were given are members of the first, nobody is asked', async () => {
  const [a, b] = [await member(), await member()]
  const c = await member({ others: [a.url, b.url] })
  for (const one of [a, b]) await one.close()
  const again = [
    await member({ port: portOf(a.url), others: [b.url, c.url] }),
    await member({ port: portOf(b.url), others: [a.url, c.url] }),
  ]
  const store = await join([a.url, b.url, `${c.url}/`])
  await store.put('k', 'v')
  const hellos = [...again, c].map((one) => one.hellos.length)
  expect(hellos.reduce((sum, one) => sum + one, 0)).toBe(1)
})

test('C30: a dead address delays nobody, and another spelling of an address of the same cluster is fine', async () => {
  const [a, dead] = [await member(), await deadAddress()]
  const settings = checkConnect([a.url, dead, a.url.replace('127.0.0.1', 'localhost')], { logger: false })
  const real = systemClock(uptime)
  // The client would wait an hour for an answer of the dead address.
  const after: Clock['after'] = (ms, run, options) => real.after(ms === ASK_MS ? 3_600_000 : ms, run, options)
  const clock = { ...real, after }
  const dial: ClientEnvironment['dial'] = (url, identity, credentials) =>
    socketDial(url, { clock, cluster: settings.cluster, identity, ...credentials })
  const store = await connectIn({ clock, dial }, settings)
  opened(store)
  await store.put('k', 'v')
})

test('C30: a silent address is not waited for; where it turns out to be of another cluster the store ends, and says so', async () => {
  const a = await member({ clusterId: 'x' })
  const sockets: { destroy(): void }[] = []
  const silent = createServer((socket) => void sockets.push(socket))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const logger = recorder()
  const store = await join([a.url, url], { logger, clusterId: undefined })
  await store.put('k', 'v')
  expect(logger.lines).toEqual([])
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => silent.close(resolve))
  const y = await member({ clusterId: 'y', port: portOf(url) })
  let error: LatchkeyError | undefined
  for (let i = 0; i < 200 && error?.code !== 'ERR_WRONG_CLUSTER'; i++) {
    error = await failure(store.put('k', 'w', { timeout: 500 }))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(error).toMatchObject({ code: 'ERR_WRONG_CLUSTER', clusters: { x: [a.url], y: [url] } })
  expect(logger.lines.join('\n')).toContain('different clusters')
  expect(y.stats.messages).toBe(0)
})

test('C30: an address that is met later and belongs elsewhere is not used, and a warning says so once', async () => {
  const y = await member({ clusterId: 'y' })
  const b = await member({ clusterId: 'x', others: [y.url] })
  const logger = recorder()
  const store = await join([b.url], { logger })
  await store.put('k', 'v')
  await b.close()
  expect(await failure(store.put('k', 'w', { timeout: 3_000 }))).toMatchObject({
    code: expect.stringMatching(/^ERR_(OUTCOME_UNKNOWN|NO_LEADER)$/),
  })
  expect(y.stats.messages).toBe(0)
  expect(logger.lines.filter((line) => line.includes(y.url))).toHaveLength(1)
  expect(logger.lines[0]).toContain('another cluster')
  await member({ clusterId: 'x', port: portOf(b.url), others: [y.url] })
  expect(await store.get('k', { as: 'string' })).toBeUndefined()
})

test('C13: what finds out a silent member is there on the links that are handed on', async () => {
  const a = await member()
  const socket = (url: string, identity: { clusterId: string | undefined }) =>
    socketDial(url, {
      clock: systemClock(uptime),
      cluster: 'latchkey',
      token: undefined,
      tls: undefined,
      identity,
    })
  const ports = { clock: systemClock(uptime), logger: silentLogger, seeds: [a.url], expected: undefined }
  const members = new OneCluster({ ...ports, dial: socket })
  const events = { reply: () => {}, closed: () => {}, memberRemoved: () => {} }
  const link = await members.dialTo(a.url)(events, new AbortController().signal)
  const before = link.received?.() ?? 0
  expect(before).toBeGreaterThan(0)
  link.probe?.()
  await expect.poll(() => link.received?.()).toBeGreaterThan(before)
  link.close()
  members.close()
})

test('C30: clusterId: an address of another cluster is passed over with a warning, wherever it stands in the list', async () => {
  const [x, y] = [await member({ clusterId: 'x' }), await member({ clusterId: 'y' })]
  for (let i = 0; i < 10; i++) {
    const logger = recorder()
    const store = await join(i % 2 === 0 ? [y.url, x.url] : [x.url, y.url], { clusterId: 'x', logger })
    await store.put('k', 'v')
    expect(logger.lines.every((line) => line.includes('another cluster'))).toBe(true)
  }
  expect(y.stats.messages).toBe(0)
  // Where nobody else answers, that is what it ends with.
  const dead = await deadAddress()
  expect(
    await failure(connect([y.url, dead], { clusterId: 'x', logger: false, timeout: 3_000 })),
  ).toMatchObject({ code: 'ERR_WRONG_CLUSTER', clusters: { y: [y.url] } })
})

test('C30: clusterId: no other cluster is used', async () => {
  const [x, y] = [await member({ clusterId: 'x' }), await member({ clusterId: 'y' })]
  const store = await join([x.url], { clusterId: 'x' })
  await store.put('k', 'v')
  expect(await failure(connect([y.url], { clusterId: 'x', logger: false }))).toMatchObject({
    code: 'ERR_WRONG_CLUSTER',
    message: expect.stringContaining('of cluster y, not of x'),
    clusters: { x: [], y: [y.url] },
  })
  expect(y.stats.messages).toBe(0)
  await expect.poll(() => y.sockets.size).toBe(0)
  await expect(connect([x.url], { clusterId: '' })).rejects.toThrow(TypeError)
  await expect(connect([x.url], { logger: {} as Logger })).rejects.toThrow(TypeError)
})

/**
 * Lets a store ask the silent address `ws://b` for its cluster, and drops the store. Returns an object that the
 * dial of `ws://b` keeps in memory.
 */
async function askedSilentAddress(): Promise<WeakRef<object>> {
  const kept = {}
  const reply = { kind: 'leader', members: [['a', 'ws://a']] } as unknown as LeaderReply
  await new Promise<void>((isAsked) => {
    const cluster = new OneCluster({
      clock: { ...systemClock(uptime), after: () => ({ cancel: () => {} }) },
      logger: silentLogger,
      seeds: ['ws://a', 'ws://b'],
      expected: undefined,
      dial: (url, identity) => async (events, signal) => {
        if (url === 'ws://b') {
          signal.addEventListener('abort', () => void kept)
          isAsked()
          return new Promise(() => {})
        }
        identity.clusterId = 'x'
        events.reply(reply)
        return { send: () => {}, close: () => {} }
      },
    })
    const events = { reply: () => {}, closed: () => {}, memberRemoved: () => {} }
    void cluster.dialTo('ws://a')(events, new AbortController().signal)
  })
  return new WeakRef(kept)
}

// Without it: a simulated process dies while it dials, and its whole simulated world stays in memory.
test('a question whose dial never ends keeps nothing in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const kept: WeakRef<object>[] = []
  for (let i = 0; i < 20; i++) kept.push(await askedSilentAddress())
  for (let i = 0; i < 20 && kept.some((one) => one.deref() !== undefined); i++) {
    await new Promise((resolve) => void setImmediate(resolve))
    collect()
  }
  // The last object may still be on the stack.
  expect(kept.filter((one) => one.deref() !== undefined).length).toBeLessThan(5)
})
