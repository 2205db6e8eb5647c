// Driver: opens the lock engine that belongs to an address, for example redis://host or postgres://host. The
// package of an engine is loaded only when an address needs this engine. So a program installs only the
// packages of the engines that it uses.

import type { Capabilities, EngineLocks } from '@latchkey/lock'
import { memoryLocks } from '../memory/memory-lock-engine.js'

/**
 * The options of the function that opens the engine: `connect` of @latchkey/client, `postgresLocks`,
 * `redisLocks` and so on.
 */
export type LocksOptions = Readonly<Record<string, unknown>>

interface Source {
  readonly install: string
  readonly packageName: string
  /** The name of the package's function that takes the address and the options. */
  readonly call: string
}

const POSTGRES: Source = {
  packageName: '@latchkey/postgres',
  install: '@latchkey/postgres pg',
  call: 'locksFromUrl',
}
const REDIS: Source = {
  packageName: '@latchkey/redis',
  install: '@latchkey/redis ioredis',
  call: 'locksFromUrl',
}
const ETCD: Source = { packageName: '@latchkey/etcd', install: '@latchkey/etcd etcd3', call: 'locksFromUrl' }
const CLIENT: Source = { packageName: '@latchkey/client', install: '@latchkey/client', call: 'connect' }

const SOURCES: ReadonlyMap<string, Source> = new Map([
  ['latchkey+ws', CLIENT],
  ['latchkey+wss', CLIENT],
  ['postgres', POSTGRES],
  ['postgresql', POSTGRES],
  ['redis', REDIS],
  ['rediss', REDIS],
  ['redis+quorum', REDIS],
  ['etcd', ETCD],
])

export const LATCHKEY: Capabilities = {
  fencing: 'enforced',
  queue: 'fair',
  wakeUp: 'push',
  survives: 'failover',
  time: 'cluster',
}

/**
 * Opens locks at an address. Every kind of address gives lock objects with the same methods.
 * ```ts
 * await using engine = await locks(process.env.LOCKS ?? 'memory:')
 * await using hold = await engine.locks.acquire('orders/42', { lease: '10s' })
 * ```
 * Addresses: `latchkey+ws://host:port,host:port`, `postgres://`, `redis://`, `redis+quorum://host,host,host`,
 * `etcd://host,host`, and `memory:`.
 */
export async function locks(
  url: string,
  options: LocksOptions = {},
): Promise<EngineLocks<'bytes' | 'string'>> {
  if (typeof url !== 'string') throw new TypeError('locks needs an address, such as postgres://host/database')
  const scheme = url.slice(0, Math.max(0, url.indexOf(':')))
  if (scheme === 'memory') return memoryLocks(options)
  const source = SOURCES.get(scheme)
  if (source === undefined) throw new TypeError(unknownScheme(scheme))
  const open = await load(source)
  if (source !== CLIENT) return (await open(url, options)) as EngineLocks<'bytes' | 'string'>
  return ofStore((await open(membersOf(url), options)) as LatchkeyStore)
}

const unknownScheme = (scheme: string) =>
  `the address of locks must begin with ${[...SOURCES.keys()].join('://, ')}:// or memory:; got ${JSON.stringify(scheme)}`

type Open = (address: unknown, options: LocksOptions) => Promise<unknown>

async function load({ packageName, install, call }: Source): Promise<Open> {
  let loaded: Record<string, unknown>
  try {
    loaded = (await import(packageName)) as Record<string, unknown>
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new TypeError(`this address needs a package that is not installed: npm install ${install}`, {
      cause,
    })
  }
  const open = loaded[call]
  if (typeof open !== 'function')
    throw new TypeError(`${packageName} is too old for this address: npm install ${install}`)
  return open as Open
}

function membersOf(url: string): string[] {
  const [scheme = '', rest = ''] = url.slice('latchkey+'.length).split('://')
  return rest.split(',').map((host) => `${scheme}://${host}`)
}

interface LatchkeyStore extends Omit<EngineLocks<'bytes' | 'string'>, 'capabilities'> {
  close(options?: Parameters<EngineLocks['close']>[0]): Promise<void>
}

const ofStore = (store: LatchkeyStore): EngineLocks<'bytes' | 'string'> => ({
  locks: store.locks,
  getDistributedLock: (...given) => store.getDistributedLock(...given),
  capabilities: LATCHKEY,
  close: (options) => store.close(options),
  [Symbol.asyncDispose]: () => store.close(),
})
