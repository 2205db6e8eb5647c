// Driver: owns the sum of what this member has read of messages and bodies that are not whole yet, over all connections of clients.
//
// Laws
//   1  What is not whole costs this member at most MOST bytes, and LARGEST more for those that have been told goodbye. Beyond, one gives
//      way that has more than an equal share of it: the one of which nothing was heard for longest.
//   2  What is not whole goes on: after its first WINDOW_MS, each further WINDOW_MS brings LEAST bytes, or it is ended.
//
// Without 1 the story is: a hundred clients stop in the midst of messages of 15 MiB, each within its limit, and the member keeps 1.5 GB
// for them. Without 2: bodies that never end keep their places and their memory. A small share never gives way, so that nobody's short
// message, which is whole a moment later, is ended for the sake of large ones.

import type { Clock, RefusalLog, Timer } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'

export const MOST = CAPS.unfinishedBytes
const LARGEST = CAPS.maxPayload
export const WINDOW_MS = 5_000
const LEAST = (CAPS.unfinishedBytesASecond * WINDOW_MS) / 1000
const LOOK_MS = 1_000

export type WhyEnded = 'busy' | 'slow'

/** A connection that sends. */
export interface Sender {
  /** It is told why, and has a moment to read it. */
  end(why: WhyEnded): void
  /** At once: what was read of it is let go of. */
  destroy(): void
}

interface Message {
  bytes: number
  isEnding: boolean
  isFirstWindow: boolean
  windowBegan: number
  bytesBefore: number
}

export interface UnfinishedPorts {
  readonly clock: Clock
  readonly refusals: RefusalLog
}

export class Unfinished {
  readonly #ports: UnfinishedPorts
  /** In the order in which they were heard: the one heard of last comes last. */
  readonly #messages = new Map<Sender, Message>()
  #sum = 0
  #endingSum = 0
  #timer: Timer | undefined
  #looked = 0

  constructor(ports: UnfinishedPorts) {
    this.#ports = ports
  }

  /** Of all connections, those that have been told goodbye too. */
  get bytes(): number {
    return this.#sum + this.#endingSum
  }

  /** Something came from it, and its message has so many bytes so far and is not whole; 0: it is whole, and no other one has begun. */
  heard(sender: Sender, bytes: number): void {
    const known = this.#messages.get(sender)
    if (known?.isEnding) return this.#moreOfEnding(known, bytes)
    if (known === undefined && bytes === 0) return
    if (bytes === 0) return this.left(sender)
    const message = known === undefined || bytes < known.bytes ? this.#begun() : known
    this.#sum += bytes - (known?.bytes ?? 0)
    message.bytes = bytes
    this.#messages.delete(sender)
    this.#messages.set(sender, message)
    this.#watch()
    this.#relieve()
  }

  #begun(): Message {
    const windowBegan = this.#ports.clock.now()
    return { bytes: 0, isEnding: false, isFirstWindow: true, windowBegan, bytesBefore: 0 }
  }

  left(sender: Sender): void {
    const message = this.#messages.get(sender)
    if (message === undefined) return
    this.#messages.delete(sender)
    if (message.isEnding) this.#endingSum -= message.bytes
    else this.#sum -= message.bytes
    if (this.#messages.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }

  // ---- law 1

  /** It goes on although it was told goodbye. */
  #moreOfEnding(message: Message, bytes: number): void {
    // What was whole is kept for nobody, but the rest of it is not counted down: it is gone soon.
    this.#endingSum += Math.max(0, bytes - message.bytes)
    message.bytes = Math.max(bytes, message.bytes)
    this.#relieve()
  }

  #relieve(): void {
    while (this.#sum > MOST) {
      const sender = this.#quietest()
      if (sender === undefined) return
      this.#end(sender, 'busy')
    }
    for (const [sender, { isEnding }] of this.#messages) {
      if (this.bytes <= MOST + LARGEST) return
      if (!isEnding) continue
      this.left(sender)
      sender.destroy()
    }
  }

  /** Of those with more than an equal share. */
  #quietest(): Sender | undefined {
    const share = this.#sum / this.#messages.size
    for (const [sender, { bytes, isEnding }] of this.#messages) if (!isEnding && bytes >= share) return sender
    return undefined
  }

  #end(sender: Sender, why: WhyEnded): void {
    const message = this.#messages.get(sender)
    if (message === undefined || message.isEnding) return
    const { bytes } = message
    const text =
      why === 'busy'
        ? 'a message that was not whole was ended: there was too much of such'
        : 'a message was ended: it did not go on'
    this.#ports.refusals.note('clients', `unfinished-${why}`, text, { bytes, all: this.#sum })
    message.isEnding = true
    this.#sum -= bytes
    this.#endingSum += bytes
    sender.end(why)
  }

  // ---- law 2

  #watch(): void {
    if (this.#timer !== undefined) return
    this.#looked = this.#ports.clock.now()
    this.#arm()
  }

  #arm(): void {
    this.#timer = this.#ports.clock.after(LOOK_MS, () => this.#look(), { ref: false })
  }

  #look(): void {
    const now = this.#ports.clock.now()
    // While this member stood still it heard nobody, and that was nobody's fault.
    const stood = Math.max(0, now - this.#looked - 2 * LOOK_MS)
    this.#looked = now
    for (const [sender, message] of [...this.#messages]) {
      message.windowBegan += stood
      if (message.isEnding || now - message.windowBegan < WINDOW_MS) continue
      const isSlow = !message.isFirstWindow && message.bytes - message.bytesBefore < LEAST
      if (isSlow) this.#end(sender, 'slow')
      message.isFirstWindow = false
      message.windowBegan = now
      message.bytesBefore = message.bytes
    }
    if (this.#messages.size > 0) this.#arm()
    else this.#timer = undefined
  }
}
