// Driver: runs one call of acquire or tryAcquire, for locks, semaphores and elections. This file checks the
// options, enters the queue, and makes the error of a wait that has ended without the lock.

import { copyBytes } from '@latchkey/base'
import {
  type As,
  type Bytes,
  describeHolder,
  type Duration,
  knownNames,
  LatchkeyError,
  type LockHolder,
  type LockInfoResult,
  READ,
  type ShareArg,
  toSignal,
  DEFAULT_TIMEOUT,
} from '@latchkey/protocol'
import type { LockServices } from './shared-by-all-acquisitions.js'
import { CallLimit } from './call-deadline-or-abort.js'
import { flowArg } from './flow-for-deadlock-detection.js'
import type { HoldValidity } from './hold-validity.js'
import { HoldSet } from './lock-set-hold.js'
import { Holder } from './lock-object-acquisition-and-request-order.js'
import { contextArg, durationArg, fencingKeyArg, leaseArg } from './lock-arguments.js'
import { toContext } from './owner-from-wire-format.js'
import { SetAcquisition } from './lock-set-acquisition.js'

/** The options that acquire and tryAcquire have for locks and for semaphores. */
export interface WaitOptions {
  /** How long the hold stays in force without a renewal. Default '10s'. */
  lease?: Duration | undefined
  /**
   * How long the call may wait in the fair queue. After this time acquire rejects with ERR_TIMEOUT, or with
   * ERR_NO_LEADER if no leader is known, and tryAcquire resolves to undefined. The default is no limit for
   * acquire, and one attempt for tryAcquire.
   */
  wait?: Duration | undefined
  /** Whether the hold is renewed when 2/3 of its lease are over. Default: true. */
  renew?: boolean | undefined
  /** If this signal aborts, the caller leaves the queue and the call rejects with ERR_ABORTED. */
  signal?: AbortSignal | undefined
  /**
   * The counter from which the token is drawn. The default is the store's own counter. A lock must always use
   * the same counter. Otherwise a later token could be lower than an earlier token.
   */
  fencingKey?: Bytes | null | undefined
  /**
   * Up to 4 KiB that other callers can read while this caller holds the lock, for example a host name or a
   * job.
   */
  context?: Bytes | undefined
  /**
   * The name of the flow, up to 256 bytes. A flow is work that takes its locks one at a time. If a wait would
   * make flows wait for each other in a circle, the call rejects with ERR_DEADLOCK immediately. The default
   * is the flow of the withLock around the call.
   */
  flow?: string | undefined
}
export const WAIT_OPTIONS = ['lease', 'wait', 'renew', 'signal', 'fencingKey', 'context', 'flow'] as const
export const ACQUIRE_OPTIONS = knownNames(...WAIT_OPTIONS, 'mode', 'rotateEvery')

const DEFAULT_LEASE = 10_000
/**
 * In ms: the timeout of a read of the present holder. When a wait ends without the lock, this read is made so
 * that the error can name the holder.
 */
const HOLDER_TIMEOUT = 500

export interface Wanted {
  readonly key: Uint8Array
  readonly name: Bytes
  readonly share: ShareArg | undefined
  readonly steals?: boolean
}

/** The name is copied, because the caller may change the bytes of the name during the wait. */
export const wantedOf = (key: Uint8Array, name: Bytes, share: ShareArg | undefined): Wanted => ({
  key,
  name: typeof name === 'string' ? name : copyBytes(name),
  share,
})

export interface Acquired {
  readonly holder: Holder
  readonly validity: HoldValidity
}

/**
 * Acquires one lock. Resolves to undefined if other callers hold the lock and the call does not wait, or if
 * the wait has ended without the lock.
 */
export async function enter(
  services: LockServices,
  { key, share, steals = false }: Wanted,
  options: Partial<WaitOptions>,
  waits: boolean,
): Promise<Acquired | undefined> {
  const wait = durationArg(options.wait, 'wait')
  const terms = {
    key,
    fencingKey: fencingKeyArg(services.port.decoding.prefix, options.fencingKey),
    lease: options.lease === undefined ? DEFAULT_LEASE : leaseArg(options.lease),
    share,
    steals,
    watchdog: renewArg(options.renew) ? services.watchdog : undefined,
  }
  const flow = flowArg(services.around, options.flow)
  const holder = new Holder(services, terms)
  const queues = waits || wait !== undefined
  const limit = holder.limit(wait ?? (queues ? undefined : DEFAULT_TIMEOUT), toSignal(options.signal))
  const context = contextArg(options.context)
  // The hold could end during a further await. So no await may come between the result of `holder.enter` and
  // the read of `holder.validity`.
  while (await holder.enter({ context, flow, waits: queues, limit })) {
    const { validity } = holder
    if (validity !== undefined) return { holder, validity }
  }
  return undefined
}

