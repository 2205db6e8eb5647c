// Driver: the calls of store.locks. Each acquire uses a holder of its own, so that no hold is reentrant by
// accident.

import { AsyncLocalStorage } from 'node:async_hooks'
import { binary, copyBytes } from '@latchkey/base'
import {
  type As,
  type Bytes,
  CALL_OPTIONS,
  type CallOptions,
  type Duration,
  knownNames,
  LatchkeyError,
  type LockInfo,
  type LockHolder,
  type LockInfoResult,
  OP,
  READ,
  refuseUnknown,
  type LockQueryOptions,
  show,
  toRecord,
  readArgs,
  decodingArg,
} from '@latchkey/protocol'
import {
  contextArg,
  durationArg,
  fencingKeyArg,
  keyArg,
  lockSpan,
  leaseArg,
  optionsArg,
  prefixArg,
  signalArg,
  tokenArg,
} from './lock-arguments.js'
import type { Place } from './acquisition.js'
import { DEFAULT_TIMEOUT } from './distributed-lock.js'
import { Hold } from './hold.js'
import { Holder } from './holder.js'
import type { LockWatchEvent, LockWatchOptions } from './lock-watch-event.js'
import { toLockInfo } from './owner-decoding.js'
import type { LockCallOptions } from './lock-port.js'
import type { Watchdog } from './watchdog.js'

/** The options of acquire, tryAcquire and withLock. */
export interface AcquireOptions {
  /** Default '10s'. */
  lease?: Duration | undefined
  /**
   * The time in the fair queue. After it the call rejects with ERR_TIMEOUT, or with ERR_NO_LEADER if no
   * leader is known. Default: no limit; for tryAcquire one attempt.
   */
  wait?: Duration | undefined
  /** Whether the hold is renewed at 2/3 of its lease. Default: true. */
  renew?: boolean | undefined
  /** When it aborts, the caller leaves the queue and the call rejects with ERR_ABORTED. */
  signal?: AbortSignal | undefined
  /** The counter that the token comes from; default: the store's own. A lock must always use the same one. */
  fencingKey?: Bytes | null | undefined
  /** Up to 4 KiB that other callers see as the holder's context, for example a host name or a job. */
  context?: Bytes | undefined
}

/** A lock that withLock holds around the current asynchronous call, and the one around that. */
interface Flow {
  readonly key: string
  readonly outer: Flow | undefined
  active: boolean
}

const DEFAULT_LEASE = 10_000
const HOLDER_TIMEOUT = 500

const QUERY_OPTIONS = knownNames('queue', 'as', 'consistency', 'timeout', 'signal')
const WATCH_OPTIONS = knownNames('as', 'renewals', 'signal')
const ACQUIRE_OPTIONS = knownNames('lease', 'wait', 'renew', 'signal', 'fencingKey', 'context')

/**
 * Locks for most callers: `store.locks`. A hold is never reentrant, is renewed by default, and waiters are
 * granted in order.
 */
export class Locks<S extends As = 'bytes'> {
  readonly #place: Place
  readonly #watchdog: Watchdog
  readonly #releaseAll: (limits: LockCallOptions) => Promise<number>
  readonly #flow = new AsyncLocalStorage<Flow>()

  /** Internal. `watchdog` is the store's own and renews the holds that are acquired here. */
  constructor(place: Place, watchdog: Watchdog, releaseAll: (limits: LockCallOptions) => Promise<number>) {
    this.#place = place
    this.#releaseAll = releaseAll
    this.#watchdog = watchdog
  }

  /**
   * Waits in the queue until the lock is granted.
   * ```ts
   * await using hold = await store.locks.acquire('orders/42', { lease: '10s', wait: '30s' })
   * await hold.kv.put('orders/42/state', 'charged') // ERR_FENCED if the hold is gone
   * ```
   */
  async acquire(key: Bytes, options?: AcquireOptions): Promise<Hold<S>> {
    return this.#acquire('acquire', key, options)
  }

