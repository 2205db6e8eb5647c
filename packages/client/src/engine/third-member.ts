// Driver: owns the way through a third member, for an embedded store whose own member does not reach the leader (M28).
//
// Laws
// - nobody else is asked while the own member reaches its leader, or does not know yet that it is cut off;
// - one member is asked at a time. It is used once it has said that somebody leads; one that refuses, or knows no leader, is followed
//   by the next, later each time;
// - the link to the own member stays: what needs no leader is asked there, and everything goes back there as soon as the own member
//   reaches the leader again. What the third member owes then, it may still answer;
// - the third member is left as soon as it knows no leader, or is surely silent, and what was asked there is asked again.

import type { Clock, Random, Timer } from '@latchkey/base'
import type { Dial } from '../link.js'
import type { Live } from './call.js'

/** The other members, as the member that the store is embedded in reaches them. */
export interface OtherMembers {
  /** Those that it is connected with, the likely ones first. */
  ids(): readonly string[]
  dialTo(id: string): Dial
}

export interface ThirdMemberPorts {
  readonly clock: Clock
  readonly random: Random
  readonly others: OtherMembers
  /** The link to the own member, while it is open. */
  home(): Live | undefined
  active(): Live | undefined
  dial(id: string, arrived: (live: Live) => void, patience: number, failed: () => void): void
  /** `all`: what is owed on the link that is left is asked again. */
  move(from: Live, to: Live, all: boolean): void
  shut(live: Live): void
}

/** A member may take so long to let the store in: of an election timeout, but ms at least. */
const PATIENCE = 0.5
const LEAST_PATIENCE = 200
/** ms before another one is asked, doubled each time that one was in vain. */
const LEAST_PAUSE = 20
const MOST_PAUSE = 1_000

export class ThirdMember {
  readonly #ports: ThirdMemberPorts
  #isCutOff = false
  #asked: Live | 'dialling' | undefined
  #next = 0
  #inVain = 0
  #timer: Timer | undefined

  constructor(ports: ThirdMemberPorts) {
    this.#ports = ports
  }

  /** Said by the own member: whether it is cut off from the leader. */
  cutOff(isCutOff: boolean): void {
    if (isCutOff === this.#isCutOff) return
    this.#isCutOff = isCutOff
    if (isCutOff) return this.#ask()
    this.#stop()
    const [home, active] = [this.#ports.home(), this.#ports.active()]
    if (home !== undefined && active !== undefined && active !== home) this.#ports.move(active, home, false)
  }

  #ask(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const home = this.#ports.home()
    if (!this.#isCutOff || this.#asked !== undefined || home === undefined || home !== this.#ports.active())
      return
    const ids = this.#ports.others.ids()
    const id = ids[this.#next++ % ids.length]
    if (id === undefined) return this.#askLater()
    this.#asked = 'dialling'
    const patience = Math.max(LEAST_PATIENCE, (home.leader?.electionTimeout ?? 0) * PATIENCE)
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

  #arrived(live: Live): void {
    if (this.#asked !== 'dialling' || !this.#isCutOff) return this.#ports.shut(live)
    this.#asked = live
    if (live.leader !== undefined) this.heard(live)
  }

  /** What a link says of the leader. True: that was for this question alone. */
  heard(live: Live): boolean {
    const isLed = live.leader?.id !== undefined
    if (live === this.#asked) {
      this.#asked = undefined
      const home = this.#ports.home()
      if (isLed && home !== undefined) {
        this.#ports.move(home, live, true)
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

  /** The third member that is used is of no use any more. */
  leave(live: Live): void {
    const home = this.#ports.home()
    if (home === undefined || live === home || live !== this.#ports.active()) return
    this.#ports.move(live, home, true)
    this.#askLater()
  }

  /** A link is gone. */
  lost(live: Live): void {
    if (live === this.#asked) this.#asked = undefined
    if (this.#ports.home() === undefined) return this.#reset()
    this.#askLater()
  }

  /** There is no own member just now: the next one says for itself whether it is cut off. */
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
