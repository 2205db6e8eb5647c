// Rule: one call on its way, as plain state. The engine moves it; the caller holds the promise behind `resolve` and `reject`.

import type { Instant } from '@latchkey/base'
import type { AdminCall, LatchkeyError, LeaderReply, Read } from '@latchkey/protocol'
import type { Link } from '../link.js'
import type { Due } from './deadlines.js'
import type { CallState } from './outcomes.js'
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
  /** Instead of a timeout: a time of clock.now(). */
  readonly due?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Makes of a decoded result what the caller gets; throws what the caller is to meet instead. */
export type Convert<T> = (result: unknown, call: Call) => T

/** user: somebody waits for it. The others are the engine's own and go on in the background. */
export type CallRole = 'user' | 'open' | 'cancel' | 'keepAlive' | 'close'

/** One link and what is owed on it. */
export interface Live {
  readonly url: string | undefined
  link: Link | undefined
  /** What was asked and not answered, by id. */
  readonly inflight: InFlightRequests<Call>
  leader: LeaderReply | undefined
  /** Frozen views kept open there. */
  views: number
  open: boolean
  /** Why nothing that needs the cluster is answered there, and there is nobody else to ask. */
  stranded: LatchkeyError | undefined
  /** Of the own member's link: that member does not reach the leader. */
  cutOff: boolean
}

/** Answered by a member from what it has. */
const ALONE: ReadonlySet<AdminCall> = new Set<AdminCall>(['status', 'snapshot'])

export class Call implements Due {
  readonly payload: Payload
  readonly reject: (error: unknown) => void
  readonly #convert: Convert<unknown>
  readonly #resolve: (result: unknown) => void

  role: CallRole = 'user'
  /** Of a cancel: the call whose number it ends. */
  target: Call | undefined = undefined

  /** The attempt under way: its id, and the link on which it was sent. */
  id = 0
  live: Live | undefined = undefined
  /** Attempts on links that were left: their answers count, should they come. */
  earlier: { readonly live: Live; readonly id: number }[] | undefined = undefined
  /** Of the first attempt (CT5). */
  sentAt: Instant | undefined = undefined
  /** The last reason why it was not handed on. */
  refusal: LatchkeyError | undefined = undefined

  /** Its place in the session; 0: it has none yet. */
  number = 0
  session = 0
  /** Some attempt has an unknown fate: only an answer to the same number will tell. */
  uncertain = false
  /** Where the answer came from. */
  answeredBy: Live | undefined = undefined
  /** A read of a frozen view: only that link can answer it. */
  home: Live | undefined = undefined

  /** The caller has been told. */
  settled = false
  /** Told before the fate was known: its number is being cancelled. */
  abandoned = false
  /** Its number can no longer be executed later than now. */
  finished = false
  onFinished: ((error?: LatchkeyError) => void)[] | undefined = undefined

  /** Takes its ear off the caller's signal. */
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
    this.reject = reject
  }

  /** To the caller, in the caller's terms. */
  resolve(result: unknown): void {
    let made: unknown
    try {
      made = this.#convert(result, this)
    } catch (error) {
      return this.reject(error)
    }
    this.#resolve(made)
  }

  /** A member alone cannot answer it: all but its own state, stale reads, and the rest of a view that was confirmed at its opening. */
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

  /** Tells whoever waits for the number's end. */
  finish(error?: LatchkeyError): void {
    if (this.finished) return
    this.finished = true
    for (const run of this.onFinished ?? []) run(error)
    this.onFinished = undefined
  }
}
