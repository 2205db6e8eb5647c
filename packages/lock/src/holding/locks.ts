// Driver: the calls of store.locks. Each acquire uses a new Holder, so that no hold is reentrant by accident.

import { binary } from '@latchkey/base'
import {
  type As,
  type Bytes,
  type CallOptions,
  CAPS,
  type Duration,
  KIND,
  knownNames,
  LatchkeyError,
  type LockInfo,
  type LockHistory,
  type LockHistoryOptions,
  type LockMode,
  lockKeyOf,
  OP,
  READ,
  refuseUnknown,
  show,
  toLockHistory,
  toRecord,
  type LockListOptions,
  shownLockKey,
  decodingArg,
  toSignal,
  callArgs,
  toToken,
} from '@latchkey/protocol'
import {
  durationArg,
  holdKindArg,
  keyArg,
  lockKeyArg,
  lockSpan,
  kindsArg,
  modeArg,
  optionsArg,
} from './lock-arguments.js'
import {
  ACQUIRE_OPTIONS,
  type Acquired,
  type WaitOptions,
  WAIT_OPTIONS,
  type Wanted,
  acquire,
  acquireAll,
  enter,
  enterAll,
  wantedOf,
} from './acquire-call.js'
import type { LockServices } from './shared-by-all-acquisitions.js'
import { HoldCalls, queryHolds } from './lock-calls-base.js'
import { Hold } from './hold.js'
import type { HoldSet } from './lock-set-hold.js'
import type { LockWatchEvent, LockWatchOptions } from './lock-watch-types.js'
import { toHoldInfo, toLockInfo } from './owner-from-wire-format.js'
import type { LockCallOptions } from './lock-port-interface.js'

/** The options of acquire, tryAcquire and withLock. */
export interface AcquireOptions extends WaitOptions {
  /**
   * Several 'shared' holds can be in force together. An 'exclusive' hold excludes all other holds. All
   * requests wait in one queue, in the order of their arrival. Default: 'exclusive'.
   */
  mode?: LockMode | undefined
  /**
   * The interval of rotations, at least 100 ms. After each interval the store rotates the token, as
   * `hold.rotate()` does.
   */
  rotateEvery?: Duration | undefined
}

/** A lock of acquireAll: its key, or its key and mode. */
export type LockOfSet = Bytes | { readonly key: Bytes; readonly mode?: LockMode | undefined }
/** The options of acquireAll and tryAcquireAll. */
export type SetOptions = WaitOptions
const SET_OPTIONS = knownNames(...WAIT_OPTIONS)
const LOCK_OF_SET = knownNames('key', 'mode')

function lockOfSetArg(one: LockOfSet): { readonly key: Bytes; readonly mode?: LockMode | undefined } {
  if (typeof one === 'string' || one instanceof Uint8Array) return { key: one }
  const given = toRecord(one, 'keys')
  refuseUnknown(given, LOCK_OF_SET, 'field', 'keys')
  return given as { key: Bytes; mode?: LockMode }
}

const HISTORY_OPTIONS = knownNames('kind', 'timeout', 'signal')
const WATCH_OPTIONS = knownNames('as', 'renewals', 'signal')

/**
 * The locks for most callers, `store.locks`. A hold is never reentrant. By default, the store renews each
 * hold. Waiters get the lock in the order of their arrival.
 */
export class Locks<S extends As = 'bytes'> extends HoldCalls {
  readonly #releaseAll: (limits: LockCallOptions) => Promise<number>

  /** Internal: the store creates this object. */
  constructor(services: LockServices, releaseAll: (limits: LockCallOptions) => Promise<number>) {
    super(services)
    this.#releaseAll = releaseAll
  }

