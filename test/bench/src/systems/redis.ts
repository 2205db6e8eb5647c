// Driver: one Redis server with its log synced at every command, and ioredis with its automatic pipelines.

import { randomUUID } from 'node:crypto'
import { freePorts } from '@latchkey/test-chaos/ports'
import type { Redis } from 'ioredis'
import { findProgram, Servers } from './servers.js'
import type { System, SystemClient } from './system.js'

const RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`

interface WithRelease {
  releaseLock(key: string, id: string): Promise<number>
}

export async function redis(): Promise<System | string> {
  const found = await redisServers('redis', 1)
  if (typeof found === 'string') return found
  const { servers, ports, open } = found
  return {
    name: 'Redis',
    setting:
      'one server without a replica, with appendfsync always; the client is ioredis with automatic pipelines and one connection',
    pids: () => servers.pids,
    connect: async () => redisClient(open(ports[0] as number)),
    stop: () => servers.stop(),
  }
}

export interface RedisServers {
  readonly servers: Servers
  readonly ports: readonly number[]
  open(port: number): Redis
}

export async function redisServers(name: string, count: number): Promise<RedisServers | string> {
  const program = findProgram('redis-server')
  if (program === undefined) return 'redis-server is not installed'
  const module = await import('ioredis').catch(() => undefined)
  if (module === undefined) return 'ioredis is not installed'
  const servers = await Servers.open(name)
  const open = (port: number) => {
    const client = new module.Redis(port, '127.0.0.1', { enableAutoPipelining: true })
    // A server that is stopped while a client lives is no news.
    client.on('error', () => {})
    client.defineCommand('releaseLock', { numberOfKeys: 1, lua: RELEASE })
    return client
  }
  try {
    const ports = await freePorts(count)
    for (const port of ports) servers.start(program, flags(port))
    for (const port of ports) await servers.until(() => ping(open(port)))
    return { servers, ports, open }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

const flags = (port: number): string[] => [
  ...['--port', String(port), '--bind', '127.0.0.1', '--save', ''],
  ...['--appendonly', 'yes', '--appendfsync', 'always'],
  ...['--appenddirname', `log-${port}`],
]

async function ping(client: Redis): Promise<void> {
  try {
    await client.ping()
  } finally {
    client.disconnect()
  }
}

function redisClient(client: Redis): SystemClient {
  const { releaseLock } = client as unknown as WithRelease
  const name = randomUUID()
  let count = 0
  return {
    async take(key) {
      const id = `${name}/${count++}`
      if ((await client.set(key, id, 'PX', 10_000, 'NX')) !== 'OK') return undefined
      return async () => (await releaseLock.call(client, key, id)) === 1
    },
    put: async (key, value) =>
      (await client.set(key, Buffer.from(value.buffer, value.byteOffset, value.length))) === 'OK',
    get: async (key) => (await client.getBuffer(key)) ?? undefined,
    close: async () => client.disconnect(),
  }
}
