// Driver: owns one wait at a latch or a barrier: the request, the wait record, and the result that ends the
// wait (docs/latches.md). The wait record is the cluster's record of one waiting caller. The code calls the
// wait record a party.
//
// Laws:
// - A member pushes the end of a wait. After each reconnect the store also asks for the end, until a member
//   answers. Without this law: the member that should push the end crashes, and the caller waits for ever.
// - The wait record is removed when its caller stops waiting, in the background if necessary. Without this
//   law: a caller has given up, and the barrier opens for the other callers, which rely on that caller.
// - A wait record of an earlier session of this store is moved to the present session. Without this law: the
//   end of the wait is pushed to a session that no connection uses.

import {
  CallLimit,
  isWorthRetry,
  type LockCall,
  type LockPort,
  mayBeApplied,
  OVER,
  pause,
  untilAnswered,
  waiting,
} from '@latchkey/lock'
import {
  type Bytes,
  CAPS,
  LatchkeyError,
  OP,
  PARTY_OF,
  type PartyCommand,
  type PartyResult,
  type PartyTicket,
  READ,
} from '@latchkey/protocol'

export interface PartyPort extends LockPort {
  session(): number | undefined
  /**
   * Calls `run` when a member pushes the end of the wait `id`. Keeps the session alive until the
   * returned function is called.
   */
  onEnded(id: string, run: (result: PartyResult) => void): () => void
  /**
   * The waits of this store. A wait enters the set before its request is sent, and leaves the set when the
   * cluster certainly has no wait record that still waits. A store that closes with such waits ends its
   * session.
   */
  readonly parties: Set<object>
}

interface WaitTerms {
  readonly of: PartyTicket[0]
  readonly name: Uint8Array
  readonly given: Bytes
  readonly wait: number | undefined
  readonly signal: AbortSignal | undefined
  /** Returns the command that begins the wait. `wait` is in ms, and 0 means no limit. */
  command(id: string, wait: number): PartyCommand
  /**
   * Returns a sentence for the error: what the call still waits for. `left` is the last state of the wait
   * record before its removal.
   */
  missing(left: PartyResult | undefined): string
}

/** In ms: the timeout of one request for the state of the wait. */
const ASK_TIMEOUT = 5_000
/** In ms: the pause before a failed request for the state is repeated. */
const ASK_PAUSE = 100
const LEAVE_TIMEOUT = 5_000
/**
 * As a fraction: how much faster cluster time may run than this process's clock. With the default drift, two
 * clocks may differ by 1 %. The value is 2 %, as a reserve.
 */
const CLOCKS_DIFFER = 0.02
/**
 * In ms: after the end of its wait, a call waits at most this long for the removal of its wait record. Then
 * the call ends, and the removal continues in the background.
 */
const LEAVE_WAIT = 500

export class PartyWait {
  readonly #port: PartyPort
  readonly #terms: WaitTerms
  readonly #limit: CallLimit
  readonly #began: number
  readonly #ticket: PartyTicket
  /** The id of the session to which the wait record belongs. Undefined if the session is not certain. */
  #session: number | undefined
  #ended: PartyResult | undefined
  #mustAsk = false
  #wake = () => {}
  /** True if the cluster may have a record of this wait, which must then be removed. */
  #mayBeIn = false
  #isLeaving = false
  #leaves = 0
  /** Resolves when the members can no longer apply any request of this wait. */
  #whenFinal: Promise<void> | undefined

  constructor(port: PartyPort, terms: WaitTerms) {
    this.#port = port
    this.#terms = terms
    this.#limit = new CallLimit(port, terms.wait, terms.signal)
    this.#began = port.clock.now()
    this.#ticket = [terms.of, terms.name, port.newId()]
  }

