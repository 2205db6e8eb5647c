// Driver: creates the lock APIs of one store, and the objects that all locks of the store share, for example
// the renewals and the store's own watchdog.

import { setMaxListeners } from 'node:events'
import { startsWith } from '@latchkey/base'
import {
  type Acquirer,
  type As,
  type Bytes,
  type CallOptions,
  type Duration,
  knownNames,
  LatchkeyError,
  nameOfLockKey,
  type LockMode,
  OP,
  type Owner,
  type OwnerResult,
  type TicketArg,
  callArgs,
} from '@latchkey/protocol'
import {
  acquirerArg,
  contextArg,
  fencingKeyArg,
  leaseArg,
  lockKeyArg,
  modeArg,
  optionsArg,
} from './lock-arguments.js'
import type { LockServices, Releasable } from './shared-by-all-acquisitions.js'
import { DistributedLock } from './distributed-lock.js'
import { ClusterTimeRefresh } from './hold-expiry-and-time-refresh.js'
import { Elections } from './elections.js'
import { IndexedSet } from './indexed-set.js'
import { Around, flowArg } from './flow-for-deadlock-detection.js'
import { Locks } from './locks.js'
import { toOwner } from './owner-from-wire-format.js'
import type { LockCallOptions, LockPort } from './lock-port-interface.js'
import { Renewals } from './renewals.js'
import { Semaphores } from './semaphores.js'
import { splitRequests } from './split-request-by-command-limits.js'
import { Watchdog } from './renewing-watchdog.js'
import { WebLocks } from './web-locks-api.js'

/** Further options of getDistributedLock. Few callers need these options. */
export interface LockOptions {
  /**
   * The counter from which the token is drawn. The default is the store's own counter. A lock must always use
   * the same counter.
   */
  fencingKey?: Bytes | null | undefined
  /** Up to 4 KiB that other callers can read while this caller holds the lock. */
  context?: Bytes | undefined
  /** 'exclusive' or 'shared', as in the options of `locks.acquire`. */
  mode?: LockMode | undefined
  /** The name of the flow to which the requests belong, as in the options of `locks.acquire`. */
  flow?: string | undefined
}

/**
 * The lock calls of a store, or of a sub (the store below a prefix). A sub has its own port, which adds the
 * prefix to all names, and shares all other parts with the store. So `close` of the store also releases the
 * holds of its subs, and one request renews the holds of the store and of its subs.
 */
export class Locking<S extends As = 'bytes'> {
  readonly locks: Locks<S>
  readonly semaphores: Semaphores<S>
  readonly elections: Elections<S>
  readonly webLocks: WebLocks
  readonly #services: LockServices

