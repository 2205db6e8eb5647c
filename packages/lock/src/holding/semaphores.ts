// Driver: the calls of store.semaphores. Each acquire uses a new Holder, as for locks.

import {
  type As,
  type Bytes,
  type CallOptions,
  type GuardArg,
  KIND,
  knownNames,
  lockKeyOf,
  type LockQueryOptions,
  OP,
  type PermitInfo,
  callArgs,
} from '@latchkey/protocol'
import {
  type Acquired,
  WAIT_OPTIONS,
  type WaitOptions,
  type Wanted,
  acquire,
  enter,
  wantedOf,
} from './acquire-call.js'
import { HoldCalls, queryHolds } from './lock-calls-base.js'
import { BaseHold, type HoldParts } from './base-hold.js'
import { keyArg, optionsArg, permitsArg } from './lock-arguments.js'
import { toPermitInfo } from './owner-from-wire-format.js'

/** The options of acquire and tryAcquire of semaphores. */
export interface PermitOptions extends WaitOptions {
  /**
   * How many permits the semaphore has. If the semaphore already has another number, the call fails with
   * ERR_MISMATCH.
   */
  of: number
  /** How many permits are wanted. All are granted together. Default: 1. */
  permits?: number | undefined
}
const PERMIT_OPTIONS = knownNames(...WAIT_OPTIONS, 'of', 'permits')

/** Permits of a semaphore that are held. Call `release`, or let `await using` release the permits. */
export class Permit<S extends As = 'bytes'> extends BaseHold<S> {
  readonly permits: number

  /** Internal: `store.semaphores` creates permits. */
  constructor(parts: HoldParts, permits: number) {
    super(parts)
    this.permits = permits
  }

  get name(): string | Uint8Array {
    return this.key
  }

  /** Permits are always shared holds, so a guard must allow a shared hold. */
  protected override guard(): GuardArg {
    return [this.parts.validity.key, this.token, true]
  }
}

/**
 * Semaphores: `store.semaphores`. At most `of` permits are held at a time, over all processes. Waiting
 * callers are served in the order of arrival.
 */
export class Semaphores<S extends As = 'bytes'> extends HoldCalls {
  /**
   * Waits in the queue until the permits are granted.
   * ```ts
   * await using permit = await store.semaphores.acquire('reports', { of: 5, wait: '1m' })
   * await renderReport({ signal: permit.signal })
   * ```
   */
  async acquire(name: Bytes, options: PermitOptions): Promise<Permit<S>> {
    const given = optionsArg('semaphores.acquire', options, PERMIT_OPTIONS)
    const wanted = wantedPermits(this.prefix, name, given)
    return this.#permit(wanted, await acquire(this.services, wanted, given))
  }

  /**
   * Makes one attempt, or waits in the queue for the time `wait`, if the call has this option. Resolves to
   * undefined if the permits were not granted.
   */
  async tryAcquire(name: Bytes, options: PermitOptions): Promise<Permit<S> | undefined> {
    const given = optionsArg('semaphores.tryAcquire', options, PERMIT_OPTIONS)
    const wanted = wantedPermits(this.prefix, name, given)
    const acquired = await enter(this.services, wanted, given, false)
    return acquired && this.#permit(wanted, acquired)
  }

  /**
   * Changes the number of permits of the semaphore. If the number grows, waiting callers may get permits
   * immediately. If the number falls, no holder loses a permit.
   */
  async resize(name: Bytes, of: number, options?: CallOptions): Promise<void> {
    const limits = callArgs('semaphores.resize', options)
    const asked = [OP.resize, semaphoreKey(this.prefix, name), permitsArg(of, 'of')] as const
    await this.port.command(asked, limits).result
  }

  /**
   * Lists all permits that are held, in the order of the names of their semaphores. The read is linearizable.
   */
  async query<A extends As = S>(prefix?: Bytes, options?: LockQueryOptions<A>): Promise<PermitInfo<A>[]> {
    const infos = queryHolds(this.port, 'semaphores.query', KIND.semaphore, prefix, options, toPermitInfo)
    return infos as Promise<PermitInfo<A>[]>
  }

  #permit({ name, share }: Wanted, { holder, validity }: Acquired): Permit<S> {
    const parts = { port: this.port, holder, validity, name }
    return new Permit<S>(parts, share?.[0] ?? 1)
  }
}

const semaphoreKey = (above: Uint8Array, name: Bytes): Uint8Array =>
  lockKeyOf(KIND.semaphore, keyArg(above, name, 'name'))

function wantedPermits(above: Uint8Array, name: Bytes, options: Partial<PermitOptions>): Wanted {
  const of = permitsArg(options.of, 'of')
  const permits = options.permits === undefined ? 1 : permitsArg(options.permits, 'permits')
  if (permits > of) throw new TypeError(`permits must be at most of, which is ${of}; got ${permits}`)
  return wantedOf(semaphoreKey(above, name), name, [permits, of])
}
