// Test: frames that once ended a member, or that could cost a member far more than their sender. Three
// processes with mutual TLS get them on each path and from the address of a member, and an embedded store
// gets them too.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Store } from '@latchkey/client'
import { CAPS, encodeCommand, encodeHello, OP, pack } from '@latchkey/protocol'
import { ask } from '@latchkey/test-chaos/ask'
import { authority, type Pair } from '@latchkey/test-chaos/certificates'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { freePorts } from '@latchkey/test-chaos/ports'
import { until } from '@latchkey/test-chaos/until'
import { open } from 'latchkey'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'

/** [{toString: 1, valueOf: 1}], alone and where a message belongs. */
const NO_TEXT = Buffer.from('9182a8746f537472696e6701a776616c75654f6601', 'hex')
const NO_TEXT_LATER = Buffer.from('92019182a8746f537472696e6701a776616c75654f6601', 'hex')
const HELLO = encodeHello({
  cluster: 'latchkey',
  clusterId: undefined,
  token: undefined,
  least: 1,
  most: 1,
})

/** 16 MiB of empty lists, behind the version: 900 MB, were they ever in memory. */
function emptyLists(): Buffer {
  const frame = Buffer.alloc(CAPS.maxPayload - 16, 0x90)
  frame[0] = 0xdd
  frame.writeUInt32BE(frame.length - 5, 1)
  frame[5] = 1
  return frame
}

/** Commands with numbers that no record of the log has room for. */
const wide = (session: number, number: number, done: number) =>
  pack([1, [1, 1, session, number, done, encodeCommand([OP.keepAlive])]])

const FIRST = [NO_TEXT, NO_TEXT_LATER, Buffer.of(0x91, 0x80), Buffer.from([0xdd, 255, 255, 255, 255])]
const LATER = [
  NO_TEXT,
  NO_TEXT_LATER,
  emptyLists(),
  wide(2 ** 48, 1, 0),
  wide(1, 2 ** 48, 0),
  wide(1, 1, 2 ** 53 - 1),
  pack([1, [3, 1, null, null, 2 ** 52]]),
  pack([1, [7, 1, 'constructor', []]]),
]

type Dial = () => WebSocket

/** Says these frames one after the other; resolves when the connection is closed. */
function say(dial: Dial, frames: readonly Uint8Array[]): Promise<number> {
  return new Promise((resolve) => {
    const socket = dial()
    socket.on('error', () => {})
    socket.on('open', () => frames.forEach((frame) => socket.send(frame)))
    socket.on('close', resolve)
  })
}

async function attackClients(dial: Dial): Promise<void> {
  for (const frame of FIRST) expect(await say(dial, [frame])).toBe(1008)
  for (const frame of LATER) expect(await say(dial, [HELLO, frame])).toBe(1002)
}

async function stillServes(store: Store): Promise<void> {
  await store.put('after', 'the attack', { timeout: '30s' })
  expect(await store.get('after', { as: 'string', timeout: '30s' })).toBe('the attack')
}

/** 15 KB that once gathered memory until every member died, and 128 KB that blocked every member for 44 s. */
const RANGES = Array.from({ length: 1_500 }, () => ({ type: 'deleteRange', start: '0', end: '1' }) as const)
const FEW_RANGES = RANGES.slice(0, 100)
const MERGES = Array.from({ length: 10_000 }, () => ({ type: 'merge', key: 'm', value: 'x' }) as const)

/**
 * Each is refused by its budget, at the door or when it is applied; nothing is changed, and the store goes on
 * at once.
 */
async function refusesWhatIsTooDear(store: Store): Promise<void> {
  const rows = Array.from({ length: 500 }, (_, i) => ({
    key: `0${String(i).padStart(4_000, '0')}`,
    value: 'v',
  }))
  await store.putAll(rows, { timeout: '30s' })
  await store.put('m', new Uint8Array(900_000), { timeout: '30s' })
  const { revision } = await store.put('before', '', { timeout: '30s' })
  for (const steps of [RANGES, FEW_RANGES, MERGES])
    await expect(store.batch(steps, { timeout: '30s' })).rejects.toMatchObject({
      code: 'ERR_TOO_LARGE',
      outcome: 'not-applied',
      message: expect.stringContaining('Split it'),
    })
  expect((await store.put('behind', '', { timeout: '30s' })).revision).toBe(revision + 1)
  expect((await store.get('m', { timeout: '30s' }))?.length).toBe(900_000)
}