  constructor(port: LockPort, store?: Locking<As>) {
    this.#services = store === undefined ? servicesOf(port) : { ...store.#services, port }
    const release = (limits: LockCallOptions) => this.#releaseHolds(limits)
    this.locks = new Locks<S>(this.#services, release)
    this.semaphores = new Semaphores<S>(this.#services)
    this.elections = new Elections<S>(this.#services)
    this.webLocks = new WebLocks(this.#services)
  }

  get #prefix(): Uint8Array {
    return this.#services.port.decoding.prefix
  }

  /**
   * Releases every hold and cancels every wait, so that the next waiter need not wait until a lease ends. The
   * signals of the holds abort with the reason `why`. `patience` is in ms.
   */
  async releaseForClose(why: LatchkeyError, patience: number): Promise<void> {
    await this.#release(this.#services.acquisitions.copy(), why, { timeout: patience })
  }

  #releaseHolds(limits: LockCallOptions): Promise<number> {
    const held = this.#services.acquisitions
      .copy()
      .filter(({ validity }) => validity?.held && startsWith(nameOfLockKey(validity.key), this.#prefix))
    const why = 'The lock was released by releaseAll(). Stop the work it guarded, or acquire it again.'
    // The request is sent even without holds, so that the members can refuse a caller without the right to
    // release.
    if (held.length === 0)
      return this.#services.port.command([OP.releaseAll, []], limits).result.then(() => 0)
    return this.#release(held, new LatchkeyError('ERR_NOT_OWNER', why), limits)
  }

  /**
   * Law (K43): the signals of the holds abort before their release is sent. Without this law: the next holder
   * gets the lock and writes to a resource outside the store. The work under the old hold was not stopped,
   * and writes to the same resource.
   */
  async #release(
    acquisitions: readonly Releasable[],
    why: LatchkeyError,
    limits: LockCallOptions,
  ): Promise<number> {
    const parts = splitRequests(acquisitions, ({ ticket }) => ticket)
    const requests = parts.map(async (part) => {
      let answered: (isReleased: boolean) => void = () => {}
      const released = new Promise<boolean>((resolve) => {
        answered = resolve
      })
      for (const acquisition of part) acquisition.revoke(why, released)
      const list = part.map(({ ticket: { key, id } }): TicketArg => [key, id])
      try {
        const tokens = (await this.#services.port.command([OP.releaseAll, list], limits).result) as number[]
        answered(true)
        return tokens.filter((token) => token !== 0).length
      } catch (error) {
        // `answered(false)` makes each acquisition release its hold or its place in the queue with its own
        // request, in the background.
        answered(false)
        throw error
      }
    })
    return (await Promise.all(requests)).reduce((sum, count) => sum + count, 0)
  }

  /** Returns the lock object and sends no request. Throws a TypeError for a wrong argument. */
  getDistributedLock(
    key: Bytes,
    lease: Duration,
    watchdog?: Watchdog,
    options?: LockOptions,
  ): DistributedLock {
    if (watchdog !== undefined && watchdog !== null && !(watchdog instanceof Watchdog)) {
      throw new TypeError('watchdog must be a Watchdog')
    }
    const { fencingKey, context, mode, flow } = optionsArg('getDistributedLock', options, LOCK_OPTIONS)
    flowArg(this.#services.around, flow)
    const terms = {
      key: lockKeyArg(this.#prefix, key),
      fencingKey: fencingKeyArg(this.#prefix, fencingKey),
      lease: leaseArg(lease),
      share: modeArg(mode),
      watchdog: watchdog ?? undefined,
    }
    return new DistributedLock(this.#services, terms, { context: contextArg(context), flow })
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
      lockKeyArg(this.#prefix, key),
      fencingKeyArg(this.#prefix, fencingKey),
      keepLease,
      id,
      lease,
      token,
      context,
      null,
    ] as const
    const [owner] = (await this.#services.port.command(ask, callArgs('tryLockWith', options)).result) as [
      OwnerResult,
      boolean,
    ]
    return toOwner(owner)
  }

  async releaseLockWith(key: Bytes, acquirer: Acquirer, options?: CallOptions): Promise<Owner> {
    const { id, token } = acquirerArg(acquirer)
    const call = this.#services.port.command(
      [OP.release, lockKeyArg(this.#prefix, key), id, token, false],
      callArgs('releaseLockWith', options),
    )
    return toOwner((await call.result) as OwnerResult)
  }
}

function servicesOf(port: LockPort): LockServices {
  // Each waiting call adds one listener. More than ten listeners are normal, so Node must not warn about a
  // leak.
  setMaxListeners(0, port.closed)
  return {
    port,
    clusterTimeRefresh: new ClusterTimeRefresh(port),
    renewals: new Renewals(port),
    acquisitions: new IndexedSet(),
    around: new Around(),
    watchdog: watchdogOf(port),
  }
}

function watchdogOf(port: LockPort): Watchdog {
  const watchdog = new Watchdog()
  port.closed.addEventListener('abort', () => watchdog.close(), { once: true })
  return watchdog
}

const LOCK_OPTIONS = knownNames('fencingKey', 'context', 'mode', 'flow')
