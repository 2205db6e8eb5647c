// Driver: Redlock over three Redis servers, each with its log synced at every command.

import { redisServers } from './redis.js'
import type { System, SystemClient } from './system.js'

/** What is used of it. */
interface Redlock {
  acquire(keys: string[], millis: number): Promise<{ release(): Promise<unknown> }>
  on(event: 'error', told: (error: unknown) => void): void
}
type RedlockClass = new (clients: unknown[], options: { retryCount: number }) => Redlock

export async function redlock(): Promise<System | string> {
  // By a name in a variable: its package tells no types to modules.
  const name: string = 'redlock'
  const module: { default: RedlockClass } | undefined = await import(name).catch(() => undefined)
  if (module === undefined) return 'redlock is not installed'
  const found = await redisServers('redlock', 3)
  if (typeof found === 'string') return found
  const { servers, ports, open } = found
  return {
    name: 'Redlock',
    setting:
      'three Redis servers with appendfsync always; the client is redlock, over ioredis with automatic pipelines',
    pids: () => servers.pids,
    connect: async () => {
      const clients = ports.map(open)
      const locks = new module.default(clients, { retryCount: 0 })
      locks.on('error', () => {})
      return redlockClient(locks, () => {
        for (const client of clients) client.disconnect()
      })
    },
    stop: () => servers.stop(),
  }
}

function redlockClient(locks: Redlock, close: () => void): SystemClient {
  return {
    async take(key) {
      const lock = await locks.acquire([key], 10_000).catch(() => undefined)
      if (lock === undefined) return undefined
      return () => lock.release().then(() => true)
    },
    close: async () => close(),
  }
}
