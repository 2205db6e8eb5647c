// Driver: admits calls of every kind, watches their deadlines and signals, and gives each caller one result
// or one error.

import { type Clock, onAbort } from '@latchkey/base'
import { type Answer, LatchkeyError, errorOf } from '@latchkey/protocol'
import type { Call, CallOptions } from './call.js'
import { Deadlines } from './deadline-timer.js'
import { type CallState, aborted, overdue, type Leaderless, addLastLeader } from './outcome-of-answer.js'

interface PendingCallsPorts {
  leaderKnown(): boolean
  leaderless(): Leaderless | undefined
  lastLeader(): string | undefined
  unreached(): string | undefined
  /** True if all call numbers of the session are in use, so that a new command would have to wait. */
  crowded(): boolean
  /**
   * Called after the caller got an error before an answer came. The class that has sent the call then cancels
   * or forgets the call.
   */
  gaveUp(call: Call): void
  /** Called when the call is over. The answers to its earlier attempts are not needed any more. */
  forget(call: Call): void
}

const NOTHING_SENT: CallState = {
  what: 'read',
  changes: false,
  mayHaveReachedMember: false,
  leaderKnown: true,
  crowded: false,
}

export class PendingCalls {
  readonly #clock: Clock
  readonly #port: PendingCallsPorts
  readonly #deadlines: Deadlines<Call>
  /** Returns the error with which every call is refused now. Undefined if calls are admitted. */
  refusal: (() => LatchkeyError) | undefined
  /** Why no call that needs the cluster is admitted. Undefined if these calls are admitted. */
  memberRemoved: LatchkeyError | undefined

  constructor(clock: Clock, port: PendingCallsPorts) {
    this.#clock = clock
    this.#port = port
    this.#deadlines = new Deadlines<Call>(clock, (call) => this.#overdue(call))
  }

  pass(signal: AbortSignal | undefined): void {
    const refusal = this.refusalNow()
    if (refusal) throw refusal
    if (signal?.aborted) throw aborted(NOTHING_SENT, signal.reason)
  }

  /** Returns false if the call was refused. In this case the caller already has the error. */
  admit(call: Call, options: CallOptions): boolean {
    const { signal, timeout } = options
    const due = timeout === undefined ? options.due : this.#clock.now() + timeout
    const refusal = call.needsCluster ? this.refusalNow() : this.refusal?.()
    if (signal?.aborted || refusal) {
      this.fail(call, refusal ?? aborted(call.callState(true, false), signal?.reason))
      return false
    }
    if (due !== undefined) this.#deadlines.add(call, due)
    if (signal) this.#listen(call, signal)
    return true
  }

  refusalNow(): LatchkeyError | undefined {
    return this.refusal?.() ?? (this.memberRemoved && copyOfError(this.memberRemoved))
  }

  #listen(call: Call, signal: AbortSignal): void {
    call.offAbort = onAbort(signal, () => this.giveUp(call, aborted(this.#callState(call), signal.reason)))
  }

  #overdue(call: Call): void {
    this.giveUp(
      call,
      overdue(this.#callState(call), call.refusal, this.#port.leaderless(), this.#port.unreached()),
    )
  }

  #callState(call: Call) {
    return call.callState(this.#port.leaderKnown(), call.number === 0 && this.#port.crowded())
  }

  /** Gives the caller an error. The members may still execute the call. */
  giveUp(call: Call, error: LatchkeyError): void {
    if (call.settled) return
    this.fail(call, error)
    this.#port.gaveUp(call)
  }

  fail(call: Call, error: LatchkeyError): void {
    if (!this.#leave(call)) return
    call.reject(this.#withLeader(error))
  }

  answer(call: Call, answer: Answer): void {
    if (!this.#leave(call)) return
    if (answer[0] !== 0) call.reject(this.#withLeader(errorOf(answer)))
    else call.resolve(answer[1])
  }

  #withLeader(error: LatchkeyError): LatchkeyError {
    return addLastLeader(error, this.#port.lastLeader())
  }

  #leave(call: Call): boolean {
    if (call.settled) return false
    call.settled = true
    this.#deadlines.remove(call)
    call.offAbort?.()
    call.offAbort = undefined
    if (call.earlier !== undefined) this.#port.forget(call)
    return true
  }

  close(): void {
    this.#deadlines.stop()
  }
}

/** Makes a new error for each caller, because callers must not share one error object. */
export const copyOfError = (error: LatchkeyError): LatchkeyError =>
  new LatchkeyError(error.code, error.message, {
    cause: error,
    retryable: error.retryable,
    outcome: 'not-applied',
    clusters: error.clusters,
  })
