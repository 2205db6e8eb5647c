// Driver: owns the question whether the member that is asked still lives. A process that stopped, or a cable that was cut, closes nothing.
//
// Laws:
// - silence is counted only while something is owed: an answer, or the answer to a probe. Where nothing is owed but something is awaited
//   (events, a grant), the link is probed once in an election timeout; where nothing is, it is left alone;
// - any byte is a sign of life, also a part of a long answer: a member that is slow is not one that is silent;
// - beats are counted, not time, and a beat that comes late counts nothing: then it was this process that stood still, and what the
//   member said meanwhile has not been read yet;
// - silence is suspected after a quarter of an election timeout, or after more where the member was found to need more, and told within
//   one and a half: each store waits a little longer by chance, so that not all ask the others at once.

import type { Clock, Random, Timer } from '@latchkey/base'
import type { Live } from './call.js'

/** Beats in an election timeout. */
const BEATS = 8
const LEAST_BEATS = 2
const MOST_BEATS = 8
/** SilenceDetector of so many is sure: one and a half election timeouts, less the beat until the first counts. */
const SURE_BEATS = 11
/** What a member may say its election timeout is; else it is not believed. */
const LEAST_TIMEOUT = 50
const MOST_TIMEOUT = 60_000
const USUAL_TIMEOUT = 1_000

export interface SilenceDetectorPorts {
  readonly clock: Clock
  readonly random: Random
  /** The link that is asked. */
  active(): Live | undefined
  /** Something may come without having been asked for. */
  awaits(): boolean
  /** Said at each beat, while it lasts. */
  suspected(live: Live, sure: boolean): void
  /** It was suspected, and lives. */
  lives(live: Live): void
}

export class SilenceDetector {
  readonly #ports: SilenceDetectorPorts
  #live: Live | undefined
  #received = 0
  /** Something was owed at the last beat too. */
  #owed = false
  #probed = false
  /** Nothing is owed: the next look is far away. */
  #idle = false
  #beats = 0
  /** Of the longest silence that was none; it fades. */
  #longest = 0
  #patience = LEAST_BEATS
  #timer: Timer | undefined
  #due = 0

  constructor(ports: SilenceDetectorPorts) {
    this.#ports = ports
  }

  /** Something was asked on that link, or is awaited there. */
  asked(live: Live): void {
    if (this.#timer !== undefined && this.#live === live && !this.#idle) return
    if (live.link?.received === undefined || live !== this.#ports.active()) return
    this.#live = live
    this.#heard(live.link.received())
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
    // Not all stores of a silent member in step.
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

  #signOfLife(live: Live, received: number): void {
    const beats = this.#beats
    this.#longest = Math.max(beats, this.#longest * 0.95)
    this.#heard(received)
    if (beats > 0) this.#ports.lives(live)
  }

  #heard(received: number): void {
    this.#received = received
    this.#beats = 0
    this.#probed = false
    this.#patience = Math.min(MOST_BEATS, Math.ceil(this.#longest) + LEAST_BEATS)
  }

  #silentBeat(live: Live): void {
    if (!this.#owed) return
    this.#beats++
    if (!this.#probed) this.#probe(live)
    const sure = this.#beats >= SURE_BEATS
    if (this.#beats >= this.#patience || sure) this.#ports.suspected(live, sure)
  }

  /** A command may wait for the others, and a read for a disk: a probe waits for nothing but the process. */
  #probe(live: Live): void {
    this.#probed = true
    live.link?.probe?.()
  }

  #next(live: Live): void {
    // It was left, and another link may be looked at by now.
    if (this.#live !== live) return
    if (live !== this.#ports.active()) return this.stop()
    const owed = live.inflight.size > 0 || this.#probed
    this.#owed = owed
    this.#idle = !owed
    if (owed) return this.#arm(this.#beat)
    if (!this.#ports.awaits()) return this.stop()
    // Nothing is owed: the next look asks, if nothing has come by itself until then.
    this.#owed = true
    this.#arm(this.#timeout)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#live = undefined
  }
}