test('A13: an embedded store refuses the commands that once ended or blocked members', async () => {
  const store = await open({ id: 'a', memory: true })
  await store.ready()
  await refusesWhatIsTooDear(store)
  await store.close()
})

test('C28 C39: an embedded store with a port of its own', async () => {
  const [port] = (await freePorts(1)) as [number]
  const url = `ws://127.0.0.1:${port}`
  const store = await open({ id: 'a', memory: true, members: { a: url } })
  await store.ready()
  await attackClients(() => new WebSocket(`${url}/clients`))
  for (const frame of FIRST) await say(() => new WebSocket(`${url}/members`), [frame])
  await stillServes(store)
  await store.close()
})

// ---- three processes over mutual TLS

const ours = authority('ours')
const member = ours.issue('member')
let folder: string
let cluster: Cluster

async function flagsOf({ cert, key }: Pair): Promise<string[]> {
  const file = (name: string) => join(folder, name)
  const files = { 'ca.pem': ours.cert, 'cert.pem': cert, 'key.pem': key }
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(file(name), text)))
  return ['--tls-cert', file('cert.pem'), '--tls-key', file('key.pem'), '--tls-ca', file('ca.pem')]
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-hostile-'))
  cluster = await Cluster.start({ ca: ours.cert, flags: await flagsOf(member) })
})
afterAll(async () => {
  await cluster.destroy()
  await rm(folder, { recursive: true, force: true })
})

const dial = (url: string, shown: Partial<Pair> = {}) => new WebSocket(url, { ca: ours.cert, ...shown })

/** Every process lives, and no error escaped from a handler of a connection. */
async function allAreWell(): Promise<void> {
  for (const sidecar of cluster.members) {
    expect(sidecar.running, sidecar.output).toBe(true)
    const metrics = await ask(`${sidecar.http}/metrics`, { ca: ours.cert })
    expect(metrics?.body).not.toMatch(/^latchkey_connection_errors_total\{.*\} [1-9]/m)
  }
  const store = await connect(cluster.urls, { tls: { ca: ours.cert } })
  await stillServes(store)
  await store.close()
}

test('C27 C28 C39: three processes, at each door of each', async () => {
  for (const { url } of cluster.members) {
    await attackClients(() => dial(`${url}/clients`))
    for (const frame of FIRST) {
      await say(() => dial(`${url}/members`), [frame])
      await say(() => dial(`${url}/members`, member), [frame])
    }
  }
  await allAreWell()
})

test('A13: three processes refuse the commands that once ended or blocked members', async () => {
  const store = await connect(cluster.urls, { tls: { ca: ours.cert } })
  await refusesWhatIsTooDear(store)
  await store.close()
  await allAreWell()
})

test('C28: whoever sits at the address of a member that is down ends nobody who dials it', async () => {
  const down = cluster.get('c')
  expect(await down.stop()).toBe(0)
  let dialled = 0
  const impostor = await listenAt(down.options.port, (socket) => {
    dialled++
    socket.on('error', () => {})
    socket.send(
      dialled % 2 === 0 ? NO_TEXT : Buffer.from('93010182a8746f537472696e6701a776616c75654f6601', 'hex'),
    )
  })
  await until('both others have dialled it', () => dialled >= 8)
  await new Promise((resolve) => {
    impostor.close(resolve)
    impostor.closeAllConnections()
  })
  down.start()
  await down.ready()
  await allAreWell()
})

function listenAt(port: number, came: (socket: WebSocket) => void): Promise<Server> {
  const server = createServer({ ...member, ca: ours.cert })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', came)
  server.on('close', () => sockets.clients.forEach((socket) => socket.terminate()))
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)))
}