  /**
   * Resolves to the final state of the wait, or to 'absent' or 'mismatch' if the call did not wait. Rejects
   * if the caller's limit ends the wait.
   */
  run(): Promise<PartyResult> {
    const { observer } = this.#port
    const { of, name } = this.#terms
    if (observer?.isOn !== true) return this.#run()
    return observer.wait(of === PARTY_OF.latch ? 'latch' : 'barrier', [name], hasPassed, () => this.#run())
  }

  async #run(): Promise<PartyResult> {
    const port = this.#port
    const offs = [
      port.onEnded(this.#ticket[2], (result) => {
        this.#ended = result
        this.#wake()
      }),
      port.onAttached(() => {
        this.#mustAsk = true
        this.#wake()
      }),
    ]
    port.parties.add(this)
    try {
      return await this.#untilEnded()
    } finally {
      for (const off of offs) off()
      if (this.#mayBeIn) void this.#leave()
      else if (!this.#isLeaving) port.parties.delete(this)
    }
  }

  async #untilEnded(): Promise<PartyResult> {
    let result = await this.#enter()
    while (result !== undefined && result[0] === 'waiting') {
      this.#mayBeIn = true
      if ((await waiting(this.#port, this.#limit.wait(this.#woken()))) === OVER) return this.#waitIsOver()
      result = this.#ended ?? (await this.#ask())
      if (result?.[0] !== 'unknown') continue
      // The members do not know the wait record any more. Either this store's session has ended, and the wait
      // record with it, or the time limit of the wait has passed in cluster time.
      this.#mayBeIn = false
      if (this.#terms.of === PARTY_OF.latch) result = await this.#enter()
      else if (this.#isNearlyOver) return this.#waitIsOver(result)
    }
    return result ?? this.#waitIsOver()
  }

  get #isNearlyOver(): boolean {
    const { wait } = this.#terms
    return wait !== undefined && (this.#limit.left() ?? 0) <= wait * CLOCKS_DIFFER
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      if (this.#ended !== undefined || this.#mustAsk) resolve()
    })
  }

  async #enter(): Promise<PartyResult | undefined> {
    const left = this.#limit.left() ?? 0
    if (this.#terms.wait !== undefined && left === 0) return undefined
    const command = this.#terms.command(this.#ticket[2], Math.min(left, CAPS.maxLife))
    const before = this.#port.session()
    const call = this.#port.command(command, this.#limit)
    try {
      const result = (await call.result) as PartyResult
      // If the session has changed during the request, the session of the wait record is not certain.
      const now = this.#port.session()
      this.#session = now === before ? now : undefined
      return result
    } catch (error) {
      if (!mayBeApplied(error)) throw error
      return this.#uncertain(call, error)
    }
  }

  /** Called when the request has failed after it was sent. The cluster may have a record of the wait. */
  async #uncertain(call: LockCall, error: unknown): Promise<PartyResult | undefined> {
    this.#mayBeIn = true
    this.#whenFinal = call.whenFinal()
    const { end } = this.#limit
    if (end === 'timeout') return undefined
    // If the caller's limit has not ended the call, the session has ended, and its wait records with it. A
    // call at a latch then waits again. This does no harm, because a wait at a latch changes nothing for
    // other callers.
    if (end === undefined && this.#terms.of === PARTY_OF.latch) return this.#enter()
    throw error
  }

  async #ask(): Promise<PartyResult | undefined> {
    this.#mustAsk = false
    for (;;) {
      try {
        const answer = await this.#limit.wait(this.#askOnce())
        return answer === OVER ? undefined : (this.#ended ?? answer)
      } catch (error) {
        if (this.#ended !== undefined) return this.#ended
        if (!isWorthRetry(error)) throw error
        if ((await this.#limit.wait(pause(this.#port, ASK_PAUSE))) === OVER) return undefined
      }
    }
  }

  async #askOnce(): Promise<PartyResult> {
    const session = this.#port.session()
    const limit = { timeout: ASK_TIMEOUT }
    const read = (await this.#port.read([READ.party, ...this.#ticket], limit)) as PartyResult
    if (read[0] !== 'waiting' || session === this.#session) return read
    const moved = (await this.#port.command([OP.moveParty, ...this.#ticket], limit).result) as PartyResult
    this.#session = this.#port.session()
    return moved
  }

  /**
   * Called when the caller's limits have ended the wait. If the barrier or latch opened just before the time
   * limit, the call succeeds. Otherwise this function throws.
   */
  async #waitIsOver(known?: PartyResult): Promise<PartyResult> {
    const { end } = this.#limit
    if (end === 'aborted' || end === 'closed') {
      // The request that removes the wait record is sent before the caller gets the error. So the caller's
      // next call reaches the member after this request.
      const mayHavePassed = this.#mayBeIn && this.#terms.of === PARTY_OF.barrier
      if (this.#mayBeIn) void this.#leave()
      throw mayHavePassed ? unsure(this.#limit.error()) : this.#limit.error()
    }
    let left = known
    if (this.#mayBeIn) {
      const patience = new CallLimit(this.#port, LEAVE_WAIT, this.#terms.signal)
      const answer = await patience.wait(this.#leave())
      left = answer === OVER ? undefined : answer
      if (left !== undefined && left[0] !== 'waiting' && left[0] !== 'unknown') return left
    }
    throw this.#overdue(left)
  }

  /**
   * Asks until a member has removed the wait record. Resolves to the state of the record before its removal,
   * or to undefined if no member answered.
   */
  async #leave(): Promise<PartyResult | undefined> {
    this.#mayBeIn = false
    this.#isLeaving = true
    let left: PartyResult | undefined
    if (this.#whenFinal !== undefined) await this.#whenFinal.catch(() => {})
    const leave = async () => {
      this.#leaves++
      const call = this.#port.command([OP.leaveParties, [this.#ticket]], { timeout: LEAVE_TIMEOUT })
      left = ((await call.result) as PartyResult[])[0]
    }
    await untilAnswered(this.#port, leave, () => false)
    this.#port.parties.delete(this)
    return left
  }

  /**
   * True if this caller has certainly not passed the barrier. Without this check: a barrier opens, and then
   * the session ends. The call reports that it changed nothing, although the other callers have passed the
   * barrier and rely on this caller.
   */
  #isOut(left: PartyResult | undefined): boolean {
    // Waiting at a latch changes nothing, however the wait ends.
    if (this.#terms.of === PARTY_OF.latch || left?.[0] === 'waiting') return true
    const isSameSession = this.#session !== undefined && this.#port.session() === this.#session
    return left?.[0] === 'unknown' && isSameSession && this.#leaves <= 1
  }

  #overdue(left: PartyResult | undefined): LatchkeyError {
    const { given } = this.#terms
    const waitedMillis = Math.round(this.#port.clock.now() - this.#began)
    const outcome = this.#isOut(left) ? 'not-applied' : 'unknown'
    const leaderless = this.#port.noLeader()
    if (leaderless !== undefined) {
      const { message } = leaderless
      const about = { missing: leaderless.missing, key: given, waitedMillis, outcome } as const
      return new LatchkeyError('ERR_NO_LEADER', message, about)
    }
    const message = `The wait of ${waitedMillis} ms was over: ${this.#terms.missing(left)} Try again, or wait longer.`
    return new LatchkeyError('ERR_TIMEOUT', message, { key: given, waitedMillis, outcome })
  }
}

const hasPassed = ([state]: PartyResult): boolean => state === 'passed'

/** Gives the error the outcome 'unknown', because this caller may have passed the barrier. */
const unsure = ({ code, message, cause }: LatchkeyError): LatchkeyError =>
  new LatchkeyError(code, message, { cause, outcome: 'unknown' })
