// Driver: store.webLocks, which offers the calls of navigator.locks (the Web Locks API of browsers) for the
// cluster. The names of web locks are separate from the names of store.locks.

import { text } from '@latchkey/base'
import {
  KIND,
  type LockInfoResult,
  lockKeyOf,
  nameOfLockKey,
  READ,
  type ShareArg,
  toSignal,
} from '@latchkey/protocol'
import { type Acquired, type Wanted, acquire, enter } from './acquire-call.js'
import { HoldCalls } from './lock-calls-base.js'
import { keyArg, prefixArg } from './lock-arguments.js'
import { modeOf } from './owner-from-wire-format.js'

export type WebLockMode = 'exclusive' | 'shared'

/** The same as `LockOptions` of the Web Locks API. */
export interface WebLockOptions {
  mode?: WebLockMode | undefined
  /** If true and the lock is not free, the callback gets null instead of the lock. */
  ifAvailable?: boolean | undefined
  /**
   * If true, the request takes the lock from its present holders. Their requests reject with an AbortError.
   */
  steal?: boolean | undefined
  /** If this signal aborts while the request waits, the request rejects with the signal's reason. */
  signal?: AbortSignal | undefined
}

/** The same as `Lock` of the Web Locks API, with the signal of the hold. */
export interface WebLock {
  readonly name: string
  readonly mode: WebLockMode
  /** Aborts when the lock is lost or stolen. The Web Locks API has no such signal. */
  readonly signal: AbortSignal
}

/** The same as `LockInfo` of the Web Locks API. `clientId` is the id of the hold or of the waiter. */
export interface WebLockInfo {
  name: string
  mode: WebLockMode
  clientId: string
}
export interface WebLockSnapshot {
  held: WebLockInfo[]
  pending: WebLockInfo[]
}

type Callback<T> = (lock: WebLock | null) => T | Promise<T>

/** In ms. The lease is short, because a holder learns from its next renewal that its lock was stolen. */
const LEASE = 3_000
const SHARED: ShareArg = [1, 0]
const MODES: readonly unknown[] = ['exclusive', 'shared']

export class WebLocks extends HoldCalls {
  /**
   * Runs the callback while the lock is held, and settles like the callback's promise. If the lock is lost
   * while the callback runs, the request rejects with an AbortError.
   * ```ts
   * await store.webLocks.request('report', async (lock) => render({ signal: lock.signal }))
   * ```
   */
  request<T>(name: string, callback: (lock: WebLock) => T | Promise<T>): Promise<T>
  request<T>(name: string, options: WebLockOptions, callback: Callback<T>): Promise<T>
  async request<T>(
    name: string,
    options: WebLockOptions | ((lock: WebLock) => T | Promise<T>),
    callback?: Callback<T>,
  ): Promise<T> {
    const [given, run] =
      typeof options === 'function' ? [{}, options as Callback<T>] : [options ?? {}, callback]
    if (typeof run !== 'function') throw new TypeError('request needs a callback')
    const asked = askedOf(name, given)
    const { signal, ifAvailable, mode } = asked
    signal?.throwIfAborted()
    const wanted = {
      key: lockKeyOf(KIND.webLock, keyArg(this.prefix, asked.name, 'name')),
      name: asked.name,
      share: mode === 'shared' ? SHARED : undefined,
      steals: asked.steal,
    }
    const acquired = await this.#acquired(wanted, ifAvailable, signal)
    return acquired === undefined ? run(null) : held(acquired, asked, run)
  }

  async #acquired(
    wanted: Wanted,
    ifAvailable: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Acquired | undefined> {
    const terms = { lease: LEASE, signal }
    try {
      return await (ifAvailable
        ? enter(this.services, wanted, terms, false)
        : acquire(this.services, wanted, terms))
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
  }

  /** Resolves to the held locks and the waiting requests of all processes. */
  async query(): Promise<WebLockSnapshot> {
    const { port, prefix } = this
    const asked = [READ.lockQuery, prefixArg(prefix, undefined, KIND.webLock), true, false] as const
    const rows = (await port.read(asked, { timeout: QUERY_TIMEOUT })) as LockInfoResult[]
    const pending = new Map<string, WebLockInfo>()
    const held = rows.map(([key, id, , , , , , , queue, permits]) => {
      const name = text(nameOfLockKey(key).subarray(prefix.length))
      for (const [clientId, , , wanted] of queue ?? [])
        pending.set(`${name}/${clientId}`, { name, mode: modeOf(wanted), clientId })
      return { name, mode: modeOf(permits), clientId: id }
    })
    return { held, pending: [...pending.values()] }
  }
}

const QUERY_TIMEOUT = 5_000

/**
 * Runs the callback under the hold. If the hold is lost, the request rejects immediately, as in browsers,
 * even if the callback has not ended yet.
 */
async function held<T>({ holder, validity }: Acquired, { name, mode }: Asked, run: Callback<T>): Promise<T> {
  const { signal } = validity
  let lose: () => void = () => {}
  const lost = new Promise<never>((_, reject) => {
    lose = () =>
      reject(new DOMException(`The lock ${JSON.stringify(name)} was lost or stolen.`, 'AbortError'))
    signal.addEventListener('abort', lose, { once: true })
  })
  lost.catch(() => {})
  try {
    const result = await Promise.race([run({ name, mode, signal }), lost])
    if (await holder.leaveAll()) lose()
    return await (signal.aborted ? lost : result)
  } finally {
    signal.removeEventListener('abort', lose)
    await holder.leaveAll().catch(() => {})
  }
}

interface Asked {
  readonly name: string
  readonly mode: WebLockMode
  readonly ifAvailable: boolean
  readonly steal: boolean
  readonly signal: AbortSignal | undefined
}

/** Makes the checks of the Web Locks API, in the same order. Unknown options are ignored, as in that API. */
function askedOf(name: unknown, options: WebLockOptions): Asked {
  if (typeof options !== 'object') throw new TypeError('options must be an object')
  const { mode = 'exclusive', ifAvailable = false, steal = false, signal } = options
  if (!MODES.includes(mode)) throw new TypeError(`mode must be 'exclusive' or 'shared'; got ${String(mode)}`)
  toSignal(signal)
  const asked = String(name)
  if (asked.startsWith('-')) throw notSupported('a name must not begin with "-"')
  if (steal && ifAvailable) throw notSupported('steal and ifAvailable exclude each other')
  if (steal && mode !== 'exclusive') throw notSupported('only an exclusive lock can be stolen')
  if (signal !== undefined && (steal || ifAvailable))
    throw notSupported('a signal goes with neither steal nor ifAvailable')
  return { name: asked, mode, ifAvailable: Boolean(ifAvailable), steal: Boolean(steal), signal }
}

const notSupported = (why: string): DOMException =>
  new DOMException(`webLocks.request: ${why}.`, 'NotSupportedError')
