// Driver: strangers on the ports of a real cluster: sockets that are silent, slow or half open, and readers
// that never read, while a client works. It tells what the client met, who led, and how much memory each
// member took.

import { readFile } from 'node:fs/promises'
import { connect as dial, type Socket } from 'node:net'
import { connect, type Store } from '@latchkey/client'
import { encodeHello, encodeRequests, READ } from '@latchkey/protocol'
import type { Cluster, Sidecar } from './cluster.js'
import { pause } from './until.js'

export interface StrangersOptions {
  /** Of strangers, over all members; each is replaced soon after a member has closed it. */
  readonly sockets: number
  /** Clients that ask for 1 MiB again and again and read nothing, over all members. */
  readonly readers: number
  readonly seconds: number
}

export interface StrangersReport {
  readonly calls: number
  readonly failed: readonly string[]
  readonly slowestMillis: number
  readonly medianMillis: number
  /** How often a socket of a stranger, or of a reader, was closed by a member. */
  readonly closed: number
  /** How many strangers were connected when most were. */
  readonly mostOpen: number
  readonly leaderChanged: boolean
  /** Of each member, in MiB: resident before, and the most while it was under attack. */
  readonly memory: readonly { readonly id: string; readonly before: number; readonly most: number }[]
}

const REDIAL_MS = 500
const DRIP_MS = 400
const BIG = 1024 * 1024
const READS_AT_ONCE = 50

