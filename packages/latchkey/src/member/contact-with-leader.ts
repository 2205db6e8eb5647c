// Rule: decides whether this member has contact with its leader. It has contact if it receives messages from
// the leader and has a connection for its own messages.
//
// Laws
// - Time is measured by the clock of the election timers, so that a pause of this process is not taken for
//   silence of the leader.
// - A member is cut off when it has had no contact with its leader for three quarters of an election timeout.
//   The member is no longer cut off as soon as it leads, or has contact with the leader of another term. With
//   the former leader, contact must last for half a timeout without a long gap. Without the half timeout: a
//   bad link lets one message pass now and then, and each time all stores repeat all their requests.
// - A member forwards requests of other members only if it has heard from its leader within half an election
//   timeout (M28). Without this law: the leader stops, and all other members are cut off at the same time.
//   They forward requests to each other, although none of them can reach a leader.

/** In election timeouts. A member without contact for this time is cut off. */
const CUT_OFF = 0.75
const BACK = 0.5
const HEARD = 0.5

export interface LeaderView {
  readonly leads: boolean
  /** True if the leader is known and messages to the leader can arrive. */
  readonly connected: boolean
  readonly term: number
  /** In ms of the election timers' clock: the present time, and the time of the leader's last message. */
  readonly clock: number
  readonly heardAt: number
}

export class LeaderReach {
  readonly #electionTimeout: number
  readonly #view: () => LeaderView
  #reachedAt = 0
  /**
   * The term of the last leader with which this member had contact. The second field is the term of the
   * leader before this member was cut off.
   */
  #term = 0
  #termBefore = 0
  /** The time since which this member has had contact with the leader again. */
  #backSince: number | undefined
  isCutOff = false

  constructor(electionTimeout: number, view: () => LeaderView) {
    this.#electionTimeout = electionTimeout
    this.#view = view
  }

  /**
   * Checks the contact. Called several times in each election timeout. Returns true if `isCutOff` has
   * changed.
   */
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

  /** True if this member leads, or had contact with its leader a moment ago. */
  get isFresh(): boolean {
    const view = this.#view()
    return (view.leads || view.connected) && this.#silence(view) <= this.#electionTimeout * HEARD
  }
}
