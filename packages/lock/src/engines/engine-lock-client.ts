// Driver: owns one client of a lock engine. The client makes lock objects. The close of the client releases
// their holds.

import { uptime } from 'node:os'
import { type Clock, systemClock } from '@latchkey/base'
import { type Bytes, closeArgs, type Duration, LatchkeyError, millis } from '@latchkey/protocol'
import { DEFAULT_DRIFT } from '../holding/cluster-time-bound.js'
import type { DistributedLock } from '../holding/distributed-lock.js'
import { type LockOptions, Locking } from '../holding/lock-apis-of-store.js'
import type { Locks } from '../holding/locks.js'
import type { Watchdog } from '../holding/renewing-watchdog.js'
import { EnginePort } from './lock-port-over-engine.js'
import type { Capabilities, LockEngine } from './lock-engine-interface.js'

export interface EngineOptions<S extends 'bytes' | 'string' = 'bytes'> {
  /** The type of keys in answers. The default is 'bytes'. */
  as?: S | undefined
  /**
   * A waiter that no push has woken asks the server again after this time. A watch reads the locks again
   * after this time, or after half a second if `poll` is longer. The default is '2s'.
   */
  poll?: Duration | undefined
  /**
   * A waiter that does not ask again within this time loses its place in the queue, and the next waiter is
   * served. The value must be at least twice `poll`. The default is '10s', or five times `poll` if five polls
   * are longer.
   */
  patience?: Duration | undefined
  /** By how much the rate of a clock may be wrong, as a fraction. The default 0.005 is half a percent. */
  drift?: number | undefined
}

export interface EngineCloseOptions {
  /** 'release' (default): all holds are released. 'keep': the holds stay until the end of their leases. */
  holds?: 'release' | 'keep' | undefined
}

/**
 * The locks of a lock engine, for example on PostgreSQL or Redis. The lock objects are the same as in a
 * Latchkey store.
 */
export interface EngineLocks<S extends 'bytes' | 'string' = 'bytes'> extends AsyncDisposable {
  readonly locks: Locks<S>
  /** The same as `getDistributedLock` of a Latchkey store. Throws a TypeError for a wrong argument. */
  getDistributedLock(key: Bytes, lease: Duration, watchdog?: Watchdog, options?: LockOptions): DistributedLock
  readonly capabilities: Capabilities
  /**
   * Closes the client. The signals of the holds abort first, and then the holds are released. With `holds:
   * 'keep'`, the holds stay until their leases end. A second call of `close` waits until the first call has
   * ended.
   */
  close(options?: EngineCloseOptions): Promise<void>
}

export const ENGINE_OPTIONS = ['as', 'poll', 'patience', 'drift'] as const
const DEFAULT_POLL = 2_000
const LEAST_PATIENCE = 10_000
/**
 * In ms: how long `close` waits for the release of the holds. Holds that are not released by then end with
 * their leases.
 */
const CLOSE_PATIENCE = 5_000

export function engineLocks<S extends 'bytes' | 'string' = 'bytes'>(
  engine: LockEngine,
  options: EngineOptions<S> = {},
  clock: Clock = systemClock(uptime),
): EngineLocks<S> {
  const closing = new AbortController()
  const terms = { clock, ...checked(options) }
  const locking = new Locking<S>(new EnginePort(engine, terms, closing.signal))
  let closed: Promise<void> | undefined
  const end = async (keeps: boolean): Promise<void> => {
    const why = new LatchkeyError('ERR_CLOSED')
    if (!keeps) await locking.releaseForClose(why, CLOSE_PATIENCE).catch(() => {})
    closing.abort(why)
    await engine.close()
  }
  const close = async (options?: EngineCloseOptions): Promise<void> => {
    const holds = closeArgs(options)
    closed ??= end(holds === 'keep')
    await closed
  }
  return {
    locks: locking.locks,
    getDistributedLock: (...given) => locking.getDistributedLock(...given),
    capabilities: engine.capabilities,
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

function checked({ as = 'bytes', poll, patience, drift = DEFAULT_DRIFT }: EngineOptions<'bytes' | 'string'>) {
  if (as !== 'bytes' && as !== 'string')
    throw new TypeError(`as must be 'bytes' or 'string'; got ${String(as)}`)
  if (typeof drift !== 'number' || !(drift >= 0 && drift < 0.5))
    throw new TypeError(`drift must be a number from 0 to 0.5; got ${String(drift)}`)
  const every = poll === undefined ? DEFAULT_POLL : millis(poll, 'poll')
  const patient = patience === undefined ? Math.max(LEAST_PATIENCE, 5 * every) : millis(patience, 'patience')
  if (patient < 2 * every)
    throw new TypeError(`patience must be at least two polls, which is ${2 * every} ms; got ${patient} ms`)
  return { as, drift, poll: every, patience: patient }
}
