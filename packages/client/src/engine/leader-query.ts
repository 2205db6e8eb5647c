// Driver: asks another member who leads, while the member in use is silent (silence-detector.ts).
//
// Laws:
// - the store asks one member at a time, until that member names another leader or the silent member sends
//   something.
// - if a member does not accept the connection, the store asks the next member, after a pause that grows each
//   time.
// - if the asked member names a leader of a later term, the store leaves the silent member. The later leader
//   has replaced the leader that the silent member knew. Once the silence is certain, the store moves to any
//   member that accepts the connection and knows a leader. That leader may be the silent member itself,
//   because perhaps nothing is cut except the store's connection.

import type { Clock, Random } from '@latchkey/base'
import type { LinkState } from './call.js'

interface LeaderQueryPorts {
  readonly clock: Clock
  readonly random: Random
  active(): LinkState | undefined
  /** The addresses of all known members. Empty for an embedded store. */
  addresses(): readonly string[]
  dial(
    url: string,
    arrived: (live: LinkState) => void,
    patience: number,
    failed: (error: unknown) => void,
  ): void
  failed(url: string, error: unknown): void
  /** Makes `live` the link for all calls. Called when the store has no other link. */
  use(live: LinkState): void
  move(from: LinkState, to: LinkState): void
  shut(live: LinkState): void
}

/**
 * How long a member may take to accept the connection: this many election timeouts, within the limits below,
 * which are in ms.
 */
const PATIENCE = 0.75
const LEAST_PATIENCE = 500
const MOST_PATIENCE = 3_000
/**
 * In ms: the pause before the store asks another member. The pause doubles after each member that did not
 * help, up to MOST_PAUSE.
 */
const LEAST_PAUSE = 20
const MOST_PAUSE = 1_000

export class LeaderQuery {
  readonly #ports: LeaderQueryPorts
  #asked: LinkState | 'dialling' | undefined
  #next = 0
  #inVain = 0
  #pauseEnds = 0

  constructor(ports: LeaderQueryPorts) {
    this.#ports = ports
  }

  /**
   * Called at intervals while the member of `from` is silent. If no other member was asked yet, asks a member
   * for the leader. If `sure` is true, the silence is certain, and the store moves to the asked member if
   * that member knows a leader.
   */
  suspected(from: LinkState, sure: boolean): void {
    const asked = this.#asked
    if (asked === undefined) this.#ask(from)
    else if (sure && asked !== 'dialling' && asked.leader?.id !== undefined) this.#move(from, asked)
  }

  #ask(from: LinkState): void {
    const ports = this.#ports
    const { clock } = ports
    if (clock.now() < this.#pauseEnds) return
    const others = ports.addresses().filter((url) => url !== from.url)
    if (this.#next === 0) this.#next = ports.random.between(0, others.length + 1)
    // If no other member is known, the store dials the same member again, because perhaps the member runs and
    // only the connection is broken.
    const url = others[this.#next++ % others.length] ?? from.url
    if (url === undefined) return
    this.#asked = 'dialling'
    const patience = Math.min(MOST_PATIENCE, (from.leader?.electionTimeout ?? 0) * PATIENCE)
    const failed = (error: unknown) => {
      if (this.#asked === 'dialling') this.#asked = undefined
      this.#pauseEnds = clock.now() + Math.min(MOST_PAUSE, LEAST_PAUSE * 2 ** this.#inVain++)
      ports.failed(url, error)
    }
    ports.dial(url, (live) => this.#arrived(from, live), Math.max(LEAST_PATIENCE, patience), failed)
  }

  #arrived(from: LinkState, live: LinkState): void {
    const ports = this.#ports
    if (ports.active() === undefined) return ports.use(live)
    if (this.#asked !== 'dialling' || from !== ports.active()) return ports.shut(live)
    this.#asked = live
    if (live.leader !== undefined) this.#considerMove(live)
  }

  /**
   * Called when a link reports the leader. Returns true if `live` is the link to the asked member. In this
   * case, no other part of the store uses the report.
   */
  leaderReported(live: LinkState): boolean {
    if (live !== this.#asked) return false
    this.#considerMove(live)
    return true
  }

  #considerMove(live: LinkState): void {
    const from = this.#ports.active()
    if (from === undefined) return this.end()
    if (live.leader?.id !== undefined && live.leader.term > (from.leader?.term ?? 0)) this.#move(from, live)
  }

  #move(from: LinkState, to: LinkState): void {
    this.#asked = undefined
    this.#ports.move(from, to)
  }

  /**
   * Returns the open link to the asked member, or undefined. After this call, this class does not use the
   * link any more.
   */
  take(): LinkState | undefined {
    const asked = this.#asked
    this.#asked = undefined
    return asked === 'dialling' ? undefined : asked
  }

  lost(live: LinkState): void {
    if (live === this.#asked) this.#asked = undefined
  }

  end(): void {
    this.#inVain = 0
    const asked = this.take()
    if (asked !== undefined) this.#ports.shut(asked)
  }
}
