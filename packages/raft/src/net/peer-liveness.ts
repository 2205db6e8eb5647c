// Driver: finds out whether the peer at the other end of a connection is still alive, because a peer can
// vanish without closing its connection (C8).
//
// Laws
//   - the check does not measure time. It counts ping intervals in which no byte came from the peer. So a
//     long pause of this process counts as one interval only.
//   - an interval ends only after all input of this turn of the event loop has been handled. So after a pause
//     the waiting bytes are read first.
//   - a peer is alive if it has sent bytes, or has accepted bytes. A missing pong alone proves nothing,
//     because the pong may wait behind a long message.

import type { Clock, Timer } from '@latchkey/base'
import { RoundTrip } from './round-trip-time.js'

interface PeerLivenessPorts {
  readonly clock: Clock
  readonly defer: (run: () => void) => void
  /** In bytes, counted since the start of the connection. */
  received(): number
  /** In bytes, what the socket holds because the operating system has not accepted it yet. */
  waiting(): number
  /** Undefined on the side that only receives. */
  readonly ping: (() => void) | undefined
  silent(): void
}

export class PeerLiveness {
  readonly #ports: PeerLivenessPorts
  readonly roundTrip = new RoundTrip()
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
    this.roundTrip.asked(this.#ports.clock.now())
    this.#ports.ping?.()
    this.#arm()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }
}
