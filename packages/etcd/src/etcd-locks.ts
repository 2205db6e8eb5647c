// Driver: etcdLocks(): locks on an etcd cluster.

import { uptime } from 'node:os'
import { newId, seededRandom, systemClock } from '@latchkey/base'
import {
  DEFAULT_DRIFT,
  ENGINE_OPTIONS,
  type EngineLocks,
  engineLocks,
  type EngineOptions,
  ClientClock,
  guardedKey,
  serverPrefixArg,
} from '@latchkey/lock'
import { knownNames, refuseUnknown } from '@latchkey/protocol'
import { EtcdCalls } from './etcd-calls.js'
import { EtcdEngine } from './etcd-lock-engine.js'
import type { EtcdClient, EtcdOperation, TxnAnswer } from './etcd-types.js'
import { LockRows } from './lock-rows.js'

export interface EtcdOptions<S extends 'bytes' | 'string' = 'bytes'> extends EngineOptions<S> {
  /** Your `Etcd3` client of the package etcd3. `close` of the locks does not close this client. */
  client: EtcdClient
  /** The prefix of the locks' keys in etcd. Default: 'latchkey/'. */
  prefix?: string | undefined
}

export interface EtcdLocks<S extends 'bytes' | 'string' = 'bytes'> extends EngineLocks<S> {
  /**
   * Commits these operations in one etcd transaction, if the lock is held with that token. Otherwise etcd
   * writes nothing, and the call throws ERR_FENCED.
   * ```ts
   * await engine.guard(hold, client.put('orders/42').value('charged'))
   * ```
   */
  guard(
    hold: { readonly key: string | Uint8Array; readonly token: number },
    ...operations: EtcdOperation[]
  ): Promise<TxnAnswer>
}

const OPTIONS = knownNames(...ENGINE_OPTIONS, 'client', 'prefix')

/**
 * Returns locks on etcd. The locks have a fair queue whose waiters are woken by watches, and tokens that
 * etcd's own transactions check.
 */
export function etcdLocks<S extends 'bytes' | 'string' = 'bytes'>(options: EtcdOptions<S>): EtcdLocks<S> {
  return makeLocks(options, () => {})
}

export function makeLocks<S extends 'bytes' | 'string' = 'bytes'>(
  options: EtcdOptions<S>,
  end: () => void,
): EtcdLocks<S> {
  refuseUnknown(options, OPTIONS, 'option', 'etcdLocks')
  const { client, prefix, ...rest } = options
  const engine = etcdEngine(client, { prefix, drift: rest.drift }, end)
  return {
    ...engineLocks<S>(engine, rest),
    guard: async (hold, ...operations) => {
      const name = guardedKey(hold)
      for (const operation of operations)
        if (typeof (operation as EtcdOperation | undefined)?.op !== 'function')
          throw new TypeError("guard takes operations of etcd3, such as client.put('k').value('v')")
      return engine.guard(name, hold.token, operations)
    },
  }
}

export function etcdEngine(
  client: EtcdClient,
  of: {
    readonly prefix?: string | undefined
    readonly drift?: number | undefined
    /**
     * The clock of the engine. Tests that compare the histories of several engines give one clock to all of
     * these engines.
     */
    readonly time?: ClientClock
  } = {},
  end: () => void = () => {},
): EtcdEngine {
  clientArg(client)
  const { prefix = 'latchkey/', drift = DEFAULT_DRIFT } = of
  const rows = new LockRows(serverPrefixArg(prefix))
  const clock = systemClock(uptime)
  const calls = new EtcdCalls(client, clock, seededRandom(newId()))
  const { time = new ClientClock(clock) } = of
  const part = (1 - drift) / (1 + drift)
  return new EtcdEngine({ client, calls, rows, clock, time, part }, end)
}

function clientArg(client: unknown): void {
  const { kv, leaseClient, watchClient, prefix } = (client ?? {}) as Record<string, unknown>
  if (kv === undefined || leaseClient === undefined || watchClient === undefined)
    throw new TypeError('client must be an Etcd3 of the package etcd3')
  if (prefix instanceof Uint8Array && prefix.length > 0)
    throw new TypeError('client is a namespace of a client. Give the client itself, and the option prefix.')
}
