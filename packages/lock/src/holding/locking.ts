// Driver: owns what all lock objects of one store share: the renewal of its bound, its own watchdog. A Store makes one.

import { setMaxListeners } from 'node:events'
import {
  type Acquirer,
  type Bytes,
  CALL_OPTIONS,
  type CallOptions,
  type Duration,
  knownNames,
  OP,
  type Owner,
  type OwnerResult,
} from '@latchkey/protocol'
import {
  acquirerArg,
  contextArg,
  durationArg,
  fencingKeyArg,
  keyArg,
  leaseArg,
  optionsArg,
  signalArg,
} from './lock-arguments.js'
import type { Place } from './acquisition.js'
import { DEFAULT_TIMEOUT, DistributedLock } from './distributed-lock.js'
import { BoundRenewal } from './bound-renewal.js'
import { Locks } from './locks.js'
import { toOwner } from './owner-decoding.js'
import type { LockCallOptions, LockPort } from './lock-port.js'
import { Renewals } from './renewals.js'
import { Watchdog } from './watchdog.js'

/** The rare settings of a lock. */
export interface LockOptions {
  /** The counter that the token comes from; default: the store's own. Always the same one for a lock. */
  fencingKey?: Bytes | null | undefined
  /** Up to 4 KiB that others see as the holder's. */
  context?: Bytes | undefined
}

export class Locking {
  readonly locks: Locks
  readonly #place: Place

  constructor(port: LockPort) {
    // One listener for each call that waits: more than ten are no leak, and a library prints no warning.
    setMaxListeners(0, port.closed)
    this.#place = { port, boundRenewal: new BoundRenewal(port), renewals: new Renewals(port) }
    const watchdog = new Watchdog()
    port.closed.addEventListener('abort', () => watchdog.close(), { once: true })
    this.locks = new Locks(this.#place, watchdog)
  }

  /** Throws a TypeError at the call. */
  getDistributedLock(
    key: Bytes,
    lease: Duration,
    watchdog?: Watchdog,
    options?: LockOptions,
  ): DistributedLock {
    if (watchdog !== undefined && watchdog !== null && !(watchdog instanceof Watchdog)) {
      throw new TypeError('watchdog must be a Watchdog')
    }
    const { fencingKey, context } = optionsArg('getDistributedLock', options, LOCK_OPTIONS)
    const terms = {
      key: keyArg(key),
      fencingKey: fencingKeyArg(fencingKey),
      lease: leaseArg(lease),
      watchdog: watchdog ?? undefined,
    }
    return new DistributedLock(this.#place, terms, contextArg(context))
  }

  async tryLockWith(
    key: Bytes,
    fencingKey: Bytes | null | undefined,
    keepLease: boolean,
    acquirer: Acquirer,
    options?: CallOptions,
  ): Promise<Owner> {
    if (typeof keepLease !== 'boolean') throw new TypeError('keepLease must be a boolean')
    const { id, lease, token, context } = acquirerArg(acquirer)
    const ask = [
      OP.tryLock,
      keyArg(key),
      fencingKeyArg(fencingKey),
      keepLease,
      id,
      lease,
      token,
      context,
      null,
    ] as const
    const [owner] = (await this.#place.port.command(ask, callOptions('tryLockWith', options)).result) as [
      OwnerResult,
      boolean,
    ]
    return toOwner(owner)
  }

  async releaseLockWith(key: Bytes, acquirer: Acquirer, options?: CallOptions): Promise<Owner> {
    const { id, token } = acquirerArg(acquirer)
    const call = this.#place.port.command(
      [OP.release, keyArg(key), id, token, false],
      callOptions('releaseLockWith', options),
    )
    return toOwner((await call.result) as OwnerResult)
  }
}

const LOCK_OPTIONS = knownNames('fencingKey', 'context')

function callOptions(call: string, options: CallOptions | undefined): LockCallOptions {
  const { timeout, signal } = optionsArg(call, options, CALL_OPTIONS)
  return { timeout: durationArg(timeout, 'timeout') ?? DEFAULT_TIMEOUT, signal: signalArg(signal) }
}
