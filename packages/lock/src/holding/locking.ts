// Driver: owns what the lock objects of one store share: the bound's renewal, the holds' renewals, and the
// store's own watchdog.

import { setMaxListeners } from 'node:events'
import {
  type Acquirer,
  type As,
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

/** Options of a lock that few callers need. */
export interface LockOptions {
  /** The counter that the token comes from; default: the store's own. A lock must always use the same one. */
  fencingKey?: Bytes | null | undefined
  /** Up to 4 KiB that other callers see as the holder's context. */
  context?: Bytes | undefined
}

export class Locking<S extends As = 'bytes'> {
  readonly locks: Locks<S>
  readonly #place: Place

  constructor(port: LockPort) {
    // Each waiting call adds one listener. More than ten of them are no leak, so Node must not print a
    // warning.
    setMaxListeners(0, port.closed)
    this.#place = {
      port,
      boundRenewal: new BoundRenewal(port),
      renewals: new Renewals(port),
      acquisitions: new Set(),
    }
    const watchdog = new Watchdog()
    port.closed.addEventListener('abort', () => watchdog.close(), { once: true })
    this.locks = new Locks<S>(this.#place, watchdog, (limits) => this.#releaseHolds(limits))
  }

  /**
   * Called when the store closes. One request releases every hold and cancels every wait, so that the next
   * waiter does not wait until a lease ends. `why` is the reason with which the signals of the holds abort,
   * before the request is sent.
   */
  async releaseForClose(why: LatchkeyError, patience: number): Promise<void> {
    await this.#release([...this.#place.acquisitions], why, { timeout: patience })
  }

  #releaseHolds(limits: LockCallOptions): Promise<number> {
    const held = [...this.#place.acquisitions].filter(({ validity }) => validity?.held)
    const why = 'The lock was released by releaseAll(). Stop the work it guarded, or acquire it again.'
    // A caller without holds sends the request too, because the members decide whether the caller may call
    // this.
    if (held.length === 0) return this.#place.port.command([OP.releaseAll, []], limits).result.then(() => 0)
    return this.#release(held, new LatchkeyError('ERR_NOT_OWNER', why), limits)
  }

  /**
   * Law (K43): the signals of the holds abort before their release is sent. Without this: work under a hold
   * is not stopped and writes to a resource outside the store, while the next holder, to whom the release
   * gave the lock, writes there too.
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
        // Each acquisition then releases what it has by itself, in the background.
        answered(false)
        throw error
      }
    })
    return (await Promise.all(requests)).reduce((sum, count) => sum + count, 0)
  }

  /** Throws a TypeError for a wrong argument; it does not reject. */
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