const upgrade = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`
/**
 * What each kind of stranger says first: nothing, half a head that goes on slowly, a WebSocket that never
 * greets, a refused one.
 */
const FIRST_WORDS = [
  '',
  'GET / HTTP/1.1\r\nX: ',
  upgrade('/clients'),
  upgrade('/members'),
  upgrade('/nowhere'),
]
const SLOW = 1

class Strangers {
  readonly #ports: readonly number[]
  readonly #open = new Set<Socket>()
  readonly #drips: NodeJS.Timeout
  #stopped = false
  closed = 0
  most = 0

  constructor(ports: readonly number[]) {
    this.#ports = ports
    this.#drips = setInterval(() => this.#drip(), DRIP_MS)
  }

  dial(i: number): void {
    if (this.#stopped) return
    const kind = i % FIRST_WORDS.length
    const port = this.#ports[i % this.#ports.length] as number
    // Nobody's end is answered from here: the other side has to let go by itself.
    const socket: Socket & { slow?: boolean } = dial({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.slow = kind === SLOW
    socket.on('error', () => {})
    socket.on('connect', () => {
      this.#open.add(socket)
      this.most = Math.max(this.most, this.#open.size)
      const words = FIRST_WORDS[kind] as string
      if (words !== '') socket.write(words)
    })
    const gone = () => {
      if (this.#open.delete(socket)) this.closed++
      socket.destroy()
      setTimeout(() => this.dial(i), REDIAL_MS)
    }
    socket.once('close', gone)
    // Its end is all that is seen of a socket that was destroyed there.
    socket.once('end', () => socket.destroy())
    socket.on('data', () => {})
  }

  #drip(): void {
    for (const socket of this.#open as Set<Socket & { slow?: boolean }>) if (socket.slow) socket.write('x')
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#drips)
    for (const socket of this.#open) socket.destroy()
  }
}

/** A frame as a client masks it, with a mask of zeros. */
function frame(payload: Uint8Array): Buffer {
  const head = Buffer.from([0x82, 0x80 | 126, payload.length >> 8, payload.length & 0xff, 0, 0, 0, 0])
  return Buffer.concat([head, payload])
}

/** Asks for much, reads nothing, and comes again when it was closed. */
class Reader {
  readonly #port: number
  #socket: Socket | undefined
  #stopped = false
  closed = 0

  constructor(port: number) {
    this.#port = port
    this.#dial()
  }

  #dial(): void {
    if (this.#stopped) return
    const socket = dial({ port: this.#port, host: '127.0.0.1' })
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('connect', () => socket.write(upgrade('/clients')))
    socket.once('data', () => {
      socket.write(
        frame(
          encodeHello({ cluster: 'latchkey', clusterId: undefined, token: undefined, least: 1, most: 1 }),
        ),
      )
      socket.once('data', () => this.#ask(socket))
    })
    // A paused socket is not told of its end: after a while it is dialled anew.
    const look = setTimeout(() => socket.destroy(), 4_000)
    socket.on('close', () => {
      clearTimeout(look)
      this.closed++
      setTimeout(() => this.#dial(), REDIAL_MS)
    })
  }

  #ask(socket: Socket): void {
    socket.pause()
    const key = Buffer.from('big')
    const reads = Array.from({ length: READS_AT_ONCE }, (_, i) => {
      return { kind: 'read', id: i + 1, stale: true, read: [READ.get, key] } as const
    })
    for (const bytes of encodeRequests(reads)) socket.write(frame(bytes))
  }

  stop(): void {
    this.#stopped = true
    this.#socket?.destroy()
  }
}

export async function strangers(cluster: Cluster, options: StrangersOptions): Promise<StrangersReport> {
  const store = await connect(cluster.urls)
  await store.put('big', new Uint8Array(BIG))
  const [leader, before] = await stand(cluster)
  const memory = new Map<string, { before: number; most: number }>()
  for (const member of cluster.members) {
    const now = await residentMiB(member)
    memory.set(member.id, { before: now, most: now })
  }
  const ports = cluster.members.map((member) => member.options.port)
  const crowd = new Strangers(ports)
  const readers: Reader[] = []
  const leave = () => {
    crowd.stop()
    for (const reader of readers) reader.stop()
  }
  const until = performance.now() + options.seconds * 1000
  try {
    const load = work(store, until)
    const watch = watchMemory(cluster, memory, until)
    for (let i = 0; i < options.sockets; i++) {
      crowd.dial(i)
      if (i % 100 === 99) await pause(20)
    }
    for (let i = 0; i < options.readers; i++) readers.push(new Reader(ports[i % ports.length] as number))
    const [met] = await Promise.all([load, watch])
    const closed = crowd.closed + readers.reduce((sum, reader) => sum + reader.closed, 0)
    leave()
    const [leaderNow, after] = await stand(cluster)
    return {
      ...met,
      closed,
      mostOpen: crowd.most,
      leaderChanged: leader !== leaderNow || before !== after,
      memory: [...memory].map(([id, figures]) => ({ id, ...figures })),
    }
  } finally {
    leave()
    await store.close()
  }
}

async function stand(cluster: Cluster): Promise<[leader: string, term: number]> {
  const leader = await cluster.leader()
  const status = await leader.status()
  return [leader.id, status?.term ?? 0]
}

/** A client as others are: it writes, reads and locks, one after the other, in four places at once. */
async function work(store: Store, until: number) {
  const failed: string[] = []
  const times: number[] = []
  const timed = async (what: string, call: () => Promise<unknown>) => {
    const began = performance.now()
    await call().catch((error: unknown) => void failed.push(`${what}: ${String(error)}`))
    times.push(performance.now() - began)
  }
  const caller = async (n: number) => {
    for (let i = 0; performance.now() < until; i++) {
      await timed('put', () => store.put(`work/${n}`, String(i)))
      await timed('get', () => store.get(`work/${n}`))
      await timed('lock', () => store.locks.withLock(`work/${n}`, { lease: '10s' }, async () => {}))
      await pause(5)
    }
  }
  await Promise.all([0, 1, 2, 3].map(caller))
  times.sort((a, b) => a - b)
  return {
    calls: times.length,
    failed,
    slowestMillis: Math.round(times[times.length - 1] ?? 0),
    medianMillis: Math.round((times[Math.floor(times.length / 2)] ?? 0) * 10) / 10,
  }
}

async function watchMemory(
  cluster: Cluster,
  memory: Map<string, { before: number; most: number }>,
  until: number,
): Promise<void> {
  while (performance.now() < until) {
    for (const member of cluster.members) {
      const figures = memory.get(member.id)
      if (figures !== undefined) figures.most = Math.max(figures.most, await residentMiB(member))
    }
    await pause(200)
  }
}

async function residentMiB({ pid }: Sidecar): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}
