// Driver: finds out whether the member in use still answers. A stopped process or a cut cable closes no
// connection.
//
// Laws:
// - silence counts only while an answer is missing, to a request or to a probe. If no answer is missing but
//   events or a grant may come, the detector sends a probe once in an election timeout. Otherwise the
//   detector sends nothing.
// - any received byte ends the silence, even a part of a long answer. So a slow member is not silent.
// - the detector counts the ticks (beats) of its timer, not time. A late beat does not count: this process
//   was paused, and has not yet read what the member sent meanwhile.
// - silence is suspected after a quarter of an election timeout, or later if this member was slower before.
//   The silence is reported as certain within one and a half election timeouts. Each store adds a little
//   random time, so that not all stores ask the other members at the same moment.

import type { Clock, Random, Timer } from '@latchkey/base'
import type { LinkState } from './call.js'

/** How many ticks the timer has in one election timeout. A tick is called a beat in this file. */
const BEATS = 8
const LEAST_BEATS = 2
const MOST_BEATS = 8
/**
 * After this many silent beats the silence is certain: one and a half election timeouts, less the first beat,
 * which does not count.
 */
const SURE_BEATS = 11
/**
 * In ms: the limits of the election timeout that a member may report. If a report is beyond the limits,
 * USUAL_TIMEOUT is used.
 */
const LEAST_TIMEOUT = 50
const MOST_TIMEOUT = 60_000
const USUAL_TIMEOUT = 1_000

interface SilenceDetectorPorts {
  readonly clock: Clock
  readonly random: Random
  /** The link in use. */
  active(): LinkState | undefined
  /** True if the client waits for a message that answers no request: a watch's event, or the grant of a lock. */
  awaits(): boolean
  /** Called at each beat while the member is silent. `sure` is true if the silence is certain. */
  suspected(live: LinkState, sure: boolean): void
  answeredAgain(live: LinkState): void
}

export class SilenceDetector {
  readonly #ports: SilenceDetectorPorts
  #live: LinkState | undefined
  #received = 0
  #owed = false
  #probed = false
  /** True if no answer is missing. The next beat then comes after a whole election timeout. */
  #idle = false
  #beats = 0
  /**
   * In beats, the longest silence that ended because the member sent something. Each time that the member
   * sends something, the number is reduced by 5 %, so that an old silence counts less.
   */
  #longest = 0
  #patience = LEAST_BEATS
  #timer: Timer | undefined
  #due = 0

  constructor(ports: SilenceDetectorPorts) {
    this.#ports = ports
  }

  asked(live: LinkState): void {
    if (this.#timer !== undefined && this.#live === live && !this.#idle) return
    if (live.link?.received === undefined || live !== this.#ports.active()) return
    this.#live = live
    this.#silenceEnded(live.link.received())
    this.#owed = true
    this.#idle = false
    this.#arm(this.#beat)
  }

  get #timeout(): number {
    const told = this.#live?.leader?.electionTimeout ?? USUAL_TIMEOUT
    return told >= LEAST_TIMEOUT && told <= MOST_TIMEOUT ? told : USUAL_TIMEOUT
  }

  get #beat(): number {
    return this.#timeout / BEATS
  }

  #arm(ms: number): void {
    this.#timer?.cancel()
    const wait = ms * (0.8 + 0.4 * this.#ports.random.float())
    this.#due = this.#ports.clock.now() + wait
    this.#timer = this.#ports.clock.after(wait, this.#look, { ref: false })
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const live = this.#live
    const { clock } = this.#ports
    if (live === undefined || !live.open || live !== this.#ports.active()) return this.stop()
    const late = clock.now() - this.#due > this.#beat / 2
    const received = live.link?.received?.() ?? 0
    if (received !== this.#received) this.#signOfLife(live, received)
    else if (!late) this.#silentBeat(live)
    this.#next(live)
  }

  #signOfLife(live: LinkState, received: number): void {
    const beats = this.#beats
    this.#longest = Math.max(beats, this.#longest * 0.95)
    this.#silenceEnded(received)
    if (beats > 0) this.#ports.answeredAgain(live)
  }

  #silenceEnded(received: number): void {
    this.#received = received
    this.#beats = 0
    this.#probed = false
    this.#patience = Math.min(MOST_BEATS, Math.ceil(this.#longest) + LEAST_BEATS)
  }

  #silentBeat(live: LinkState): void {
    if (!this.#owed) return
    this.#beats++
    if (!this.#probed) this.#probe(live)
    const sure = this.#beats >= SURE_BEATS
    if (this.#beats >= this.#patience || sure) this.#ports.suspected(live, sure)
  }

  /**
   * Sends a probe, because a member that runs may also be slow to answer a request: a command may wait for
   * other members, and a read may wait for a disk. A member answers a probe as soon as its process runs.
   */
  #probe(live: LinkState): void {
    this.#probed = true
    live.link?.probe?.()
  }

  #next(live: LinkState): void {
    if (this.#live !== live) return
    if (live !== this.#ports.active()) return this.stop()
    const owed = live.inflight.size > 0 || this.#probed
    this.#owed = owed
    this.#idle = !owed
    if (owed) return this.#arm(this.#beat)
    if (!this.#ports.awaits()) return this.stop()
    // No answer is missing, but events may come. If the member sends nothing before the next beat, that beat
    // must send a probe, so it is treated like a beat with a missing answer.
    this.#owed = true
    this.#arm(this.#timeout)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#live = undefined
  }
}
