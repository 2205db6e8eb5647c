// Driver: limits the memory for client messages of which only a part has arrived (WebSocket messages and HTTP
// bodies), over all connections of this member.
//
// Laws:
//   1. Unfinished messages use at most MOST bytes of this member's memory, and LARGEST bytes more for
//      connections that are being closed. Beyond MOST, the member closes one connection. Of the connections
//      with at least the average number of unfinished bytes, this is the connection that was silent for the
//      longest time.
//   2. An unfinished message must make progress. After its first WINDOW_MS, at least LEAST bytes must arrive
//      in each further WINDOW_MS. Otherwise the connection is closed.
//
// Without law 1: a hundred clients stop in the middle of messages of 15 MiB. The member keeps 1.5 GB,
// although each message obeys the limit for one message. Without law 2: clients never complete their
// messages, and the memory is never free again. Law 1 spares connections with a small share, so that other
// clients' large messages do not close the connection of a short message.

import type { Clock, RefusalLog, Timer } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'

export const MOST = CAPS.unfinishedBytes
/** In bytes, the largest message. Connections that are being closed may use this much more. */
const LARGEST = CAPS.maxPayload
/** In ms. An unfinished message must get LEAST bytes in each window after its first. */
export const WINDOW_MS = 5_000
/** In bytes for each window. */
const LEAST = (CAPS.unfinishedBytesASecond * WINDOW_MS) / 1000
/** In ms, between two checks of law 2. */
const LOOK_MS = 1_000

export type WhyEnded = 'busy' | 'slow'

export interface Sender {
  /** Closes the connection after a moment, so that the client can read the reason. */
  end(why: WhyEnded): void
  /** Closes the connection immediately and drops its received bytes. */
  destroy(): void
}

interface Message {
  bytes: number
  isEnding: boolean
  isFirstWindow: boolean
  windowBegan: number
  bytesBefore: number
}

export class UnfinishedMessagesLimit {
  readonly #clock: Clock
  readonly #refusals: RefusalLog
  /**
   * The unfinished message of each connection. The connection that has been silent for the longest time is
   * the first in this map.
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

  /** Includes the messages of connections that are being closed. */
  get bytes(): number {
    return this.#sum + this.#endingSum
  }

  /** `bytes` is the present length of the unfinished message. 0 means that no message is unfinished. */
  received(sender: Sender, bytes: number): void {
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
    this.#closeOne()
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

  #moreOfEnding(message: Message, bytes: number): void {
    // The count of a closing connection never falls, because its bytes stay in memory until the connection
    // has closed.
    this.#endingSum += Math.max(0, bytes - message.bytes)
    message.bytes = Math.max(bytes, message.bytes)
    this.#closeOne()
  }

  #closeOne(): void {
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

  /** See law 1. */
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
        ? 'an incomplete message was refused: there are too many bytes of incomplete messages'
        : 'an incomplete message was refused: its bytes came too slowly'
    this.#refusals.note('clients', `unfinished-${why}`, text, { bytes, all: this.#sum })
    message.isEnding = true
    this.#sum -= bytes
    this.#endingSum += bytes
    sender.end(why)
  }

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
    // This member receives nothing during a pause of its process, so the pause does not count.
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
