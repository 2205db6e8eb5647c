// Driver: one connection between two processes of simulated hosts. Frames of a lane arrive in order; a
// connection that breaks takes along what was on its way, from some frame on; a cut holds frames back until
// it is mended or the silence is noticed.

import type { Random } from '@latchkey/base'
import type { Cuts } from './cuts.js'
import type { HostProcess } from './host.js'
import type { Timeline } from './timeline.js'

export interface ConnectionEnd {
  readonly process: HostProcess
  receive(frame: unknown): void
  /** Once; nothing is received after it. */
  closed(): void
}

export interface ConnectionOptions {
  /** Microseconds every frame needs, and of a long-tailed extra delay. */
  readonly base: number
  readonly tail: number
  /** Microseconds of silence after which an end gives up, at least and at most. */
  readonly pulse: readonly [number, number]
  /**
   * Microseconds in which an end hears that the other one closed the connection, or that it was reset, and
   * microseconds between the last frame that still comes and that.
   */
  readonly closing: { readonly within: number; readonly gap: number }
}

export type Side = 0 | 1
const other = (side: Side): Side => (side === 0 ? 1 : 0)

interface Frame {
  readonly to: Side
  readonly frame: unknown
}

export class MemoryConnection {
  readonly #timeline: Timeline
  readonly #cuts: Cuts
  readonly #random: Random
  readonly #options: ConnectionOptions
  readonly #ends: readonly [ConnectionEnd, ConnectionEnd]
  /** By receiver and lane. */
  readonly #last = new Map<number, number>()
  readonly #told: [boolean, boolean] = [false, false]
  /** By receiver: frames that arrive later are lost. */
  readonly #until: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  /**
   * An end that closed it by itself hears nothing more, also not what waited for a process that stood still.
   */
  readonly #closedBySelf: [boolean, boolean] = [false, false]
  #held: Frame[] = []
  #watching = false
  /** Extra microseconds for what is sent now, by receiver: a slow way. */
  slow: [number, number] = [0, 0]

  constructor(
    timeline: Timeline,
    cuts: Cuts,
    random: Random,
    options: ConnectionOptions,
    ends: readonly [ConnectionEnd, ConnectionEnd],
  ) {
    this.#timeline = timeline
    this.#cuts = cuts
    this.#random = random
    this.#options = options
    this.#ends = ends
  }

  /** Both ends know that it is over. */
  get over(): boolean {
    return this.#told[0] && this.#told[1]
  }

  knows(side: Side): boolean {
    return this.#told[side]
  }

  sideOf(process: HostProcess): Side | undefined {
    if (this.#ends[0].process === process) return 0
    return this.#ends[1].process === process ? 1 : undefined
  }

  hostOf(side: Side): number {
    return this.#ends[side].process.host.index
  }

  send(from: Side, frame: unknown, lane = 0): void {
    if (this.#told[from]) return
    const to = other(from)
    const key = to * 10 + lane
    const at = Math.max(this.#timeline.now + this.delay() + this.slow[to], this.#last.get(key) ?? 0)
    this.#last.set(key, at)
    this.#timeline.at(at, () => this.#arrive({ to, frame }))
  }

  /** The word that opens both lanes towards that end. */
  greet(to: Side): void {
    const at = this.#timeline.now + this.delay()
    this.#last.set(to * 10, at)
    this.#last.set(to * 10 + 1, at)
    this.#timeline.at(at, () => this.#arrive({ to, frame: 'up' }))
  }

  delay(): number {
    const u = this.#random.float()
    return this.#options.base + Math.floor(u * u * u * u * this.#options.tail)
  }

  #arrive(frame: Frame): void {
    const { to } = frame
    if (this.#told[to] || this.#timeline.now > this.#until[to]) return
    if (this.#cuts.blocked(this.hostOf(other(to)), this.hostOf(to))) {
      this.#held.push(frame)
      return this.look()
    }
    const end = this.#ends[to]
    end.process.deliver(() => !this.#closedBySelf[to] && end.receive(frame.frame))
  }

  /** The connection is reset: each end hears of it soon, and a part of what was on the way still arrives. */
  break(): void {
    for (const side of [0, 1] as const) this.#breakTowards(side)
  }

  #breakTowards(side: Side): void {
    const { within, gap } = this.#options.closing
    const last = this.#timeline.now + this.#random.between(0, within)
    this.#until[side] = Math.min(this.#until[side], last)
    this.#tellAt(side, last + gap)
  }

  /** One end closed it, or its process died (`silent`: its machine). */
  end(side: Side, silent = false): void {
    if (this.#told[side]) return
    this.#told[side] = true
    this.#closedBySelf[side] = true
    const peer = other(side)
    if (silent || this.#blocked()) this.#tellAt(peer, this.#timeline.now + this.#pulse())
    else this.#breakTowards(peer)
  }

  #tellAt(side: Side, at: number): void {
    this.#timeline.at(at, () => this.#tell(side))
  }

  #tell(side: Side): void {
    if (this.#told[side]) return
    this.#told[side] = true
    const end = this.#ends[side]
    end.process.deliver(() => !this.#closedBySelf[side] && end.closed())
    const peer = other(side)
    if (!this.#told[peer] && !this.#blocked()) this.#breakTowards(peer)
  }

  #blocked(): boolean {
    const [a, b] = [this.hostOf(0), this.hostOf(1)]
    return this.#cuts.blocked(a, b) || this.#cuts.blocked(b, a)
  }

  #pulse(): number {
    return this.#random.between(...this.#options.pulse)
  }

  /** A cut has come or gone. */
  look(): void {
    if (this.over) return
    if (this.#blocked()) return this.#watchSilence()
    const held = this.#held
    this.#held = []
    for (const frame of held) this.#arrive(frame)
    for (const side of [0, 1] as const) {
      if (this.#told[side] && !this.#told[other(side)]) this.#breakTowards(other(side))
    }
  }

  #watchSilence(): void {
    if (this.#watching) return
    this.#watching = true
    for (const side of [0, 1] as const) {
      this.#timeline.later(this.#pulse(), () => {
        this.#watching = false
        if (this.#blocked()) this.#tell(side)
      })
    }
  }
}
