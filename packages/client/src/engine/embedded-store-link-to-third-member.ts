// Driver: owns the link of an embedded store to a third member, while the store's own member has no contact
// with the leader (M28). A third member is any member except the store's own member.
//
// Laws:
// - no other member is asked until the own member has noticed that it has lost contact with the leader.
// - one member is asked at a time. The store uses that member once the member has reported a leader. If the
//   member refuses the connection or knows no leader, the next member is asked, after a pause that grows each
//   time.
// - the link to the own member stays open. Calls that need no leader go there, and all calls go there again
//   as soon as the own member has contact with the leader. The third member may still answer the requests
//   that it has received.
// - the store leaves the third member as soon as that member knows no leader, or has been silent so long that
//   it is treated as unreachable (silence-detector.ts). The store then sends every unanswered request again.

import type { Clock, Random, Timer } from '@latchkey/base'
import type { Dial } from '../link-interface.js'
import type { LinkState } from './call.js'

export interface OtherMembers {
  /**
   * The ids of the members to which the own member has a connection. The lost leader comes last, because it
   * probably cannot be reached even if its connection still looks open.
   */
  ids(): readonly string[]
  dialTo(id: string): Dial
}

interface FallbackLinkPorts {
  readonly clock: Clock
  readonly random: Random
  readonly others: OtherMembers
  ownLink(): LinkState | undefined
  active(): LinkState | undefined
  dial(id: string, arrived: (live: LinkState) => void, patience: number, failed: () => void): void
  /**
   * Makes `to` the active link. If `all` is true, the unanswered requests on the link `from` are sent again
   * on `to`. If `all` is false, these requests wait for their answers on `from`.
   */
  move(from: LinkState, to: LinkState, all: boolean): void
  shut(live: LinkState): void
}

/**
 * How long a member may take to accept the connection: this many election timeouts, but at least
 * LEAST_PATIENCE ms.
 */
const PATIENCE = 0.5
const LEAST_PATIENCE = 200
/**
 * In ms, the pause before another member is asked. The pause doubles after each member that did not help, up
 * to MOST_PAUSE.
 */
const LEAST_PAUSE = 20
const MOST_PAUSE = 1_000

export class FallbackLink {
  readonly #ports: FallbackLinkPorts
  #isCutOff = false
  #asked: LinkState | 'dialling' | undefined
  #next = 0
  #inVain = 0
  #timer: Timer | undefined

  constructor(ports: FallbackLinkPorts) {
    this.#ports = ports
  }

  /**
   * Called when the own member has lost contact with the leader, or has contact again. Asks a third member,
   * or goes back to the own member.
   */
  cutOff(isCutOff: boolean): void {
    if (isCutOff === this.#isCutOff) return
    this.#isCutOff = isCutOff
    if (isCutOff) return this.#ask()
    this.#stop()
    const [ownLink, active] = [this.#ports.ownLink(), this.#ports.active()]
    if (ownLink !== undefined && active !== undefined && active !== ownLink)
      this.#ports.move(active, ownLink, false)
  }

  #ask(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const ownLink = this.#ports.ownLink()
    if (
      !this.#isCutOff ||
      this.#asked !== undefined ||
      ownLink === undefined ||
      ownLink !== this.#ports.active()
    )
      return
    const ids = this.#ports.others.ids()
    const id = ids[this.#next++ % ids.length]
    if (id === undefined) return this.#askLater()
    this.#asked = 'dialling'
    const patience = Math.max(LEAST_PATIENCE, (ownLink.leader?.electionTimeout ?? 0) * PATIENCE)
    const failed = () => {
      if (this.#asked !== 'dialling') return
      this.#asked = undefined
      this.#askLater()
    }
    this.#ports.dial(id, (live) => this.#arrived(live), patience, failed)
  }

  #askLater(): void {
    if (!this.#isCutOff) return
    const pause = Math.min(MOST_PAUSE, LEAST_PAUSE * 2 ** this.#inVain++) * (0.5 + this.#ports.random.float())
    this.#timer?.cancel()
    this.#timer = this.#ports.clock.after(pause, () => this.#ask(), { ref: false })
  }

  #arrived(live: LinkState): void {
    if (this.#asked !== 'dialling' || !this.#isCutOff) return this.#ports.shut(live)
    this.#asked = live
    if (live.leader !== undefined) this.leaderReported(live)
  }

  /**
   * Called when a link reports the leader. Returns true if `live` is the link to the asked member, otherwise
   * false. If the asked member knows a leader, the store moves to this link. If the asked member knows no
   * leader, this link is closed.
   */
  leaderReported(live: LinkState): boolean {
    const isLed = live.leader?.id !== undefined
    if (live === this.#asked) {
      this.#asked = undefined
      const ownLink = this.#ports.ownLink()
      if (isLed && ownLink !== undefined) {
        this.#ports.move(ownLink, live, true)
        this.#inVain = 0
      } else {
        this.#ports.shut(live)
        this.#askLater()
      }
      return true
    }
    if (!isLed) this.leave(live)
    return false
  }

  /**
   * Called when the third member in use knows no leader or is silent. Goes back to the own member, and asks
   * the next member after a pause.
   */
  leave(live: LinkState): void {
    const ownLink = this.#ports.ownLink()
    if (ownLink === undefined || live === ownLink || live !== this.#ports.active()) return
    this.#ports.move(live, ownLink, true)
    this.#askLater()
  }

  lost(live: LinkState): void {
    if (live === this.#asked) this.#asked = undefined
    if (this.#ports.ownLink() === undefined) return this.#reset()
    this.#askLater()
  }

  /**
   * Ends the search, because there is no link to the own member now. The next link will report again whether
   * the own member is cut off.
   */
  #reset(): void {
    this.#isCutOff = false
    this.#stop()
  }

  #stop(): void {
    this.#inVain = 0
    this.#next = 0
    this.#timer?.cancel()
    this.#timer = undefined
    const asked = this.#asked
    this.#asked = undefined
    if (asked !== undefined && asked !== 'dialling') this.#ports.shut(asked)
  }

  close(): void {
    this.#reset()
  }
}
