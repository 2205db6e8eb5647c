// Driver: redisLocks(): locks on one Redis server, or on the master that the sentinels report.

import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'
import {
  ENGINE_OPTIONS,
  type EngineLocks,
  engineLocks,
  type EngineOptions,
  serverPrefixArg,
} from '@latchkey/lock'
import { knownNames, refuseUnknown, show } from '@latchkey/protocol'
import { RedisConnection } from './redis-connection.js'
import { RedisEngine } from './redis-lock-engine.js'
import type { RedisClient } from './ioredis-interface.js'
import { scriptsOf } from './lock-lua-scripts.js'
import { Subscription } from './pubsub-connection.js'

export interface RedisOptions<S extends 'bytes' | 'string' = 'bytes'> extends EngineOptions<S> {
  /**
   * A client of ioredis for one server, or with sentinels. The locks open their own connections with the
   * client's options. close() does not end your client.
   */
  client: RedisClient
  /** The prefix of the names of all Redis keys. Default: 'latchkey:'. */
  prefix?: string | undefined
  /**
   * 'restart' means that this server runs with `appendonly yes` and `appendfsync always`, so that a hold
   * survives a restart. The locks check these two settings if the user may read CONFIG. Default: 'nothing'.
   */
  survives?: 'restart' | 'nothing' | undefined
}

const OPTIONS = knownNames(...ENGINE_OPTIONS, 'client', 'prefix', 'survives')

/** Returns locks on one Redis server, with a fair queue, pushed wake-ups and rising tokens. */
export function redisLocks<S extends 'bytes' | 'string' = 'bytes'>(options: RedisOptions<S>): EngineLocks<S> {
  return makeLocks(options, () => {})
}

export function makeLocks<S extends 'bytes' | 'string' = 'bytes'>(
  options: RedisOptions<S>,
  end: () => void,
): EngineLocks<S> {
  refuseUnknown(options, OPTIONS, 'option', 'redisLocks')
  const { client, prefix: named, survives = 'nothing', ...rest } = options
  if (survives !== 'restart' && survives !== 'nothing')
    throw new TypeError(`survives must be 'restart' or 'nothing'; got ${show(survives)}`)
  clientArg(client, 'client')
  const prefix = prefixArg(client, named)
  const connection = new RedisConnection(client, systemClock(uptime))
  const subscription = new Subscription(client, prefix)
  const terms = { prefix, scripts: scriptsOf(), survives }
  return engineLocks<S>(new RedisEngine(connection, subscription, terms, end), rest)
}

export function clientArg(client: unknown, name: string): void {
  const { duplicate, isCluster } = (client ?? {}) as { duplicate?: unknown; isCluster?: unknown }
  if (typeof duplicate !== 'function') throw new TypeError(`${name} must be a client of ioredis`)
  if (isCluster === true)
    throw new TypeError(
      `${name} is a Redis Cluster, which moves keys between its masters. Give a client of one server, or of sentinels.`,
    )
}

/**
 * Returns the whole prefix of the keys, which begins with the keyPrefix of the user's client. ioredis cannot
 * add that keyPrefix, because the scripts build the names of keys themselves.
 */
export function prefixArg(client: RedisClient, prefix: unknown = 'latchkey:'): string {
  return (client.options.keyPrefix ?? '') + serverPrefixArg(prefix)
}