  async #acquire(call: string, key: Bytes, options: AcquireOptions | undefined): Promise<Hold<S>> {
    const given = optionsArg(call, options, ACQUIRE_OPTIONS)
    this.#refuseDeadlock(keyArg(key), durationArg(given.wait, 'wait'))
    const { clock } = this.#place.port
    const began = clock.now()
    const hold = await this.#enter(key, given, true)
    if (hold !== undefined) return hold
    throw await this.#waitIsOver(key, Math.round(clock.now() - began))
  }

  /**
   * The caller must be able to tell a lock that others hold from a cluster without a leader, so the two have
   * different codes.
   */
  async #waitIsOver(given: Bytes, waitedMillis: number): Promise<LatchkeyError> {
    const key = typeof given === 'string' ? given : copyBytes(given)
    const leaderless = this.#place.port.noLeader()
    if (leaderless !== undefined) {
      const { message, missing } = leaderless
      return new LatchkeyError('ERR_NO_LEADER', message, { missing, key, waitedMillis })
    }
    const holder = await this.#holderOf(keyArg(given))
    const whose = holder === undefined ? '' : ` ${describeHolder(holder)}`
    const message = `The wait of ${waitedMillis} ms was over before the lock was free.${whose} Try again, or wait longer.`
    return new LatchkeyError('ERR_TIMEOUT', message, { key, waitedMillis, holder })
  }

  /**
   * The holder, for an error message. The read has a short timeout. If it fails, for example because this
   * client may not read, the message names no holder.
   */
  async #holderOf(key: Uint8Array): Promise<LockHolder | undefined> {
    const read = [READ.lockQuery, key, false, true] as const
    const rows = await this.#place.port.read(read, { timeout: HOLDER_TIMEOUT }).catch(() => [])
    const [row] = rows as LockInfoResult[]
    if (row === undefined) return undefined
    const { id, context, fencingToken, remainingMillis, sinceMillis } = toLockInfo(
      row,
      this.#place.port.decoding,
    )
    return { id, context, fencingToken, remainingMillis, sinceMillis }
  }

  /** Makes one attempt, or waits if `wait` is given. Resolves to undefined if another holder has the lock. */
  async tryAcquire(key: Bytes, options?: AcquireOptions): Promise<Hold<S> | undefined> {
    return this.#enter(key, optionsArg('tryAcquire', options, ACQUIRE_OPTIONS), false)
  }

  /**
   * Acquires the lock, runs fn, releases the lock, and resolves to fn's result. If the hold was lost before
   * fn settled it rejects with ERR_LOCK_LOST, unless fn itself threw an error.
   * ```ts
   * await store.locks.withLock('orders/42', { lease: '10s' }, async (hold) => {
   *   await chargeCard(order, { signal: hold.signal }) // aborts when the hold can no longer be promised
   *   await hold.kv.put('orders/42/state', 'charged')
   * })
   * ```
   */
  async withLock<T>(
    key: Bytes,
    options: AcquireOptions | undefined,
    fn: (hold: Hold<S>) => T | Promise<T>,
  ): Promise<T>
  /** The same with the default options. */
  async withLock<T>(key: Bytes, fn: (hold: Hold<S>) => T | Promise<T>): Promise<T>
  async withLock<T>(
    key: Bytes,
    options: AcquireOptions | undefined | ((hold: Hold<S>) => T | Promise<T>),
    fn?: (hold: Hold<S>) => T | Promise<T>,
  ): Promise<T> {
    const work = typeof options === 'function' ? options : fn
    if (typeof work !== 'function') throw new TypeError('withLock needs a function')
    const hold = await this.#acquire('withLock', key, typeof options === 'function' ? undefined : options)
    const flow = { key: binary(keyArg(key)), outer: this.#flow.getStore(), active: true }
    try {
      const result = await this.#flow.run(flow, async () => work(hold))
      await settleLoss(hold)
      return result
    } finally {
      flow.active = false
      // A release that is not answered goes on in the background; the caller gets fn's own result or error.
      await hold.release().catch(() => {})
    }
  }

  /** All holds in force, in the order of their keys. A linearizable read. */
  async query<A extends As = S>(prefix?: Bytes, options?: LockQueryOptions<A>): Promise<LockInfo<A>[]> {
    const given = toRecord(options ?? {}, 'options') as LockQueryOptions<A>
    refuseUnknown(given, QUERY_OPTIONS, 'option', 'locks.query')
    const { queue = false, ...rest } = given
    if (typeof queue !== 'boolean') throw new TypeError(`queue must be true or false; got ${show(queue)}`)
    const read = readArgs('locks.query', rest, this.#place.port.decoding)
    const { timeout, signal } = read
    const from = prefix === undefined ? null : prefixArg(prefix)
    const asked = [READ.lockQuery, from, queue, false] as const
    const rows = (await this.#place.port.read(asked, { timeout, signal })) as LockInfoResult[]
    return rows.map((row) => toLockInfo(row, read)) as LockInfo<A>[]
  }

  /**
   * Watches a lock, or all locks whose keys begin with a prefix: each change from now on, in order, across
   * reconnects and changes of leader.
   * ```ts
   * for await (const { type, key } of store.locks.watch({ prefix: 'orders/' }, { as: 'string' })) {
   *   console.log(type, key)
   * }
   * ```
   * Throws a TypeError for a wrong argument; it does not reject. See docs/locks.md, section 9.
   */
  watch<A extends As = S>(
    target: Bytes | { prefix: Bytes },
    options?: LockWatchOptions<A>,
  ): AsyncIterableIterator<LockWatchEvent<A>> {
    const { port } = this.#place
    const given = optionsArg('locks.watch', options, WATCH_OPTIONS)
    const { renewals = false } = given
    if (typeof renewals !== 'boolean') throw new TypeError('renewals must be true or false')
    const decoding = decodingArg(given, port.decoding)
    const signal = signalArg(given.signal)
    const events = port.watchLocks({ ...lockSpan(target), renewals, decoding, signal })
    return events as AsyncIterableIterator<LockWatchEvent<A>>
  }

  /**
   * For operators. true: exactly that hold was in force and has ended, with all its acquires; the first
   * waiter was granted the lock.
   */
  async forceRelease(key: Bytes, token: number, options?: CallOptions): Promise<boolean> {
    const { timeout, signal } = optionsArg('forceRelease', options, CALL_OPTIONS)
    const call = this.#place.port.command([OP.forceRelease, keyArg(key), tokenArg(token)], {
      timeout: durationArg(timeout, 'timeout') ?? DEFAULT_TIMEOUT,
      signal: signalArg(signal),
    })
    return (await call.result) as boolean
  }

  /**
   * Releases every lock that this store holds in one request, also those of `getDistributedLock`, and
   * resolves to their number. Waiting callers keep waiting. The signals of the holds abort first, because the
   * work under them has to stop.
   */
  async releaseAll(options?: CallOptions): Promise<number> {
    const { timeout, signal } = optionsArg('releaseAll', options, CALL_OPTIONS)
    return this.#releaseAll({
      timeout: durationArg(timeout, 'timeout') ?? DEFAULT_TIMEOUT,
      signal: signalArg(signal),
    })
  }

  async #enter(key: Bytes, options: Partial<AcquireOptions>, waits: boolean): Promise<Hold<S> | undefined> {
    const wait = durationArg(options.wait, 'wait')
    const renew = renewArg(options.renew)
    const terms = {
      key: keyArg(key),
      fencingKey: fencingKeyArg(options.fencingKey),
      lease: options.lease === undefined ? DEFAULT_LEASE : leaseArg(options.lease),
      watchdog: renew ? this.#watchdog : undefined,
    }
    const holder = new Holder(this.#place, terms)
    const queues = waits || wait !== undefined
    const limit = holder.limit(wait ?? (queues ? undefined : DEFAULT_TIMEOUT), signalArg(options.signal))
    const context = contextArg(options.context)
    // enter resolves to true only while the lock is held, and there is no await before the validity is read.
    while (await holder.enter({ context, waits: queues, limit })) {
      const { validity } = holder
      if (validity === undefined) continue
      return new Hold<S>(
        this.#place.port,
        holder,
        validity,
        typeof key === 'string' ? key : copyBytes(terms.key),
      )
    }
    return undefined
  }

  /**
   * Without a `wait` the call would wait for its own caller's lock for ever. With a `wait` it just times out.
   */
  #refuseDeadlock(key: Uint8Array, wait: number | undefined): void {
    const inner = this.#flow.getStore()
    if (wait !== undefined || inner === undefined) return
    const wanted = binary(key)
    for (let flow: Flow | undefined = inner; flow !== undefined; flow = flow.outer) {
      if (flow.active && flow.key === wanted) throw new LatchkeyError('ERR_DEADLOCK')
    }
  }
}

const CLOSED_MEANWHILE =
  'The store was closed, and the lock released, before the work was done. Close the store after the work has ended.'

/** A context that is a string is part of the message; one of bytes is not. */
function describeHolder({ id, context, fencingToken, remainingMillis, sinceMillis }: LockHolder): string {
  const what =
    typeof context === 'string' && context !== '' ? ` (${JSON.stringify(context.slice(0, 64))})` : ''
  return `${id}${what} has held it for ${sinceMillis} ms, with token ${fencingToken}, and has ${remainingMillis} ms of its lease left.`
}

/**
 * Finds out by the release whether the hold was lost before the work was done. A hold that fn released itself
 * was not lost.
 */
async function settleLoss(hold: Hold<As>): Promise<void> {
  const loss = await hold.end().catch(() => hold.loss)
  if (loss === undefined) return
  const message = loss.code === 'ERR_CLOSED' ? CLOSED_MEANWHILE : undefined
  throw new LatchkeyError('ERR_LOCK_LOST', message, { cause: loss })
}

function renewArg(renew: unknown): boolean {
  if (renew === undefined || typeof renew === 'boolean') return renew ?? true
  throw new TypeError('renew must be a boolean')
}
