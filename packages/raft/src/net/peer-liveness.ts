// Driver: owns the question whether the other end of one socket is still there (C8: a peer can vanish without closing anything).
//
// Laws
//   - it counts beats without a sign of life, not time: a stall of this process is one beat, whatever its length
//   - a beat is judged behind what the turn of the event loop still delivers: after a stall the socket is read first
//   - a peer that takes or sends bytes lives, also when its pong is stuck behind a long message

import type { Clock, Timer } from '@latchkey/base'

export interface PeerLivenessPorts {
  readonly clock: Clock
  readonly defer: (run: () => void) => void
  /** Bytes received on the socket so far. */
  received(): number
  /** Bytes handed to the socket and not yet taken by the system. */
  waiting(): number
  /** Asks for a sign of life; undefined: only listens. */
  readonly ping: (() => void) | undefined
  silent(): void
}

export class PeerLiveness {
  readonly #ports: PeerLivenessPorts
  readonly #every: number
  readonly #most: number
  #received = -1
  #waiting = 0
  #missed = 0
  #timer: Timer | undefined
  #stopped = false

  constructor(ports: PeerLivenessPorts, every: number, most: number) {
    this.#ports = ports
    this.#every = every
    this.#most = most
    this.#arm()
  }

  #arm(): void {
    this.#timer = this.#ports.clock.after(this.#every, () => this.#ports.defer(() => this.#beat()), {
      ref: false,
    })
  }

  #beat(): void {
    if (this.#stopped) return
    const received = this.#ports.received()
    const waiting = this.#ports.waiting()
    const lives = received !== this.#received || waiting < this.#waiting
    this.#received = received
    this.#waiting = waiting
    this.#missed = lives ? 0 : this.#missed + 1
    if (this.#missed >= this.#most) {
      this.stop()
      return this.#ports.silent()
    }
    this.#ports.ping?.()
    this.#arm()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }
}