  /**
   * Waits in the queue until the lock is granted.
   * ```ts
   * await using hold = await store.locks.acquire('orders/42', { lease: '10s', wait: '30s' })
   * await hold.kv.put('orders/42/state', 'charged') // ERR_FENCED if the hold is over
   * ```
   */
  async acquire(key: Bytes, options?: AcquireOptions): Promise<Hold<S>> {
    return (await this.#acquire('acquire', key, options)).hold
  }

  async #acquire(call: string, key: Bytes, options: AcquireOptions | undefined) {
    const given = optionsArg(call, options, ACQUIRE_OPTIONS)
    const wanted = this.#wanted(key, given)
    this.#refuseDeadlock(wanted.key, durationArg(given.wait, 'wait'))
    const every = rotateArg(given.rotateEvery)
    const acquired = await acquire(this.services, wanted, given)
    return { hold: this.#hold(wanted, acquired, every), id: acquired.validity.id }
  }

  /**
   * Makes one attempt, or waits in the queue for the time `wait`, if the call has this option. Resolves to
   * undefined if the lock was not granted.
   */
  async tryAcquire(key: Bytes, options?: AcquireOptions): Promise<Hold<S> | undefined> {
    const given = optionsArg('tryAcquire', options, ACQUIRE_OPTIONS)
    const wanted = this.#wanted(key, given)
    const every = rotateArg(given.rotateEvery)
    const acquired = await enter(this.services, wanted, given, false)
    return acquired && this.#hold(wanted, acquired, every)
  }

  /**
   * Acquires several locks in one step: all of them or none. The call takes no lock before it can take all of
   * them. So two callers with the same locks never wait for each other, even if they name the keys in
   * different orders. A set has 1 to 64 keys. Each key has its own token and may have its own mode. See
   * docs/locks.md, section 12.
   * ```ts
   * await using set = await store.locks.acquireAll(['account/1', 'account/2'], { wait: '30s' })
   * await set.kv.batch(transfer) // ERR_FENCED if one of the two locks is lost
   * ```
   */
  async acquireAll(keys: readonly LockOfSet[], options?: SetOptions): Promise<HoldSet<S>> {
    const given = optionsArg('acquireAll', options, SET_OPTIONS)
    const wanted = this.#wantedAll(keys)
    for (const { key } of wanted) this.#refuseDeadlock(key, durationArg(given.wait, 'wait'))
    return acquireAll<S>(this.services, wanted, given)
  }

  /**
   * Makes one attempt, or waits in the queues for the time `wait`, if the call has this option. Resolves to
   * undefined if the locks were not granted.
   */
  async tryAcquireAll(keys: readonly LockOfSet[], options?: SetOptions): Promise<HoldSet<S> | undefined> {
    const given = optionsArg('tryAcquireAll', options, SET_OPTIONS)
    return enterAll<S>(this.services, this.#wantedAll(keys), given, false)
  }

  #wantedAll(keys: readonly LockOfSet[]): Wanted[] {
    if (!Array.isArray(keys)) throw new TypeError(`keys must be an array; got ${show(keys)}`)
    if (keys.length === 0 || keys.length > CAPS.keysOfSet)
      throw new TypeError(`keys must have 1 to ${CAPS.keysOfSet} entries; got ${keys.length}`)
    const wanted = (keys as readonly LockOfSet[]).map((one) => {
      const { key, mode } = lockOfSetArg(one)
      return this.#wanted(key, { mode })
    })
    const seen = new Set<string>()
    for (const { key, name } of wanted) {
      if (seen.has(binary(key))) throw new TypeError(`keys has ${show(name)} twice`)
      seen.add(binary(key))
    }
    return wanted
  }

  /**
   * Acquires the lock, runs fn, releases the lock, and resolves to fn's result. If fn throws an error,
   * the call rejects with that error. If the hold was lost before fn settled, and fn threw no error, the call
   * rejects with ERR_LOCK_LOST.
   * ```ts
   * await store.locks.withLock('orders/42', { lease: '10s' }, async (hold) => {
   *   await chargeCard(order, { signal: hold.signal }) // aborts before the hold can be lost
   *   await hold.kv.put('orders/42/state', 'charged')
   * })
   * ```
   */
  async withLock<T>(
    key: Bytes,
    options: AcquireOptions | undefined,
    fn: (hold: Hold<S>) => T | Promise<T>,
  ): Promise<T>
  /** The same call with the default options. */
  async withLock<T>(key: Bytes, fn: (hold: Hold<S>) => T | Promise<T>): Promise<T>
  async withLock<T>(
    key: Bytes,
    options: AcquireOptions | undefined | ((hold: Hold<S>) => T | Promise<T>),
    fn?: (hold: Hold<S>) => T | Promise<T>,
  ): Promise<T> {
    const work = typeof options === 'function' ? options : fn
    if (typeof work !== 'function') throw new TypeError('withLock needs a function')
    const given = typeof options === 'function' ? undefined : options
    const { hold, id } = await this.#acquire('withLock', key, given)
    const { around } = this.services
    const wanted = lockKeyArg(this.prefix, key)
    const own = around.inside({ key: binary(wanted), id, flow: given?.flow ?? null })
    try {
      const run = () => around.run(own, async () => work(hold))
      const { observer } = this.port
      const result = await (observer?.isOn ? observer.work(wanted, hold.token, run) : run())
      await throwIfLost(hold)
      return result
    } finally {
      own.active = false
      // A release without an answer continues in the background, so its error is ignored here. The caller
      // gets the result or the error of fn.
      await hold.release().catch(() => {})
    }
  }

  /**
   * Resolves to all holds of locks in force, in the order of their keys. `{ kind }` asks for the holds of
   * semaphores, elections or web locks, or for all holds. The read is linearizable.
   */
  async query<A extends As = S>(prefix?: Bytes, options?: LockListOptions<A>): Promise<LockInfo<A>[]> {
    const { port } = this
    const { kind, ...rest } = (options ?? {}) as LockListOptions<A>
    if (kind === undefined)
      return queryHolds(port, 'locks.query', KIND.lock, prefix, options, toLockInfo) as Promise<LockInfo<A>[]>
    const lists = kindsArg(kind).map((one) =>
      queryHolds(port, 'locks.query', KIND[one], prefix, rest, (row, how) => toHoldInfo(one, row, how)),
    )
    return (await Promise.all(lists)).flat() as LockInfo<A>[]
  }

  /**
   * Resolves to the last changes of one lock, in their order: the acquires, losses, releases and waits. Each
   * member remembers the last 1,024 changes of all locks together, since its start. A restart forgets these
   * changes. `sinceMillis` of the answer says how far back the memory of that member goes.
   * ```ts
   * for (const { type, context, agoMillis } of await store.locks.history('orders/42'))
   *   console.log(`${agoMillis} ms ago`, type, context)
   * ```
   */
  async history(key: Bytes, options?: LockHistoryOptions): Promise<LockHistory> {
    const { kind = 'lock', ...rest } = optionsArg('locks.history', options, HISTORY_OPTIONS)
    const limits = callArgs('locks.history', rest)
    const name = keyArg(this.prefix, key)
    const asked = [READ.lockHistory, lockKeyOf(KIND[holdKindArg(kind)], name)] as const
    return toLockHistory(await this.port.read(asked, limits))
  }

  /**
   * Watches a lock, or all locks whose keys begin with a prefix. The watch yields each later change, in
   * order, across reconnects and changes of leader.
   * ```ts
   * for await (const { type, key } of store.locks.watch({ prefix: 'orders/' }, { as: 'string' })) {
   *   console.log(type, key)
   * }
   * ```
   * The call throws a TypeError for a wrong argument, and does not reject. See docs/locks.md, section 9.
   */
  watch<A extends As = S>(
    target: Bytes | { prefix: Bytes },
    options?: LockWatchOptions<A>,
  ): AsyncIterableIterator<LockWatchEvent<A>> {
    const { port } = this.services
    const given = optionsArg('locks.watch', options, WATCH_OPTIONS)
    const { renewals = false } = given
    if (typeof renewals !== 'boolean') throw new TypeError('renewals must be true or false')
    const decoding = decodingArg(given, port.decoding)
    const signal = toSignal(given.signal)
    const events = port.watchLocks({ ...lockSpan(this.prefix, target), renewals, decoding, signal })
    return events as AsyncIterableIterator<LockWatchEvent<A>>
  }

  /**
   * Ends the hold with this token and all its acquires. The first waiter gets the lock. Resolves to true if
   * the hold was in force. This call is for operators.
   */
  async forceRelease(key: Bytes, token: number, options?: CallOptions): Promise<boolean> {
    const limits = callArgs('forceRelease', options)
    const asked = [OP.forceRelease, lockKeyArg(this.prefix, key), toToken(token, 'token')] as const
    return (await this.port.command(asked, limits).result) as boolean
  }

  /**
   * Releases all locks of this store in one request, also the locks of `getDistributedLock`. Resolves to the
   * number of released locks. Waiting callers continue to wait. Before the request is sent, the signals of
   * the holds abort, because the work under the holds has to stop.
   */
  async releaseAll(options?: CallOptions): Promise<number> {
    return this.#releaseAll(callArgs('releaseAll', options))
  }

  #wanted(key: Bytes, { mode }: Partial<AcquireOptions>): Wanted {
    return wantedOf(lockKeyArg(this.prefix, key), key, modeArg(mode))
  }

