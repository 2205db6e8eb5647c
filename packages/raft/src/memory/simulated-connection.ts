// Driver: one simulated connection between the processes of two machines. A connection has two lanes, and
// frames of one lane arrive in order. When a connection breaks, some of the frames under way are lost. While
// the network is cut, frames wait until the cut ends. If one end receives nothing for too long, and therefore
// closes the connection, the waiting frames are lost.

import type { Random } from '@latchkey/base'
import type { Cuts } from './network-cuts.js'
import type { HostProcess } from './simulated-host.js'
import type { Timeline } from './simulated-time-types.js'

interface ConnectionEnd {
  readonly process: HostProcess
  receive(frame: unknown): void
  /** Called once when the connection is closed. No frame is received after this call. */
  closed(): void
}

export interface ConnectionOptions {
  /** In microseconds. Each frame takes `base`, and a random extra delay of up to `tail`. */
  readonly base: number
  readonly tail: number
  /**
   * In microseconds, the shortest and the longest time after which an end that receives no frame closes the
   * connection.
   */
  readonly pulse: readonly [number, number]
  /**
   * In microseconds. After one end has closed or reset the connection, frames still arrive at the other end
   * for a random time of up to `within`. The other end learns of the close `gap` after that time.
   */
  readonly closing: { readonly within: number; readonly gap: number }
  /** Faults that a real connection never has. Raft must tolerate these faults too. */
  readonly unreliable?: Unreliable | undefined
}

/** An unreliable connection loses frames during a cut, instead of holding them back. */
export interface Unreliable {
  loses(): boolean
  /** The probability that a frame arrives twice. The second copy arrives up to `late` microseconds later. */
  readonly duplicate: number
  readonly late: number
  /** If false, a frame can overtake an earlier frame of the same lane. */
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
  /**
   * By receiver and lane, the arrival time of the last sent frame. No later frame of the lane arrives before
   * this time.
   */
  readonly #last = new Map<number, number>()
  readonly #knowsEnd: [boolean, boolean] = [false, false]
  /** By receiver: frames that would arrive after this time are lost. */
  readonly #until: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  /**
   * True for an end that has closed the connection itself. This end receives no more frames, not even frames
   * that waited while its process was paused.
   */
  readonly #closedBySelf: [boolean, boolean] = [false, false]
  #held: Frame[] = []
  #watching = false
  /** In microseconds, by receiver: an additional delay of each frame, for a slow network. */
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

  get over(): boolean {
    return this.#knowsEnd[0] && this.#knowsEnd[1]
  }

  knows(side: Side): boolean {
    return this.#knowsEnd[side]
  }

  sideOf(process: HostProcess): Side | undefined {
    if (this.#ends[0].process === process) return 0
    return this.#ends[1].process === process ? 1 : undefined
  }

  hostOf(side: Side): number {
    return this.#ends[side].process.host.index
  }

  send(from: Side, frame: unknown, lane = 0): void {
    if (this.#knowsEnd[from]) return
    const { unreliable } = this.#options
    if (unreliable?.loses()) return
    const to = other(from)
    const key = to * 10 + lane
    const at = Math.max(this.#timeline.now + this.delay() + this.slow[to], this.#last.get(key) ?? 0)
    if (unreliable?.inOrder !== false) this.#last.set(key, at)
    this.#timeline.at(at, () => this.#arrive({ to, frame }))
    if (unreliable === undefined || !this.#random.chance(unreliable.duplicate)) return
    const u = this.#random.float()
    // If the connection has become reliable before the second copy arrives, the copy is dropped.
    const again = () => this.#options.unreliable !== undefined && this.#arrive({ to, frame })
    this.#timeline.at(at + u * u * u * unreliable.late, again)
  }

  /**
   * Sends the first frame, which tells the receiver that the connection is open. All later frames of both
   * lanes arrive after this frame.
   */
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
    if (this.#knowsEnd[to] || this.#timeline.now > this.#until[to]) return
    if (this.#cuts.blocked(this.hostOf(other(to)), this.hostOf(to))) {
      if (this.#options.unreliable === undefined || frame.frame === 'up') this.#held.push(frame)
      return this.look()
    }
    const end = this.#ends[to]
    end.process.deliver(() => !this.#closedBySelf[to] && end.receive(frame.frame))
  }

  /**
   * Resets the connection. Both ends learn of the reset soon, and some of the frames under way still arrive.
   */
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
   * Called when one end has closed the connection or its process has died. If `silent`, the whole machine of
   * this end has died. Then the other end learns of this only after a random time (`pulse`), because no frame
   * arrives any more.
   */
  end(side: Side, silent = false): void {
    if (this.#knowsEnd[side]) return
    this.#knowsEnd[side] = true
    this.#closedBySelf[side] = true
    const peer = other(side)
    if (silent || this.#blocked()) this.#tellAt(peer, this.#timeline.now + this.#pulse())
    else this.#breakTowards(peer)
  }

  #tellAt(side: Side, at: number): void {
    this.#timeline.at(at, () => this.#tell(side))
  }

  #tell(side: Side): void {
    if (this.#knowsEnd[side]) return
    this.#knowsEnd[side] = true
    const end = this.#ends[side]
    end.process.deliver(() => !this.#closedBySelf[side] && end.closed())
    const peer = other(side)
    if (!this.#knowsEnd[peer] && !this.#blocked()) this.#breakTowards(peer)
  }

  #blocked(): boolean {
    const [a, b] = [this.hostOf(0), this.hostOf(1)]
    return this.#cuts.blocked(a, b) || this.#cuts.blocked(b, a)
  }

  #pulse(): number {
    return this.#random.between(...this.#options.pulse)
  }

  /**
   * Called when a cut has begun or ended. Without a cut, the held frames arrive now. During a cut, an end
   * that receives nothing closes the connection after a while.
   */
  look(): void {
    if (this.over) return
    if (this.#blocked()) return this.#watchSilence()
    const held = this.#held
    this.#held = []
    for (const frame of held) this.#arrive(frame)
    for (const side of [0, 1] as const) {
      if (this.#knowsEnd[side] && !this.#knowsEnd[other(side)]) this.#breakTowards(other(side))
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