/** Acquires several locks in one step. Resolves to undefined in the same cases as `enter`. */
export async function enterAll<S extends As>(
  services: LockServices,
  wanted: readonly Wanted[],
  options: Partial<WaitOptions>,
  waits: boolean,
): Promise<HoldSet<S> | undefined> {
  const { port } = services
  const wait = durationArg(options.wait, 'wait')
  const abort = new AbortController()
  const terms = {
    list: wanted.map(({ key, share }) => [key, share?.[0] ?? 0] as const),
    fencingKey: fencingKeyArg(port.decoding.prefix, options.fencingKey),
    lease: options.lease === undefined ? DEFAULT_LEASE : leaseArg(options.lease),
    context: contextArg(options.context),
    flow: flowArg(services.around, options.flow),
    renews: renewArg(options.renew),
  }
  const queues = waits || wait !== undefined
  const limit = new CallLimit(port, wait ?? (queues ? undefined : DEFAULT_TIMEOUT), toSignal(options.signal))
  for (;;) {
    const acquisition = new SetAcquisition(services, terms, (error) => abort.abort(error))
    const entered = await acquisition.enter(queues, limit)
    if (entered === 'held') {
      const names = wanted.map(({ name }) => name)
      const shares = wanted.map(({ share }) => share !== undefined)
      return new HoldSet<S>({ port, acquisition, names, shares, abort })
    }
    if (entered === 'refused') return undefined
    const { end } = limit
    if (end === 'aborted' || end === 'closed') throw limit.error()
    if (entered === 'broken' && queues) continue
    if (!queues) throw new LatchkeyError('ERR_NO_LEADER')
    return undefined
  }
}

export async function acquireAll<S extends As>(
  services: LockServices,
  wanted: readonly Wanted[],
  options: Partial<WaitOptions>,
): Promise<HoldSet<S>> {
  const { clock } = services.port
  const began = clock.now()
  const set = await enterAll<S>(services, wanted, options, true)
  if (set !== undefined) return set
  throw await waitIsOver(services, wanted, Math.round(clock.now() - began))
}

export async function acquire(
  services: LockServices,
  wanted: Wanted,
  options: Partial<WaitOptions>,
): Promise<Acquired> {
  const { clock } = services.port
  const began = clock.now()
  const acquired = await enter(services, wanted, options, true)
  if (acquired !== undefined) return acquired
  throw await waitIsOver(services, [wanted], Math.round(clock.now() - began))
}

/**
 * Returns the error of a wait that has ended without the lock. The error code tells the caller whether other
 * callers hold the lock, or whether the cluster has no leader.
 */
async function waitIsOver(
  services: LockServices,
  wanted: readonly Wanted[],
  waitedMillis: number,
): Promise<LatchkeyError> {
  const leaderless = services.port.noLeader()
  const held = leaderless === undefined ? await firstHeld(services, wanted) : undefined
  const key = (held?.of ?? wanted[0])?.name
  if (leaderless !== undefined) {
    const { message, missing, leader } = leaderless
    return new LatchkeyError('ERR_NO_LEADER', message, { missing, leader, key, waitedMillis })
  }
  const holder = held?.holder
  const whose = holder === undefined ? '' : ` ${describeHolder(holder)}`
  const message = `The wait of ${waitedMillis} ms was over before the lock was free.${whose} Try again, or wait longer.`
  return new LatchkeyError('ERR_TIMEOUT', message, { key, waitedMillis, holder })
}

async function firstHeld(
  services: LockServices,
  wanted: readonly Wanted[],
): Promise<{ readonly of: Wanted; readonly holder: LockHolder } | undefined> {
  const holders = await Promise.all(wanted.map(({ key }) => holderOf(services, key)))
  for (const [i, holder] of holders.entries())
    if (holder !== undefined) return { of: wanted[i] as Wanted, holder }
  return undefined
}

/**
 * Reads the first holder of a lock for an error message. If the read fails, for example because this client
 * has no right to read, the message names no holder.
 */
async function holderOf({ port }: LockServices, key: Uint8Array): Promise<LockHolder | undefined> {
  const read = [READ.lockQuery, key, false, true] as const
  const rows = await port.read(read, { timeout: HOLDER_TIMEOUT }).catch(() => [])
  const [row] = rows as LockInfoResult[]
  if (row === undefined) return undefined
  const [, id, context, fencingToken, , remainingMillis, , sinceMillis] = row
  return { id, context: toContext(context), fencingToken, remainingMillis, sinceMillis }
}

function renewArg(renew: unknown): boolean {
  if (renew === undefined || typeof renew === 'boolean') return renew ?? true
  throw new TypeError('renew must be a boolean')
}