  #hold({ name, share }: Wanted, { holder, validity }: Acquired, rotateEvery: number | undefined): Hold<S> {
    const parts = { port: this.port, holder, validity, name }
    return new Hold<S>(parts, share === undefined ? 'exclusive' : 'shared', rotateEvery)
  }

  /**
   * Refuses a call inside `withLock` of the same lock, because the call would wait for ever for the hold of
   * its own caller. A call with a time limit `wait` is allowed.
   */
  #refuseDeadlock(key: Uint8Array, wait: number | undefined): void {
    if (wait !== undefined) return
    const wanted = binary(key)
    if (this.services.around.holds().some((hold) => hold.key === wanted))
      throw new LatchkeyError('ERR_DEADLOCK', undefined, { key: shownLockKey(key, this.port.decoding) })
  }
}

const CLOSED_MEANWHILE =
  'The store was closed, and the lock released, before the work was done. Close the store after the work has ended.'

/**
 * Releases the hold after the function of the user has ended. Throws ERR_LOCK_LOST if the hold was lost while
 * the user's function ran. If the user's function has released the hold itself, the hold does not count as
 * lost.
 */
async function throwIfLost(hold: Hold<As>): Promise<void> {
  const loss = await hold.end().catch(() => hold.loss)
  if (loss === undefined) return
  const message = loss.code === 'ERR_CLOSED' ? CLOSED_MEANWHILE : undefined
  const { key, token } = hold
  throw new LatchkeyError('ERR_LOCK_LOST', message, { cause: loss, key, token })
}

function rotateArg(every: unknown): number | undefined {
  const ms = durationArg(every, 'rotateEvery')
  if (ms === undefined || ms >= LEAST_ROTATION) return ms
  throw new TypeError(`rotateEvery must be at least ${LEAST_ROTATION} ms; got ${ms} ms`)
}
const LEAST_ROTATION = 100
