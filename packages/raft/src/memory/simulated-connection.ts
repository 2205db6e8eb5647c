// Driver: one connection between two processes of simulated machines. A connection has lanes: frames of one
// lane arrive in order. When a connection breaks, some of the frames under way are lost. When the network is
// cut, frames are held back until the cut ends, or until one end closes the connection because it receives
// nothing.

import type { Random } from '@latchkey/base'
import type { Cuts } from './network-cuts.js'
import type { HostProcess } from './simulated-host.js'
import type { Timeline } from './simulated-time-types.js'

export interface ConnectionEnd {
  readonly process: HostProcess
  receive(frame: unknown): void
  /** Called once. Nothing is received after it. */
  closed(): void
}

export interface ConnectionOptions {
  /** In microseconds: the time that every frame takes, and the mean of a random extra delay. */
  readonly base: number
  readonly tail: number
  /**
   * In microseconds: the shortest and the longest time without a frame after which an end closes the
   * connection.
   */
  readonly pulse: readonly [number, number]
  /**
   * In microseconds. `within` is the longest time until an end learns that the other end has closed or reset
   * the connection. `gap` is the time after which the last frame arrives that is not lost.
   */
  readonly closing: { readonly within: number; readonly gap: number }
  /** Faults that a real connection never has. Raft stays safe and makes progress in spite of them. */
  readonly unreliable?: Unreliable | undefined
}

/** An unreliable connection. During a cut such a connection loses frames, instead of holding them back. */
export interface Unreliable {
  /** Called for each frame between two members. Returns true if the frame never arrives. */
  loses(): boolean
  /** The fraction of frames that arrive twice. The second copy arrives up to `late` microseconds later. */
  readonly duplicate: number
  readonly late: number
  /** If false, a frame can arrive before an earlier frame of its lane. */
  readonly inOrder: boolean
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
  /** When the last frame arrives, by receiver and lane. */
  readonly #last = new Map<number, number>()
  readonly #told: [boolean, boolean] = [false, false]
  /** By receiver: the time after which frames for that receiver are lost. */
  readonly #until: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  /**
   * True for an end that has closed the connection itself. Such an end receives nothing more, not even frames
   * that waited because its process was paused.
   */
  readonly #closedBySelf: [boolean, boolean] = [false, false]
  #held: Frame[] = []
  #watching = false
  /**
   * In microseconds, by receiver: how much longer each frame takes that is sent now. It simulates a slow
   * network.
   */
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

  /** True when both ends know that the connection has ended. */
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
    const { unreliable } = this.#options
    if (unreliable?.loses()) return
    const to = other(from)
    const key = to * 10 + lane
    const at = Math.max(this.#timeline.now + this.delay() + this.slow[to], this.#last.get(key) ?? 0)
    if (unreliable?.inOrder !== false) this.#last.set(key, at)
    this.#timeline.at(at, () => this.#arrive({ to, frame }))
    if (unreliable === undefined || !this.#random.chance(unreliable.duplicate)) return
    const u = this.#random.float()
    // Delivers the frame a second time, unless the connection has become reliable meanwhile.
    const again = () => this.#options.unreliable !== undefined && this.#arrive({ to, frame })
    this.#timeline.at(at + u * u * u * unreliable.late, again)
  }

  /** Sends the frame that opens both lanes towards that end. */
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
      if (this.#options.unreliable === undefined || frame.frame === 'up') this.#held.push(frame)
      return this.look()
    }
    const end = this.#ends[to]
    end.process.deliver(() => !this.#closedBySelf[to] && end.receive(frame.frame))
  }

  /** Resets the connection. Both ends learn of it soon, and a part of the frames under way still arrives. */
  break(): void {
    for (const side of [0, 1] as const) this.#breakTowards(side)
  }

  #breakTowards(side: Side): void {
    const { within, gap } = this.#options.closing
    const last = this.#timeline.now + this.#random.between(0, within)
    this.#until[side] = Math.min(this.#until[side], last)
    this.#tellAt(side, last + gap)
  }

  /**
   * Ends the connection because one end closed it or its process died. With `silent` the whole machine of
   * that end died, so the other end learns nothing.
   */
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

  /** Called when a cut has begun or ended. */
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
