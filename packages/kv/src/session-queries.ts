// Driver: answers questions about the sessions in the state, without an entry in the log.
//
// Law: while the state machine has stopped, or while a snapshot replaces its state, the answers are those of
// a state without sessions, and only `list` throws. Without this law: the disk fails while a client opens a
// session, and the handler of the client's connection throws.

import type { Clock } from '@latchkey/base'
import { LatchkeyError, type SessionResult } from '@latchkey/protocol'
import { listSessions, refusalOfSession, type SessionLimits, whyNoSession } from './rules/sessions.js'
import type { LockFigures } from './state/lock-counts.js'
import type { PartyCounts } from './state/latches-and-barriers.js'
import type { State } from './state/store-state.js'
import type { OpenSessions } from './kv-store-types.js'

/**
 * In ms, how long a refusal of a new session is reused. Making a refusal is slow, because the store must
 * examine all sessions.
 */
const REFUSAL_MS = 100
/** The most identities whose refusals are kept. If there are more, all kept refusals are dropped. */
const MOST_REFUSALS = 1_000

interface Refusal {
  readonly answer: Uint8Array
  readonly until: number
}

export class SessionsInState implements OpenSessions {
  readonly #clock: Clock
  readonly #limits: SessionLimits
  readonly #state: () => State | undefined
  readonly #refusals = new Map<string, Refusal>()

  constructor(clock: Clock, limits: SessionLimits, state: () => State | undefined) {
    this.#clock = clock
    this.#limits = limits
    this.#state = state
  }

  get size(): number {
    return this.#state()?.sessions.size ?? 0
  }

  get partyCounts(): PartyCounts {
    return this.#state()?.parties.counts ?? { latches: 0, barriers: 0, atLatches: 0, atBarriers: 0 }
  }

  get lockFigures(): LockFigures | undefined {
    return this.#state()?.lockCounts.figures
  }

  openerOf(session: number): string | undefined {
    return this.#state()?.sessions.openerOf(session)
  }

  list(): SessionResult[] {
    const state = this.#state()
    if (state === undefined) throw new LatchkeyError('ERR_CLOSED')
    return listSessions(state)
  }

  whyNone(): string | undefined {
    const state = this.#state()
    return state === undefined ? undefined : whyNoSession(state, this.#limits)
  }

  refusalFor(by: string): Uint8Array | undefined {
    const now = this.#clock.now()
    const known = this.#refusals.get(by)
    if (known !== undefined && now < known.until) return known.answer
    this.#refusals.delete(by)
    const state = this.#state()
    const refused = state === undefined ? undefined : refusalOfSession(state, this.#limits, by)
    if (refused === undefined) return undefined
    if (this.#refusals.size >= MOST_REFUSALS) this.#refusals.clear()
    this.#refusals.set(by, { answer: refused.bytes, until: now + REFUSAL_MS })
    return refused.bytes
  }
}
