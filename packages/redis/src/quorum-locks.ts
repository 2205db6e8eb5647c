// Driver: redisQuorumLocks(): locks on several independent Redis masters.

import { uptime } from 'node:os'
import { newId, systemClock } from '@latchkey/base'
import {
  DEFAULT_DRIFT,
  ENGINE_OPTIONS,
  type EngineLocks,
  engineLocks,
  type EngineOptions,
  ClientClock,
} from '@latchkey/lock'
import { knownNames, refuseUnknown } from '@latchkey/protocol'
import { RedisConnection } from './redis-connection.js'
import { Master } from './quorum-master.js'
import { QuorumEngine } from './quorum-lock-engine.js'
import { RedisCalls } from './redis-calls.js'
import { clientArg, prefixArg } from './redis-locks.js'
import type { RedisClient } from './ioredis-interface.js'
import { type Scripts, scriptsOf } from './lock-lua-scripts.js'

export interface RedisQuorumOptions<S extends 'bytes' | 'string' = 'bytes'> extends EngineOptions<S> {
  /**
   * Clients of ioredis for 3 to 9 different masters, none of which is a replica of another. Usual numbers are
   * three and five. close() does not end your clients.
   */
  clients: readonly RedisClient[]
  /** The prefix of the names of all Redis keys. Default: 'latchkey:'. */
  prefix?: string | undefined
}

const OPTIONS = knownNames(...ENGINE_OPTIONS, 'clients', 'prefix')
const MOST_MASTERS = 9

/**
 * Returns locks by Redlock's algorithm on several independent masters. These locks have NO fencing. If a
 * holder pauses between the check of its hold and its write, the next holder may write at the same time. No
 * system can then refuse the write of the first holder. Use these locks only for work that does no harm if it
 * is sometimes done twice. For other work, use an engine whose `capabilities.fencing` is 'enforced'.
 */
export function redisQuorumLocks<S extends 'bytes' | 'string' = 'bytes'>(
  options: RedisQuorumOptions<S>,
): EngineLocks<S> {
  return makeQuorumLocks(options, () => {})
}

export function makeQuorumLocks<S extends 'bytes' | 'string' = 'bytes'>(
  options: RedisQuorumOptions<S>,
  end: () => void,
): EngineLocks<S> {
  refuseUnknown(options, OPTIONS, 'option', 'redisQuorumLocks')
  const { clients, prefix, ...rest } = options
  if (!Array.isArray(clients) || clients.length < 3 || clients.length > MOST_MASTERS)
    throw new TypeError(
      `clients must be a list of 3 to ${MOST_MASTERS} clients, each of a master of its own; for one server there is redisLocks`,
    )
  if (new Set(clients).size !== clients.length) throw new TypeError('clients names one client twice')
  for (const client of clients) clientArg(client, 'each of clients')
  const engine = quorumEngine(clients, { prefix, drift: rest.drift }, end)
  warnOnce()
  return engineLocks<S>(engine, rest)
}

/** A test gives `scripts` for each master, to set the master's clock. */
export function quorumEngine(
  clients: readonly RedisClient[],
  of: {
    readonly prefix?: string | undefined
    readonly drift?: number | undefined
    readonly scripts?: readonly Scripts[]
    /** The clock of the engine. Engines whose histories are compared must share one clock. */
    readonly time?: ClientClock
  } = {},
  end: () => void = () => {},
): QuorumEngine {
  const clock = systemClock(uptime)
  const { drift = DEFAULT_DRIFT, time = new ClientClock(clock) } = of
  const part = (1 - drift) / (1 + drift)
  const connections = clients.map((client) => new RedisConnection(client, clock))
  const masters = connections.map((connection, i) => {
    const prefix = prefixArg(clients[i] as RedisClient, of.prefix)
    return new Master(new RedisCalls(connection, of.scripts?.[i] ?? scriptsOf(), prefix), clock, time, part)
  })
  return new QuorumEngine({ masters, time, part, seed: newId() }, () => {
    for (const connection of connections) connection.close()
    end()
  })
}

let isWarned = false

function warnOnce(): void {
  if (isWarned) return
  isWarned = true
  process.emitWarning(
    "Locks on a quorum of Redis masters have no fencing (capabilities.fencing is 'none'): after a pause, or a jump of a master's clock, two holders can write. Use them only for work that may be done twice.",
    { type: 'LatchkeyWarning', code: 'LATCHKEY_NO_FENCING' },
  )
}
