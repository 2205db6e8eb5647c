// Driver: the calls of store.elections. An election is an exclusive lock, and its names are separate from the
// names of other locks. The context of the hold is the value that the leader proclaims.

import { keyAfter } from '@latchkey/base'
import {
  type As,
  type Bytes,
  type CallOptions,
  CAPS,
  type Decoding,
  KIND,
  knownNames,
  type LockInfoResult,
  lockKeyOf,
  nameOfLockKey,
  OP,
  READ,
  toUserValue,
  toValue,
  tooLarge,
  type ValueAs,
  type ValueIn,
  toSignal,
  callArgs,
} from '@latchkey/protocol'
import { type WaitOptions, acquire, wantedOf } from './acquire-call.js'
import { HoldCalls } from './lock-calls-base.js'
import { BaseHold, type HoldParts } from './base-hold.js'
import { keyArg, optionsArg } from './lock-arguments.js'
import type { LockWatchEvent } from './lock-watch-types.js'

/** The options of campaign. */
export interface CampaignOptions<S extends As = As>
  extends Pick<WaitOptions, 'lease' | 'wait' | 'signal' | 'flow'> {
  /** The value that `observe` and `leader` return to other processes, for example an address. Up to 4 KiB. */
  value?: ValueIn<S> | undefined
}

/** The present leader of an election. */
export interface Leader<S extends As = 'bytes'> {
  value: ValueAs<S> | undefined
  token: number
  id: string
}

/**
 * One change of an election. An event 'vacant' has the token of the former leader, or the token 0 if there
 * was no leader before.
 */
export interface ElectionEvent<S extends As = 'bytes'> {
  type: 'elected' | 'proclaimed' | 'vacant'
  value: ValueAs<S> | undefined
  token: number
  revision: number
}

const CAMPAIGN_OPTIONS = knownNames('value', 'lease', 'wait', 'signal', 'flow')
const OBSERVE_OPTIONS = knownNames('signal')

/** The leadership of an election, until the caller resigns or loses the leadership. `await using` resigns. */
export class Leadership<S extends As = 'bytes'> extends BaseHold<S> {
  readonly #as: As
  #value: ValueIn<S> | undefined

  /** Internal: `store.elections` creates leaderships. */
  constructor(parts: HoldParts, as: As, value: ValueIn<S> | undefined) {
    super(parts)
    this.#as = as
    this.#value = value
  }

  get name(): string | Uint8Array {
    return this.key
  }

  /** The value that was proclaimed last. */
  get value(): ValueIn<S> | undefined {
    return this.#value
  }

  /**
   * Proclaims another value to observers. Rejects with ERR_LOCK_LOST or ERR_NOT_OWNER if this caller does not
   * lead any more.
   */
  async proclaim(value: ValueIn<S>): Promise<void> {
    const bytes = valueArg(value, this.#as)
    this.assertHeld()
    await this.change([OP.proclaim, bytes])
    this.#value = value
  }

  /** Gives the leadership to the next candidate, in one log entry. A second call does nothing. */
  resign(): Promise<void> {
    return this.release()
  }
}

/**
 * Elections: `store.elections`. An election has at most one leader at a time. Candidates are served in the
 * order of arrival.
 */
export class Elections<S extends As = 'bytes'> extends HoldCalls {
  /**
   * Waits until this caller leads. The leadership is renewed automatically, and can be lost like a lock.
   * ```ts
   * await using leadership = await store.elections.campaign('reports', { value: hostname() })
   * while (leadership.held) await nextReport({ signal: leadership.signal })
   * ```
   */
  async campaign(name: Bytes, options?: CampaignOptions<S>): Promise<Leadership<S>> {
    const { value, ...terms } = optionsArg('elections.campaign', options, CAMPAIGN_OPTIONS)
    const { port } = this
    const { as } = port.decoding
    const context = value === undefined ? undefined : valueArg(value, as)
    const wanted = wantedOf(electionKey(this.prefix, name), name, undefined)
    const { holder, validity } = await acquire(this.services, wanted, { ...terms, context })
    return new Leadership<S>({ port, holder, validity, name: wanted.name }, as, value)
  }

  /** Resolves to the present leader, or to undefined if there is no leader. The read is linearizable. */
  async leader(name: Bytes, options?: CallOptions): Promise<Leader<S> | undefined> {
    const { port } = this
    const limits = callArgs('elections.leader', options)
    const key = electionKey(this.prefix, name)
    const rows = (await port.read([READ.lockQuery, key, false, true], limits)) as LockInfoResult[]
    const [row] = rows
    if (row === undefined) return undefined
    const [, id, context, token] = row
    return { value: proclaimedValue(context, port.decoding, key) as ValueAs<S> | undefined, token, id }
  }

  /**
   * Yields an event for the present leader, or 'vacant' if there is no leader, and then every change in
   * order. The iteration continues across reconnects and across changes of the Raft leader.
   * ```ts
   * for await (const { type, value } of store.elections.observe('reports')) console.log(type, value)
   * ```
   */
  observe(
    name: Bytes,
    options?: { readonly signal?: AbortSignal | undefined },
  ): AsyncIterableIterator<ElectionEvent<S>> {
    const { signal } = optionsArg('elections.observe', options, OBSERVE_OPTIONS)
    const key = electionKey(this.prefix, name)
    const { port } = this
    const events = port.watchLocks({
      start: key,
      end: keyAfter(key),
      renewals: false,
      isElection: true,
      decoding: port.decoding,
      signal: toSignal(signal),
    })
    return new Observed<S>(
      events,
      (context) => proclaimedValue(context, port.decoding, key) as ValueAs<S> | undefined,
    )
  }
}

class Observed<S extends As> implements AsyncIterableIterator<ElectionEvent<S>> {
  readonly #events: AsyncIterableIterator<LockWatchEvent<As>>
  readonly #valueOf: (context: Bytes | undefined) => ValueAs<S> | undefined

  constructor(
    events: AsyncIterableIterator<LockWatchEvent<As>>,
    said: (context: Bytes | undefined) => ValueAs<S> | undefined,
  ) {
    this.#events = events
    this.#valueOf = said
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<ElectionEvent<S>>> {
    for (;;) {
      const { done, value: event } = await this.#events.next()
      if (done === true) return { done, value: undefined }
      const { context, fencingToken: token, revision } = event as LockWatchEvent<As>
      switch ((event as LockWatchEvent<As>).type) {
        case 'acquired':
          return { done: false, value: { type: 'elected', value: this.#valueOf(context), token, revision } }
        case 'proclaimed':
          return {
            done: false,
            value: { type: 'proclaimed', value: this.#valueOf(context), token, revision },
          }
        case 'released':
        case 'expired':
          return { done: false, value: { type: 'vacant', value: undefined, token, revision } }
        default:
      }
    }
  }

  async return(): Promise<IteratorResult<ElectionEvent<S>>> {
    await this.#events.return?.()
    return { done: true, value: undefined }
  }
}

const electionKey = (above: Uint8Array, name: Bytes): Uint8Array =>
  lockKeyOf(KIND.election, keyArg(above, name, 'name'))

function valueArg(value: unknown, as: As): Uint8Array {
  const bytes = toValue(value, as)
  if (bytes.length > CAPS.contextBytes) throw tooLarge('value', bytes.length, CAPS.contextBytes)
  return bytes
}

function proclaimedValue(context: Bytes | null | undefined, decoding: Decoding, key: Uint8Array): unknown {
  if (context === null || context === undefined) return undefined
  const bytes = typeof context === 'string' ? Buffer.from(context) : context
  return toUserValue(bytes, decoding, nameOfLockKey(key))
}
