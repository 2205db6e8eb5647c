// Driver: owns what all lock objects of one store share: the renewal of its bound, its own watchdog. A Store makes one.

import { setMaxListeners } from 'node:events'
import {
  type Acquirer,
  type Bytes,
  CALL_OPTIONS,
  type CallOptions,
  type Duration,
  knownNames,
  LatchkeyError,
  OP,
  type Owner,
  type OwnerResult,
  type TicketArg,
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
import type { Acquisition, Place } from './acquisition.js'
import { DEFAULT_TIMEOUT, DistributedLock } from './distributed-lock.js'
import { BoundRenewal } from './bound-renewal.js'
import { Locks } from './locks.js'
import { toOwner } from './owner-decoding.js'
import type { LockCallOptions, LockPort } from './lock-port.js'
import { Renewals } from './renewals.js'
import { splitRequests } from './split-requests.js'
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
    this.#place = {
      port,
      boundRenewal: new BoundRenewal(port),
      renewals: new Renewals(port),
      acquisitions: new Set(),
    }
    const watchdog = new Watchdog()
    port.closed.addEventListener('abort', () => watchdog.close(), { once: true })
    this.locks = new Locks(this.#place, watchdog, (limits) => this.#releaseHolds(limits))
  }

  /**
   * For a store that closes: everything it holds or waits for, in one request, so that the next in each queue does not wait for a
   * lease to run out. `why`: the reason of the holds' signals, which abort before the request is sent.
   */
  async releaseForClose(why: LatchkeyError, patience: number): Promise<void> {
    await this.#release([...this.#place.acquisitions], why, { timeout: patience })
  }

  #releaseHolds(limits: LockCallOptions): Promise<number> {
    const held = [...this.#place.acquisitions].filter(({ validity }) => validity?.held)
    const why = 'The lock was released by releaseAll(). Stop the work it guarded, or acquire it again.'
    // Who holds nothing asks all the same: whether it may is for the members to say, as of every call.
    if (held.length === 0) return this.#place.port.command([OP.releaseAll, []], limits).result.then(() => 0)
    return this.#release(held, new LatchkeyError('ERR_NOT_OWNER', why), limits)
  }

  /**
   * Law (K43): no hold is promised any more when its release is sent. Else: work under it that was not told to stop writes to a
   * resource outside while the next owner, to whom the release has given the lock, does the same.
   */
  async #release(
    acquisitions: readonly Acquisition[],
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
        const tokens = (await this.#place.port.command([OP.releaseAll, list], limits).result) as number[]
        answered(true)
        return tokens.filter((token) => token !== 0).length
      } catch (error) {
        // Each acquisition gives back by itself, in the background, what it has.
        answered(false)
        throw error
      }
    })
    return (await Promise.all(requests)).reduce((sum, count) => sum + count, 0)
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
