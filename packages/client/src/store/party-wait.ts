// Driver: owns one wait at a latch or a barrier: its request, its place among those who wait, and the end
// that it hears (docs/latches.md).
//
// Laws
// - The end of a wait is pushed; after each reconnect it is asked for too, until a member answers. Without
//   this law: the member that was to push it crashes, and the caller waits for ever.
// - The party leaves, in the background if need be, whenever its caller waits no more. Without this law: a
//   caller gave up, and the barrier opens for the others, who rely on it.
// - A party of an earlier session of this store is moved to the present one. Without this law: its end is
//   pushed to a session that no connection is attached to.

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
  /** The present session of the store; undefined: there is none. */
  session(): number | undefined
  /**
   * Calls `run` when the end of that party's wait is pushed, and keeps the session alive until it is
   * unregistered.
   */
  onEnded(id: string, run: (result: PartyResult) => void): () => void
  /** The waits of this store that have, or may have, a party in the cluster. */
  readonly parties: Set<object>
}

export interface WaitTerms {
  readonly of: PartyTicket[0]
  readonly name: Uint8Array
  /** As the caller gave it, for its errors. */
  readonly given: Bytes
  /** Milliseconds; undefined: without limit. */
  readonly wait: number | undefined
  readonly signal: AbortSignal | undefined
  /** `wait`: milliseconds; 0: without limit. */
  command(id: string, wait: number): PartyCommand
  /** What the call still waits for, as a sentence of its error. `left`: as the party stood when it left. */
  missing(left: PartyResult | undefined): string
}

const ASK_TIMEOUT = 5_000
const ASK_PAUSE = 100
const LEAVE_TIMEOUT = 5_000
/** Twice the drift of two clocks. */
const CLOCKS_DIFFER = 0.02
/** For so many ms a call whose wait is over waits until its party has left. */
const LEAVE_WAIT = 500

export class PartyWait {
  readonly #port: PartyPort
  readonly #terms: WaitTerms
  readonly #limit: CallLimit
  readonly #began: number
  readonly #ticket: PartyTicket
  /** The session that the party belongs to; undefined: not known for sure. */
  #session: number | undefined
  #ended: PartyResult | undefined
  #mustAsk = false
  #wake = () => {}
  /** Whether the cluster may know this party, so that it has to leave. */
  #mayBeIn = false
  #isLeaving = false
  /** How often the party has asked to leave. */
  #leaves = 0
  /** Resolves when no request of the party can be applied any more. */
  #settled: Promise<void> | undefined

  constructor(port: PartyPort, terms: WaitTerms) {
    this.#port = port
    this.#terms = terms
    this.#limit = new CallLimit(port, terms.wait, terms.signal)
    this.#began = port.clock.now()
    this.#ticket = [terms.of, terms.name, port.newId()]
  }

  /** The end of the wait, or the refusal to wait at all. Rejects where the caller's limit ends it. */
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
      // The own session has ended, and the party with it, or the wait is over by cluster time.
      this.#mayBeIn = false
      if (this.#terms.of === PARTY_OF.latch) result = await this.#enter()
      else if (this.#isNearlyOver) return this.#waitIsOver(result)
    }
    return result ?? this.#waitIsOver()
  }

  /**
   * Whether the wait may be over by cluster time, which runs a little faster than this process's clock at
   * most.
   */
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

  /** undefined: the caller's time is over. */
  async #enter(): Promise<PartyResult | undefined> {
    const left = this.#limit.left() ?? 0
    if (this.#terms.wait !== undefined && left === 0) return undefined
    const command = this.#terms.command(this.#ticket[2], Math.min(left, CAPS.maxLife))
    const before = this.#port.session()
    const call = this.#port.command(command, this.#limit)
    try {
      const result = (await call.result) as PartyResult
      // A late answer may belong to a session that has ended meanwhile.
      const now = this.#port.session()
      this.#session = now === before ? now : undefined
      return result
    } catch (error) {
      if (!mayBeApplied(error)) throw error
      return this.#uncertain(call, error)
    }
  }

  /** The request was sent, and nobody knows whether the party is in. */
  async #uncertain(call: LockCall, error: unknown): Promise<PartyResult | undefined> {
    this.#mayBeIn = true
    this.#settled = call.settled()
    const { end } = this.#limit
    if (end === 'timeout') return undefined
    // The session is over, and all of its parties are out: to wait at a latch once more does no harm.
    if (end === undefined && this.#terms.of === PARTY_OF.latch) return this.#enter()
    throw error
  }

  /** Asks how the party stands until a member answers; undefined: the caller's time is over. */
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

  /** The caller's limit has ended. If the party passed at the same moment, the call has succeeded. */
  async #waitIsOver(known?: PartyResult): Promise<PartyResult> {
    const { end } = this.#limit
    if (end === 'aborted' || end === 'closed') {
      // Sent before the caller hears of the end, so that its next call finds the party gone.
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

  /** Leaves until that is answered. Resolves how the party stood; undefined: nobody answered. */
  async #leave(): Promise<PartyResult | undefined> {
    this.#mayBeIn = false
    this.#isLeaving = true
    let left: PartyResult | undefined
    if (this.#settled !== undefined) await this.#settled.catch(() => {})
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
   * Whether the party surely left without having passed. Without this: the session ended, a barrier opened
   * just before, and the call reports that it changed nothing, while the other parties count on it.
   */
  #isOut(left: PartyResult | undefined): boolean {
    // To wait at a latch changes nothing, however it ends.
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

/** The party was in when its call ended, so that it may have passed. */
const unsure = ({ code, message, cause }: LatchkeyError): LatchkeyError =>
  new LatchkeyError(code, message, { cause, outcome: 'unknown' })
