// Rule: whether this member reaches its leader: it hears from that leader, and its messages can get there.
//
// Laws
// - time is that of the election timers: a pause of this process is no silence of its leader
// - a member is cut off when it has not reached its leader for three quarters of an election timeout. It is cut off no more as soon as it
//   leads or reaches the leader of another term; the same leader as before has to be reached for half a timeout, without a gap as long
//   as those three quarters. Without the half timeout the story is: a way lets one message through now and then, and each time a store
//   asks everything that it has under way again
// - a member hands on what another one asks only while it has heard from its leader within half an election timeout (M28). Without this
//   law: the leader stops, all others are cut off from it at the same time, and hand to each other what none of them can hand on

/** Of an election timeout. */
const CUT_OFF = 0.75
const BACK = 0.5
const HEARD = 0.5

export interface LeaderView {
  readonly leads: boolean
  /** The leader that is known, if messages to it can get there. */
  readonly connected: boolean
  readonly term: number
  /** ms of the election timers' clock: now, and when the leader's last message came. */
  readonly clock: number
  readonly heardAt: number
}

export class LeaderReach {
  readonly #electionTimeout: number
  readonly #view: () => LeaderView
  #reachedAt = 0
  /** Of the leader that was reached last; of the one that was reached before this member was cut off. */
  #term = 0
  #termBefore = 0
  /** The time since when the leader is reached again. */
  #backSince: number | undefined
  isCutOff = false

  constructor(electionTimeout: number, view: () => LeaderView) {
    this.#electionTimeout = electionTimeout
    this.#view = view
  }

  /** Called a few times in an election timeout. Returns whether `isCutOff` has changed. */
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

  /** It has reached its leader a moment ago, or leads. */
  get isFresh(): boolean {
    const view = this.#view()
    return (view.leads || view.connected) && this.#silence(view) <= this.#electionTimeout * HEARD
  }
}
