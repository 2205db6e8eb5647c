// Rule: the state of one call, from the request until the answer. The engine changes it; the caller holds the
// promise behind `resolve` and `reject`.

import type { Instant } from '@latchkey/base'
import type { AdminCall, LatchkeyError, LeaderReply, Read } from '@latchkey/protocol'
import type { Link } from '../link.js'
import type { Due } from './deadlines.js'
import type { CallState } from './outcomes.js'
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
  /** Milliseconds; undefined: no limit. */
  readonly timeout?: number | undefined
  /** A deadline in the time of clock.now(), instead of a timeout. */
  readonly due?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Converts a decoded result to what the caller gets, or throws the error that the caller gets. */
export type Convert<T> = (result: unknown, call: Call) => T

/** user: a caller waits for this call. The engine makes the other calls for itself, in the background. */
export type CallRole = 'user' | 'open' | 'cancel' | 'keepAlive' | 'close'

/** One link, and the requests on it that have no answer yet. */
export interface Live {
  readonly url: string | undefined
  link: Link | undefined
  /** The requests that have no answer yet, by id. */
  readonly inflight: InFlightRequests<Call>
  leader: LeaderReply | undefined
  /** The number of frozen views (snapshots) that this store holds open at this member. */
  views: number
  open: boolean
  /** The member was removed and the store has no other one: the error of all calls that need the cluster. */
  stranded: LatchkeyError | undefined
  /** Only for the link to the store's own member: that member does not reach the leader. */
  cutOff: boolean
}

/** Calls that a member answers from its own state. */
const ALONE: ReadonlySet<AdminCall> = new Set<AdminCall>(['status', 'metrics', 'snapshot'])

export class Call implements Due {
  readonly payload: Payload
  /** undefined: nobody listens to calls. */
  trace: CallTrace | undefined = undefined
  readonly #reject: (error: unknown) => void
  readonly #convert: Convert<unknown>
  readonly #resolve: (result: unknown) => void

  role: CallRole = 'user'
  /** Only for a cancel: the call whose number it ends. */
  target: Call | undefined = undefined

  /** The current attempt: its id, and the link on which it was sent. */
  id = 0
  live: Live | undefined = undefined
  /** Attempts on links that the store has left. If an answer to one of them arrives, it counts. */
  earlier: { readonly live: Live; readonly id: number }[] | undefined = undefined
  /** The time at which the first attempt was sent: the bound of cluster time is counted from there (CT5). */
  sentAt: Instant | undefined = undefined
  /** The last reason why the call was refused without being executed. */
  refusal: LatchkeyError | undefined = undefined

  /** The number of the call in its session; 0: the call has no number yet. */
  number = 0
  session = 0
  /** The outcome of some attempt is unknown: only an answer to the same number will show it. */
  uncertain = false
  /** The link on which the answer arrived. */
  answeredBy: Live | undefined = undefined
  /** Only for a read of a frozen view: the only link whose member can answer it. */
  home: Live | undefined = undefined

  /** The caller has its result or its error. */
  settled = false
  /** The caller got its error before the outcome was known: the number is being cancelled. */
  abandoned = false
  /** It is certain that the members will not execute this number later. */
  finished = false
  onFinished: ((error?: LatchkeyError) => void)[] | undefined = undefined

  /** Removes the listener from the caller's signal. */
  offAbort: (() => void) | undefined = undefined

  bucket = 0
  before: Due | undefined = undefined
  after: Due | undefined = undefined

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

  /** Converts the result and gives it to the caller. */
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

  /** Gives the error to the caller. */
  reject(error: unknown): void {
    this.trace?.end(this.#address, error)
    this.#reject(error)
  }

  /** That of the member that answered, or was asked last. */
  get #address(): string | undefined {
    return (this.answeredBy ?? this.live)?.url
  }

  /**
   * False for what one member can answer alone: its status, stale reads, and reads of a frozen view, which
   * was confirmed when it was opened.
   */
  get needsCluster(): boolean {
    const { payload } = this
    if (payload.what === 'read') return !payload.stale && this.home === undefined
    return payload.what !== 'admin' || !ALONE.has(payload.call)
  }

  get handedOn(): boolean {
    return this.uncertain || this.live !== undefined
  }

  callState(leaderKnown: boolean, crowded: boolean): CallState {
    const { payload } = this
    return {
      what: payload.what,
      changes: payload.what === 'command' || (payload.what === 'admin' && payload.changes),
      handedOn: this.handedOn,
      leaderKnown,
      crowded: crowded || this.refusal?.code === 'ERR_BUSY',
    }
  }

  /** Runs the callbacks that wait until the number is finished. */
  finish(error?: LatchkeyError): void {
    if (this.finished) return
    this.finished = true
    for (const run of this.onFinished ?? []) run(error)
    this.onFinished = undefined
  }
}
