// Driver: starts Redis servers for a test, on free ports of loopback and with their own data.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@latchkey/base'
import { Redis } from 'ioredis'

const clock = systemClock(uptime)
export const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))
const now = (): number => clock.now()

/** In ms. A server may need this long to start. */
const START_PATIENCE = 30_000

export interface TestServer {
  readonly port: number
  readonly url: string
  /** A client of the server. The client ends when the server ends. */
  readonly client: Redis
  /** Kills the server with SIGKILL. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops the process with SIGSTOP, until `go` is called. */
  stall(): void
  go(): void
  /** Kills the server and deletes its data. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a single sentinel. The sentinel reports another master as soon as it loses the present master. */
export async function startSentinel(master: TestServer): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-sentinel-'))
  const file = join(folder, 'sentinel.conf')
  await writeFile(
    file,
    `sentinel monitor ${MASTER} 127.0.0.1 ${master.port} 1
sentinel down-after-milliseconds ${MASTER} 1500
sentinel failover-timeout ${MASTER} 3000
`,
  )
  return serverOf(folder, (port) => [file, '--sentinel', '--port', String(port), '--bind', '127.0.0.1'])
}

/** The name of the master at the sentinel. */
export const MASTER = 'locks'

/** With these options, the server writes each change to its disk before it answers. */
export const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always']

export async function startServer(settings: readonly string[] = DURABLE): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-redis-'))
  const fixed = ['--bind', '127.0.0.1', '--dir', folder, '--save', '']
  return serverOf(folder, (port) => ['--port', String(port), ...fixed, ...settings])
}

async function serverOf(folder: string, args: (port: number) => string[]): Promise<TestServer> {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const client = clientTo(url)
  let child: ChildProcess | undefined
  const start = async () => {
    child = spawn('redis-server', args(port), { stdio: 'ignore' })
    const failed = new Promise<never>((_, reject) => child?.once('error', reject))
    await Promise.race([answers(client), failed])
  }
  const kill = async () => {
    const dying = child
    if (dying === undefined || dying.exitCode !== null || dying.signalCode !== null) return
    const gone = new Promise((resolve) => dying.once('exit', resolve))
    dying.kill('SIGKILL')
    await gone
  }
  await start()
  return {
    port,
    url,
    client,
    kill,
    start,
    stall: () => child?.kill('SIGSTOP'),
    go: () => child?.kill('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      client.disconnect()
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Makes a client that survives the end of its server, because the tests end servers. */
function clientTo(url: string): Redis {
  const client = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null })
  client.on('error', () => {})
  return client
}

async function answers(client: Redis): Promise<void> {
  const over = now() + START_PATIENCE
  for (;;) {
    const reply = await Promise.race([client.ping().catch(() => ''), pause(500).then(() => '')])
    if (reply === 'PONG') return
    if (now() > over) throw new Error(`Redis did not start within ${START_PATIENCE} ms`)
    await pause(20)
  }
}

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
