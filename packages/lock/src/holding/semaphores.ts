// Driver: the calls of store.semaphores. Each acquire uses a holder of its own, as with locks.

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
import { HoldCalls, queryHolds } from './hold-calls.js'
import { BaseHold, type HoldParts } from './base-hold.js'
import { callOptions, keyArg, optionsArg, permitsArg } from './lock-arguments.js'
import { toPermitInfo } from './owner-decoding.js'

/** The options of acquire and tryAcquire of semaphores. */
export interface PermitOptions extends WaitOptions {
  /** How many permits the semaphore has. Another number than the one that it has is ERR_MISMATCH. */
  of: number
  /** How many permits are wanted, together or none. Default: 1. */
  permits?: number | undefined
}
const PERMIT_OPTIONS = knownNames(...WAIT_OPTIONS, 'of', 'permits')

/** Permits of a semaphore that are held. Release them, or let `await using` do it. */
export class Permit<S extends As = 'bytes'> extends BaseHold<S> {
  readonly permits: number

  /** Internal. */
  constructor(parts: HoldParts, permits: number) {
    super(parts)
    this.permits = permits
  }

  /** The name of the semaphore; the same as `key`. */
  get name(): string | Uint8Array {
    return this.key
  }

  /** A permit is shared by its nature, so its token is good enough for writes. */
  protected override guard(): GuardArg {
    return [this.parts.validity.key, this.token, true]
  }
}

/**
 * Semaphores: `store.semaphores`. At most `of` permits are out at a time, across all processes; who waits is
 * served in the order of arrival.
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
    return this.#permit(wanted, await acquire(this.place, wanted, given))
  }

  /** Makes one attempt, or waits if `wait` is given. Resolves to undefined if the permits are not free. */
  async tryAcquire(name: Bytes, options: PermitOptions): Promise<Permit<S> | undefined> {
    const given = optionsArg('semaphores.tryAcquire', options, PERMIT_OPTIONS)
    const wanted = wantedPermits(this.prefix, name, given)
    const acquired = await enter(this.place, wanted, given, false)
    return acquired && this.#permit(wanted, acquired)
  }

  /**
   * Changes how many permits the semaphore has. More of them are granted at once to those who wait; fewer
   * take nothing back from those who hold.
   */
  async resize(name: Bytes, of: number, options?: CallOptions): Promise<void> {
    const limits = callOptions('semaphores.resize', options)
    const asked = [OP.resize, semaphoreKey(this.prefix, name), permitsArg(of, 'of')] as const
    await this.port.command(asked, limits).result
  }

  /** All permits that are out, in the order of their semaphores' names. A linearizable read. */
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
