// Rule: the state of one call, from the request until the answer.

import type { Instant } from '@latchkey/base'
import type { AdminCall, LatchkeyError, LeaderReply, Read } from '@latchkey/protocol'
import type { Link } from '../link-interface.js'
import type { DeadlineItem } from './deadline-timer.js'
import type { CallState } from './outcome-of-answer.js'
import type { CallTrace } from '../tracing/call-trace.js'
import type { InFlightRequests } from './in-flight-requests.js'

export type Payload =
  | { readonly what: 'command'; readonly body: Uint8Array }
  | { readonly what: 'read'; readonly read: Read; readonly stale: boolean }
  | {
      readonly what: 'admin'
      readonly call: AdminCall
      readonly args: readonly unknown[]
      readonly changes: boolean
    }

export interface CallOptions {
  /** In milliseconds. Undefined means that the call has no time limit. */
  readonly timeout?: number | undefined
  /** The deadline as a value of clock.now(). Used instead of a timeout. */
  readonly due?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Converts a decoded result to the value that the caller receives, or throws an error for the caller. */
export type Convert<T> = (result: unknown, call: Call) => T

/** 'user' is a call of the store's user. The engine makes the calls of the other roles for itself. */
type CallRole = 'user' | 'open' | 'cancel' | 'keepAlive' | 'close'

export interface LinkState {
  readonly url: string | undefined
  link: Link | undefined
  readonly inflight: InFlightRequests<Call>
  leader: LeaderReply | undefined
  /** How many views this store has open at this member. A view is a snapshot of the data for reads. */
  views: number
  open: boolean
  /**
   * Every call that needs the cluster fails with this error. The field is set if the member was removed from
   * its cluster and the store has no other member.
   */
  memberRemoved: LatchkeyError | undefined
  /** True if this is the link to the store's own member, and that member has lost contact with the leader. */
  cutOff: boolean
}

/** Calls that a member answers without the leader, from its own state. */
const ALONE: ReadonlySet<AdminCall> = new Set<AdminCall>(['status', 'metrics', 'snapshot'])

export class Call implements DeadlineItem {
  readonly payload: Payload
  trace: CallTrace | undefined = undefined
  readonly #reject: (error: unknown) => void
  readonly #convert: Convert<unknown>
  readonly #resolve: (result: unknown) => void

  role: CallRole = 'user'
  target: Call | undefined = undefined

  /** The id of the current attempt. `live` is the link on which this attempt was sent. */
  id = 0
  live: LinkState | undefined = undefined
  /** Earlier attempts, on links that the store has left. The answer to an earlier attempt is still valid. */
  earlier: { readonly live: LinkState; readonly id: number }[] | undefined = undefined
  /** When the first attempt was sent. The upper bound of cluster time (CT5) is computed from this time. */
  sentAt: Instant | undefined = undefined
  /** The last reason why the call was refused without being executed. */
  refusal: LatchkeyError | undefined = undefined

  /** The number of the call in its session. 0 means that the call has no number yet. */
  number = 0
  session = 0
  /** True if the outcome of an attempt is unknown. */
  uncertain = false
  /** The link on which the answer arrived. */
  answeredBy: LinkState | undefined = undefined
  /** Only for a read of a view: the link to the member that has the view. */
  viewLink: LinkState | undefined = undefined

  /** True when the caller has its result or its error. */
  settled = false
  /**
   * True if the caller got its error while a member may still execute the call. The engine then asks the
   * members to cancel the call by its number (cancelCall).
   */
  abandoned = false
  finished = false
  onFinished: ((error?: LatchkeyError) => void)[] | undefined = undefined

  offAbort: (() => void) | undefined = undefined

  bucket = 0
  before: DeadlineItem | undefined = undefined
  after: DeadlineItem | undefined = undefined

  constructor(
    payload: Payload,
    convert: Convert<unknown>,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.payload = payload
    this.#convert = convert
    this.#resolve = resolve
    this.#reject = reject
  }

  resolve(result: unknown): void {
    let made: unknown
    try {
      made = this.#convert(result, this)
    } catch (error) {
      return this.reject(error)
    }
    this.trace?.end(this.#address)
    this.#resolve(made)
  }

  reject(error: unknown): void {
    this.trace?.end(this.#address, error)
    this.#reject(error)
  }

  get #address(): string | undefined {
    return (this.answeredBy ?? this.live)?.url
  }

  /**
   * False for calls that one member can answer alone: the calls in ALONE, stale reads, and reads of a view
   * that is open at this member.
   */
  get needsCluster(): boolean {
    const { payload } = this
    if (payload.what === 'read') return !payload.stale && this.viewLink === undefined
    return payload.what !== 'admin' || !ALONE.has(payload.call)
  }

  get mayHaveReachedMember(): boolean {
    return this.uncertain || this.live !== undefined
  }

  callState(leaderKnown: boolean, crowded: boolean): CallState {
    const { payload } = this
    return {
      what: payload.what,
      changes: payload.what === 'command' || (payload.what === 'admin' && payload.changes),
      mayHaveReachedMember: this.mayHaveReachedMember,
      leaderKnown,
      crowded: crowded || this.refusal?.code === 'ERR_BUSY',
    }
  }

  finish(error?: LatchkeyError): void {
    if (this.finished) return
    this.finished = true
    for (const run of this.onFinished ?? []) run(error)
    this.onFinished = undefined
  }
}
