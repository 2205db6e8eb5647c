// Driver: counts the bytes of unfinished messages and bodies that this member has received from clients, over
// all connections.
//
// Laws:
//   1. Unfinished messages take at most MOST bytes of this member's memory, and LARGEST more for connections
//      that are being closed. If there are more bytes, one connection is closed. Of the connections with more
//      than an equal share, the one that has sent nothing for the longest time is closed.
//   2. An unfinished message must make progress: after its first WINDOW_MS, each further WINDOW_MS must bring
//      LEAST bytes, or the connection is closed.
//
// Without law 1: a hundred clients stop in the middle of messages of 15 MiB, each within its limit, and the
// member keeps 1.5 GB for them. Without law 2: bodies that never end keep their memory. A connection with a
// small share is never closed. So a client with a short message, which is complete a moment later, does not
// lose its connection because of the large messages of others.

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
  /** Closes the connection with the reason, and gives the client a moment to read it. */
  end(why: WhyEnded): void
  /** Closes the connection at once and drops the bytes that were received from it. */
  destroy(): void
}

interface Message {
  bytes: number
  isEnding: boolean
  isFirstWindow: boolean
  windowBegan: number
  bytesBefore: number
}

export class Unfinished {
  readonly #clock: Clock
  readonly #refusals: RefusalLog
  /**
   * The connections in the order of their last bytes. The connection that has sent something last comes last.
   */
  readonly #messages = new Map<Sender, Message>()
  #sum = 0
  #endingSum = 0
  #timer: Timer | undefined
  #looked = 0

  constructor({ clock, refusals }: { clock: Clock; refusals: RefusalLog }) {
    this.#clock = clock
    this.#refusals = refusals
  }

  /** The sum over all connections, including the connections that are being closed. */
  get bytes(): number {
    return this.#sum + this.#endingSum
  }

  /**
   * Called when the connection has sent something, and its unfinished message now has this many bytes. 0
   * means that the message is complete and no other message has begun.
   */
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
    const windowBegan = this.#clock.now()
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

  // ---- Law 1

  /** Called when a connection goes on sending although it is being closed. */
  #moreOfEnding(message: Message, bytes: number): void {
    // A complete message is not kept. The other bytes stay counted until the connection has closed a moment
    // later.
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

  /**
   * Returns one of the connections with more than an equal share: the connection that has sent nothing for
   * the longest time.
   */
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
    this.#refusals.note('clients', `unfinished-${why}`, text, { bytes, all: this.#sum })
    message.isEnding = true
    this.#sum -= bytes
    this.#endingSum += bytes
    sender.end(why)
  }

  // ---- Law 2

  #watch(): void {
    if (this.#timer !== undefined) return
    this.#looked = this.#clock.now()
    this.#arm()
  }

  #arm(): void {
    this.#timer = this.#clock.after(LOOK_MS, () => this.#look(), { ref: false })
  }

  #look(): void {
    const now = this.#clock.now()
    // While this member was paused it received nothing. No client must be closed for that.
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
