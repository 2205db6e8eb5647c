// Driver: what calls of every kind share: being admitted, their deadline and signal, and telling the caller,
// once.

import { type Clock, onAbort } from '@latchkey/base'
import { type Answer, LatchkeyError, errorOf } from '@latchkey/protocol'
import type { Call, CallOptions } from './call.js'
import { Deadlines } from './deadlines.js'
import { type CallState, aborted, overdue, type Leaderless, tellLeader } from './outcomes.js'

interface PendingCallsPorts {
  leaderKnown(): boolean
  /** What a member said last, while nobody leads. */
  leaderless(): Leaderless | undefined
  /** Who led last, as far as this store has been told. */
  lastLeader(): string | undefined
  /** While there is no link at all: why not. */
  unreached(): string | undefined
  /** Would a command wait for a number just now? */
  crowded(): boolean
  /** The caller was told; what is left of the call is for whoever owns it. */
  gaveUp(call: Call): void
  /** The call is over: nobody waits for its earlier attempts. */
  forget(call: Call): void
}

const NOTHING_SENT: CallState = {
  what: 'read',
  changes: false,
  handedOn: false,
  leaderKnown: true,
  crowded: false,
}

export class PendingCalls {
  readonly #clock: Clock
  readonly #port: PendingCallsPorts
  readonly #deadlines: Deadlines<Call>
  /** Why nothing is admitted any more, or not now. */
  refusal: (() => LatchkeyError) | undefined
  /** Why nothing that needs the cluster is admitted. */
  stranded: LatchkeyError | undefined

  constructor(clock: Clock, port: PendingCallsPorts) {
    this.#clock = clock
    this.#port = port
    this.#deadlines = new Deadlines<Call>(clock, (call) => this.#overdue(call))
  }

  /** For a call that has nothing to ask: it throws where one that asks would be refused. */
  pass(signal: AbortSignal | undefined): void {
    const refusal = this.refusalNow()
    if (refusal) throw refusal
    if (signal?.aborted) throw aborted(NOTHING_SENT, signal.reason)
  }

  /** False: it was refused, and its caller told. */
  admit(call: Call, options: CallOptions): boolean {
    const { signal, timeout } = options
    const due = timeout === undefined ? options.due : this.#clock.now() + timeout
    const refusal = call.needsCluster ? this.refusalNow() : this.refusal?.()
    if (signal?.aborted || refusal) {
      this.tell(call, refusal ?? aborted(call.callState(true, false), signal?.reason))
      return false
    }
    if (due !== undefined) this.#deadlines.add(call, due)
    if (signal) this.#listen(call, signal)
    return true
  }

  /** What a call that needs the cluster is refused with just now. */
  refusalNow(): LatchkeyError | undefined {
    return this.refusal?.() ?? (this.stranded && again(this.stranded))
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

  /** Ends the call for its caller, whatever may still become of it. */
  giveUp(call: Call, error: LatchkeyError): void {
    if (call.settled) return
    this.tell(call, error)
    this.#port.gaveUp(call)
  }

  tell(call: Call, error: LatchkeyError): void {
    if (!this.#leave(call)) return
    call.reject(this.#withLeader(error))
  }

  answer(call: Call, answer: Answer): void {
    if (!this.#leave(call)) return
    if (answer[0] !== 0) call.reject(this.#withLeader(errorOf(answer)))
    else call.resolve(answer[1])
  }

  #withLeader(error: LatchkeyError): LatchkeyError {
    return tellLeader(error, this.#port.lastLeader())
  }

  /** False: the caller was told before. */
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

/** Each caller gets an error of its own; what it asked was not sent. */
export const again = (error: LatchkeyError): LatchkeyError =>
  new LatchkeyError(error.code, error.message, {
    cause: error,
    retryable: error.retryable,
    outcome: 'not-applied',
    clusters: error.clusters,
  })
