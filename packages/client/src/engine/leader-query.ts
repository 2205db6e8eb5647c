// Driver: owns the question who leads, asked of another member while the one in use is silent (silence-detector.ts).
//
// Laws:
// - one member is asked at a time; it is kept until it names another leader, or the silent one says something;
// - one that does not let us in is followed by the next, later each time;
// - the silent one is left when a leader of a later term is named: of its own term there is no other. When its silence is sure it is
//   left for whoever answers, and is led: then it is the way that is cut.

import type { Clock, Random } from '@latchkey/base'
import type { Live } from './call.js'

export interface LeaderQueryPorts {
  readonly clock: Clock
  readonly random: Random
  active(): Live | undefined
  /** Of members; none where there is only one way. */
  addresses(): readonly string[]
  dial(url: string, arrived: (live: Live) => void, patience: number, failed: (error: unknown) => void): void
  /** That address did not let us in. */
  failed(url: string, error: unknown): void
  /** It is to be used, as no other link is. */
  welcome(live: Live): void
  move(from: Live, to: Live): void
  shut(live: Live): void
}

/** A member may take so long to let us in: of an election timeout, but ms at least and at most. */
const PATIENCE = 0.75
const LEAST_PATIENCE = 500
const MOST_PATIENCE = 3_000
/** ms before another one is asked, doubled each time that one was in vain. */
const LEAST_PAUSE = 20
const MOST_PAUSE = 1_000

export class LeaderQuery {
  readonly #ports: LeaderQueryPorts
  #asked: Live | 'dialling' | undefined
  #next = 0
  #inVain = 0
  #pauseEnds = 0

  constructor(ports: LeaderQueryPorts) {
    this.#ports = ports
  }

  /** `from` is silent; called again while it is. */
  suspected(from: Live, sure: boolean): void {
    const asked = this.#asked
    if (asked === undefined) this.#ask(from)
    else if (sure && asked !== 'dialling' && asked.leader?.id !== undefined) this.#move(from, asked)
  }

  #ask(from: Live): void {
    const ports = this.#ports
    const { clock } = ports
    if (clock.now() < this.#pauseEnds) return
    const others = ports.addresses().filter((url) => url !== from.url)
    if (this.#next === 0) this.#next = ports.random.between(0, others.length + 1)
    // Where there is nobody else it may be the connection that is dead, and not the member.
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

  #arrived(from: Live, live: Live): void {
    const ports = this.#ports
    // The silent one is gone by now: any member will do.
    if (ports.active() === undefined) return ports.welcome(live)
    if (this.#asked !== 'dialling' || from !== ports.active()) return ports.shut(live)
    this.#asked = live
    if (live.leader !== undefined) this.#heard(live)
  }

  /** True: that link is the one that is asked, and its word about the leader was for this question. */
  heard(live: Live): boolean {
    if (live !== this.#asked) return false
    this.#heard(live)
    return true
  }

  #heard(live: Live): void {
    const from = this.#ports.active()
    if (from === undefined) return this.end()
    if (live.leader?.id !== undefined && live.leader.term > (from.leader?.term ?? 0)) this.#move(from, live)
  }

  #move(from: Live, to: Live): void {
    this.#asked = undefined
    this.#ports.move(from, to)
  }

  /** The link that is asked, if it is open: it is the caller's from now on. */
  take(): Live | undefined {
    const asked = this.#asked
    this.#asked = undefined
    return asked === 'dialling' ? undefined : asked
  }

  lost(live: Live): void {
    if (live === this.#asked) this.#asked = undefined
  }

  /** Nothing is silent any more. */
  end(): void {
    this.#inVain = 0
    const asked = this.take()
    if (asked !== undefined) this.#ports.shut(asked)
  }
}
