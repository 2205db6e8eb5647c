// Driver: one connection between two processes. Frames of a lane arrive in order; a connection that breaks takes along what was on
// its way, from some frame on; a cut holds frames back until it is mended or the silence is noticed.

import type { Random } from '@latchkey/base'
import type { Ground } from '../ground/ground.js'
import type { Life } from '../ground/host.js'
import type { Cuts } from './cuts.js'

export interface PipeEnd {
  readonly life: Life
  receive(frame: unknown): void
  /** Once; nothing is received after it. */
  closed(): void
}

export interface PipeOptions {
  /** Microseconds every frame needs, and of a long-tailed extra delay. */
  readonly base: number
  readonly tail: number
  /** Microseconds of silence after which an end gives up, at least and at most. */
  readonly pulse: readonly [number, number]
}

export type Side = 0 | 1
const other = (side: Side): Side => (side === 0 ? 1 : 0)

interface Frame {
  readonly to: Side
  readonly frame: unknown
}

export class Pipe {
  readonly #ground: Ground
  readonly #cuts: Cuts
  readonly #random: Random
  readonly #options: PipeOptions
  readonly #ends: readonly [PipeEnd, PipeEnd]
  /** By receiver and lane. */
  readonly #last = new Map<number, number>()
  readonly #told: [boolean, boolean] = [false, false]
  /** By receiver: frames that arrive later are lost. */
  readonly #until: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  /** An end that closed it by itself hears nothing more, also not what waited for a process that stood still. */
  readonly #closedBySelf: [boolean, boolean] = [false, false]
  #held: Frame[] = []
  #watching = false
  /** Extra microseconds for what is sent now, by receiver: a slow way. */
  slow: [number, number] = [0, 0]

  constructor(
    ground: Ground,
    cuts: Cuts,
    random: Random,
    options: PipeOptions,
    ends: readonly [PipeEnd, PipeEnd],
  ) {
    this.#ground = ground
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

  sideOf(life: Life): Side | undefined {
    if (this.#ends[0].life === life) return 0
    return this.#ends[1].life === life ? 1 : undefined
  }

  hostOf(side: Side): number {
    return this.#ends[side].life.host.index
  }

  send(from: Side, frame: unknown, lane = 0): void {
    if (this.#told[from]) return
    const to = other(from)
    const key = to * 10 + lane
    const at = Math.max(this.#ground.now + this.delay() + this.slow[to], this.#last.get(key) ?? 0)
    this.#last.set(key, at)
    this.#ground.at(at, () => this.#arrive({ to, frame }))
  }

  /** The word that opens both lanes towards that end. */
  greet(to: Side): void {
    const at = this.#ground.now + this.delay()
    this.#last.set(to * 10, at)
    this.#last.set(to * 10 + 1, at)
    this.#ground.at(at, () => this.#arrive({ to, frame: 'up' }))
  }

  delay(): number {
    const u = this.#random.float()
    return this.#options.base + Math.floor(u * u * u * u * this.#options.tail)
  }

  #arrive(frame: Frame): void {
    const { to } = frame
    if (this.#told[to] || this.#ground.now > this.#until[to]) return
    if (this.#cuts.blocked(this.hostOf(other(to)), this.hostOf(to))) {
      this.#held.push(frame)
      return this.look()
    }
    const end = this.#ends[to]
    end.life.deliver(() => !this.#closedBySelf[to] && end.receive(frame.frame))
  }

  /** The connection is reset: each end hears of it soon, and a part of what was on the way still arrives. */
  break(): void {
    for (const side of [0, 1] as const) this.#breakTowards(side)
  }

  #breakTowards(side: Side): void {
    const last = this.#ground.now + this.#random.between(0, 4 * this.#options.base + 2_000)
    this.#until[side] = Math.min(this.#until[side], last)
    this.#tellAt(side, last + 1)
  }

  /** One end closed it, or its process died (`silent`: its machine). */
  end(side: Side, silent = false): void {
    if (this.#told[side]) return
    this.#told[side] = true
    this.#closedBySelf[side] = true
    const peer = other(side)
    if (silent || this.#blocked()) this.#tellAt(peer, this.#ground.now + this.#pulse())
    else this.#breakTowards(peer)
  }

  #tellAt(side: Side, at: number): void {
    this.#ground.at(at, () => this.#tell(side))
  }

  #tell(side: Side): void {
    if (this.#told[side]) return
    this.#told[side] = true
    const end = this.#ends[side]
    end.life.deliver(() => !this.#closedBySelf[side] && end.closed())
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
      this.#ground.later(this.#pulse(), () => {
        this.#watching = false
        if (this.#blocked()) this.#tell(side)
      })
    }
  }
}
