// Driver: what is asked about the sessions of a store from outside of its log.

import type { Clock } from '@latchkey/base'
import type { SessionResult } from '@latchkey/protocol'
import { listSessions, refusalOfSession, type SessionLimits, whyNoSession } from './rules/sessions.js'
import type { State } from './state/state.js'
import type { OpenSessions } from './kv-store.js'

/** All sessions are looked at to find that none gives way: so long that answer is given again, ms. */
const REFUSAL_MS = 100
/** Identities that were refused within that time. */
const MOST_REFUSALS = 1_000

interface Refusal {
  readonly answer: Uint8Array
  readonly until: number
}

export class SessionsInState implements OpenSessions {
  readonly #clock: Clock
  readonly #limits: SessionLimits
  readonly #state: () => State
  readonly #refusals = new Map<string, Refusal>()

  constructor(clock: Clock, limits: SessionLimits, state: () => State) {
    this.#clock = clock
    this.#limits = limits
    this.#state = state
  }

  get size(): number {
    return this.#state().sessions.size
  }

  openerOf(session: number): string | undefined {
    return this.#state().sessions.openerOf(session)
  }

  list(): SessionResult[] {
    return listSessions(this.#state())
  }

  whyNone(): string | undefined {
    return whyNoSession(this.#state(), this.#limits)
  }

  refusalFor(by: string): Uint8Array | undefined {
    const now = this.#clock.now()
    const known = this.#refusals.get(by)
    if (known !== undefined && now < known.until) return known.answer
    this.#refusals.delete(by)
    const refused = refusalOfSession(this.#state(), this.#limits, by)
    if (refused === undefined) return undefined
    if (this.#refusals.size >= MOST_REFUSALS) this.#refusals.clear()
    this.#refusals.set(by, { answer: refused.bytes, until: now + REFUSAL_MS })
    return refused.bytes
  }
}
