// Driver: starts an etcd cluster of three servers for a test, on free ports of loopback and with their own
// data.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@latchkey/base'
import { Etcd3 } from 'etcd3'

const clock = systemClock(uptime)
export const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))
const now = (): number => clock.now()

/** In ms. The servers may need this long to start, or to elect a leader. */
const START_PATIENCE = 60_000

interface TestServers {
  readonly urls: readonly string[]
  /** A client of all servers. The client ends when the servers end. */
  readonly client: Etcd3
  /** Resolves to the number of the server that leads. */
  leader(): Promise<number>
  /** Kills a server with SIGKILL. */
  kill(server: number): Promise<void>
  start(server: number): Promise<void>
  /** Stops the process with SIGSTOP, until `go` is called. */
  stall(server: number): void
  go(server: number): void
  /** Kills the servers and deletes their data. */
  [Symbol.asyncDispose](): Promise<void>
}

const SERVERS = [0, 1, 2]

export async function startServers(): Promise<TestServers> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-etcd-'))
  const ports = await freePorts(2 * SERVERS.length)
  const url = (port: number | undefined) => `http://127.0.0.1:${port}`
  const urls = SERVERS.map((n) => url(ports[n]))
  const peers = SERVERS.map((n) => url(ports[SERVERS.length + n]))
  const children: (ChildProcess | undefined)[] = []
  const begin = (n: number) => {
    const [own, peer] = [urls[n] as string, peers[n] as string]
    const cluster = SERVERS.map((one) => `m${one}=${peers[one]}`).join(',')
    const args = ['--name', `m${n}`, '--data-dir', join(folder, String(n)), '--initial-cluster', cluster]
    args.push('--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer)
    args.push('--listen-client-urls', own, '--advertise-client-urls', own)
    children[n] = spawn('etcd', args, { stdio: 'ignore' })
  }
  const kill = async (n: number) => {
    const dying = children[n]
    if (dying === undefined || dying.exitCode !== null || dying.signalCode !== null) return
    const gone = new Promise((resolve) => dying.once('exit', resolve))
    dying.kill('SIGKILL')
    await gone
  }
  for (const n of SERVERS) begin(n)
  for (const n of SERVERS) await isHealthy(urls[n] as string)
  const client = clientTo(urls)
  return {
    urls,
    client,
    kill,
    leader: () => leaderOf(urls),
    start: async (n) => {
      begin(n)
      await isHealthy(urls[n] as string)
    },
    stall: (n) => children[n]?.kill('SIGSTOP'),
    go: (n) => children[n]?.kill('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      client.close()
      for (const n of SERVERS) await kill(n)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export const clientTo = (urls: readonly string[]): Etcd3 => new Etcd3({ hosts: [...urls] })

async function isHealthy(url: string): Promise<void> {
  const over = now() + START_PATIENCE
  for (;;) {
    const health = await ask(`${url}/health`)
    if (health.health === 'true') return
    if (now() > over) throw new Error(`${url} did not serve within ${START_PATIENCE} ms`)
    await pause(100)
  }
}

async function leaderOf(urls: readonly string[]): Promise<number> {
  const over = now() + START_PATIENCE
  for (;;) {
    for (const [n, url] of urls.entries()) {
      const status = await ask(`${url}/v3/maintenance/status`, '{}')
      const header = status.header as { member_id?: string } | undefined
      if (header?.member_id !== undefined && header.member_id === status.leader) return n
    }
    if (now() > over) throw new Error('nobody leads')
    await pause(100)
  }
}

async function ask(url: string, body?: string): Promise<Record<string, unknown>> {
  try {
    const post = body === undefined ? {} : { method: 'POST', body }
    const answer = await fetch(url, { ...post, signal: AbortSignal.timeout(1_000) })
    return (await answer.json()) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Finds free ports. All ports are opened at the same time, so that no two are the same. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve, reject) => {
          const server = createServer()
          server.once('error', reject)
          server.listen(0, '127.0.0.1', () => resolve(server))
        }),
    ),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
