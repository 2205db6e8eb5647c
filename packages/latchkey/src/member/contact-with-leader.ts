// Rule: decides whether this member has contact with its leader. A member has contact if messages of the
// leader arrive and a connection to the leader is open.
//
// Laws
// - Time is measured by the clock of the election timers. That clock counts a pause of this process as a
//   short time, so a pause does not count as silence of the leader.
// - A member without contact for three quarters of an election timeout is cut off. The member is no longer
//   cut off when it becomes leader, or when it has contact with the leader of another term. If the same
//   leader comes back, contact must first last for half an election timeout. Without this wait: over a bad
//   connection, one message of the leader arrives now and then. Each time, the stores of this member change
//   their connection and repeat all their requests.
// - A member forwards requests of other members only if its leader was silent for at most half an election
//   timeout (M28). Without this law: the leader stops, and all other members lose contact at the same time.
//   These members forward requests to each other, although no member reaches a leader.

/** In election timeouts. A member without contact for this time is cut off. */
const CUT_OFF = 0.75
/**
 * In election timeouts. A member that was cut off and hears the same leader again stays cut off for this
 * time.
 */
const BACK = 0.5
/**
 * In election timeouts. If the leader was silent for longer than this, this member forwards no requests of
 * other members.
 */
const HEARD = 0.5

interface LeaderView {
  readonly leads: boolean
  /** True if a connection to a known leader is open. */
  readonly connected: boolean
  readonly term: number
  /**
   * In ms of the election timers' clock. `clock` is the time now, and `heardAt` is the time of the leader's
   * last message.
   */
  readonly clock: number
  readonly heardAt: number
}

export class LeaderReach {
  readonly #electionTimeout: number
  readonly #view: () => LeaderView
  #reachedAt = 0
  /**
   * `#term` is the term of the leader with which this member last had contact. `#termBefore` is the term of
   * the last leader before this member was cut off.
   */
  #term = 0
  #termBefore = 0
  /**
   * The time at which contact with the same leader began again. Undefined if this member is not cut off or
   * has no contact.
   */
  #backSince: number | undefined
  isCutOff = false

  constructor(electionTimeout: number, view: () => LeaderView) {
    this.#electionTimeout = electionTimeout
    this.#view = view
  }

  /** Called several times in each election timeout. Returns true if `isCutOff` has changed. */
  look(): boolean {
    const view = this.#view()
    const isSilent = this.#silence(view) >= this.#electionTimeout * CUT_OFF
    if (!this.isCutOff) this.#backSince = undefined
    if (this.isCutOff === isSilent) {
      if (isSilent) this.#backSince = undefined
      return false
    }
    if (isSilent) this.#termBefore = this.#term
    else if (!this.#isBack(view)) return false
    this.isCutOff = isSilent
    return true
  }

  #isBack({ leads, clock }: LeaderView): boolean {
    this.#backSince ??= clock
    if (leads || this.#term !== this.#termBefore) return true
    return clock - this.#backSince >= this.#electionTimeout * BACK
  }

  #silence({ leads, connected, term, clock, heardAt }: LeaderView): number {
    const reachedAt = leads ? clock : connected ? heardAt : 0
    if (reachedAt > this.#reachedAt) {
      this.#reachedAt = reachedAt
      this.#term = term
    }
    return clock - this.#reachedAt
  }

  get isFresh(): boolean {
    const view = this.#view()
    return (view.leads || view.connected) && this.#silence(view) <= this.#electionTimeout * HEARD
  }
}
