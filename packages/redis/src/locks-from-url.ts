// Driver: opens locks by their address. This file makes the clients of ioredis, and ends them when the locks
// are closed.

import { type EngineLocks, withDriver } from '@latchkey/lock'
import { makeQuorumLocks, type RedisQuorumOptions } from './quorum-locks.js'
import { makeLocks, type RedisOptions } from './redis-locks.js'
import type { RedisClient } from './ioredis-interface.js'

type Either = 'bytes' | 'string'
const QUORUM = 'redis+quorum://'

/** Called by `locks('redis://...')` and `locks('redis+quorum://host,host,host')` of @latchkey/locks. */
export async function locksFromUrl(
  url: string,
  options: Omit<RedisOptions<Either>, 'client'> & Omit<RedisQuorumOptions<Either>, 'clients'> = {},
): Promise<EngineLocks<Either>> {
  const addresses = url.startsWith(QUORUM)
    ? url
        .slice(QUORUM.length)
        .split(',')
        .map((host) => `redis://${host}`)
    : [url]
  for (const address of addresses) if (!isAddress(address)) throw new TypeError(wrongAddress(url))
  const clients = await clientsTo(addresses)
  const end = () => {
    for (const client of clients) client.disconnect()
  }
  if (url.startsWith(QUORUM)) return makeQuorumLocks<Either>({ ...options, clients }, end)
  return makeLocks<Either>({ ...options, client: clients[0] as RedisClient }, end)
}

const isAddress = (address: string): boolean => URL.canParse(address) && new URL(address).hostname !== ''

const wrongAddress = (url: string) =>
  `an address of Redis is redis://host:port, rediss://host:port or redis+quorum://host:port,host:port,host:port; got ${JSON.stringify(withoutPassword(url))}`

const withoutPassword = (url: string): string => url.replaceAll(/\/\/[^@/]*@/g, '//***@')

const clientsTo = (addresses: readonly string[]): Promise<RedisClient[]> =>
  withDriver('an address of Redis', 'ioredis', async () => {
    const { Redis } = (await import('ioredis')) as unknown as {
      Redis: new (url: string, options: object) => RedisClient
    }
    // These clients never connect. The locks open their own connections with the options of these clients.
    return addresses.map((address) => new Redis(address, { lazyConnect: true }))
  })
