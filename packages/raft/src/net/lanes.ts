// Rule: what goes to one peer next. Three queues: small messages of consensus, the log (appends, pieces of a snapshot), and messages
// of the layer above.
//
// Laws
//   - all that waits goes into one frame, as long as it fits; a frame is never longer than FRAME_LIMIT
//   - small messages go first, and past a peer that reads slowly: a heartbeat waits for one piece at most (A11)
//   - the log and the layer above each keep their order, and take turns when both are long
//   - each queue has a cap. Full of small messages or log: they are dropped, as a network may; what had begun goes on (L18).
//     Full of the layer above: the next one is not taken. Messages are kept as they are, so that entries are not held twice.

import { CAPS } from '@latchkey/protocol'
import type { Message } from '../core/types.js'
import { Cutting, join, type Lane, MOST_ENTRIES, turnParts, WHOLE_LIMIT } from './frames.js'
import { APP, appItem, appWeight, messageItem, weight } from './items.js'

export interface LaneCaps {
  readonly smallMessages: number
  readonly logBytes: number
  readonly appBytes: number
}

export const LANE_CAPS: LaneCaps = {
  smallMessages: 4096,
  logBytes: 2 * CAPS.maxPayload,
  appBytes: CAPS.maxPayload,
}

/** What a frame may carry besides its prefix and the head's own brackets. */
const FRAME_BYTES = CAPS.frameBytes + 8 * 1024

interface Weighed<T> {
  readonly value: T
  readonly bytes: number
}

/** First in, first out, with a sum of weights. */
class Queue<T> {
  #waiting: Weighed<T>[] = []
  #first = 0
  bytes = 0

  get length(): number {
    return this.#waiting.length - this.#first
  }

  get first(): Weighed<T> | undefined {
    return this.#waiting[this.#first]
  }

  add(value: T, bytes: number): void {
    this.#waiting.push({ value, bytes })
    this.bytes += bytes
  }

  shift(): T {
    const { value, bytes } = this.#waiting[this.#first++] as Weighed<T>
    this.bytes -= bytes
    if (this.#first === this.#waiting.length) this.clear()
    return value
  }

  clear(): number {
    const count = this.length
    this.#waiting = []
    this.#first = 0
    this.bytes = 0
    return count
  }
}

const LOG: Lane = 0
const ABOVE: Lane = 1

export class Lanes {
  readonly #caps: LaneCaps
  readonly #small = new Queue<Message>()
  readonly #log = new Queue<Message>()
  readonly #app = new Queue<Uint8Array>()
  readonly #cutting: [Cutting | undefined, Cutting | undefined] = [undefined, undefined]
  /** Whose piece goes next when both lanes have one. */
  #turn: Lane = LOG
  /** Messages that were dropped because the peer was too slow. */
  dropped = 0

  constructor(caps: LaneCaps = LANE_CAPS) {
    this.#caps = caps
  }

  get empty(): boolean {
    return this.#small.length + this.#log.length + this.#app.length === 0 && !this.#cuts()
  }

  /** Bytes that wait, about; of messages that were begun nothing is counted. */
  get bytes(): number {
    return this.#small.bytes + this.#log.bytes + this.#app.bytes
  }

  #cuts(): boolean {
    return this.#cutting[LOG] !== undefined || this.#cutting[ABOVE] !== undefined
  }

  add(message: Message): void {
    const bytes = weight(message)
    const bulky = message.type === 'append' || message.type === 'snapshot'
    const queue = bulky ? this.#log : this.#small
    const full = bulky
      ? queue.bytes > 0 && queue.bytes + bytes > this.#caps.logBytes
      : queue.length >= this.#caps.smallMessages
    if (full) this.dropped += queue.clear()
    queue.add(message, bytes)
  }

  addApp(bytes: Uint8Array): boolean {
    const weighs = appWeight(bytes)
    if (weighs + this.#app.bytes > this.#caps.appBytes || weighs + CAPS.frameBytes > WHOLE_LIMIT) return false
    this.#app.add(bytes, weighs)
    return true
  }

  clear(): void {
    this.dropped += this.#small.clear() + this.#log.clear()
    this.#app.clear()
    this.#cutting[LOG] = undefined
    this.#cutting[ABOVE] = undefined
  }

  /** The next frame. `free`: the peer has taken all that was sent before; otherwise only small messages go. */
  next(free: boolean): Uint8Array | undefined {
    const items: unknown[] = []
    const blobs: Uint8Array[] = []
    let room = FRAME_BYTES
    while (this.#small.first !== undefined && this.#small.first.bytes <= room) {
      room -= this.#small.first.bytes
      items.push(messageItem(this.#small.shift(), blobs))
    }
    if (free) {
      room = this.#fillLog(room, items, blobs)
      this.#fillApp(room, items, blobs)
    }
    if (items.length > 0) return join(turnParts(items, blobs))
    return free ? this.#piece() : undefined
  }

  #fillLog(free: number, items: unknown[], blobs: Uint8Array[]): number {
    let room = free
    while (this.#cutting[LOG] === undefined && this.#log.first !== undefined) {
      const { bytes } = this.#log.first
      if (bytes > room) break
      room -= bytes
      items.push(messageItem(capped(this.#log.shift()), blobs))
    }
    return room
  }

  #fillApp(free: number, items: unknown[], blobs: Uint8Array[]): void {
    let room = free
    while (this.#cutting[ABOVE] === undefined && this.#app.first !== undefined) {
      const { bytes } = this.#app.first
      if (bytes > room) break
      room -= bytes
      items.push(appItem(this.#app.shift(), blobs))
    }
  }

  /** Nothing fits whole: what is first in each lane is cut. */
  #piece(): Uint8Array | undefined {
    this.#begin()
    const lane = this.#cutting[this.#turn] === undefined ? other(this.#turn) : this.#turn
    const cutting = this.#cutting[lane]
    if (cutting === undefined) return undefined
    const frame = cutting.next()
    if (cutting.done) this.#cutting[lane] = undefined
    this.#turn = other(lane)
    return frame
  }

  #begin(): void {
    const blobs: Uint8Array[] = []
    if (this.#cutting[LOG] === undefined && this.#log.first !== undefined) {
      const item = messageItem(capped(this.#log.shift()), blobs)
      this.#cutting[LOG] = new Cutting(LOG, turnParts([item], blobs))
    }
    if (this.#cutting[ABOVE] === undefined && this.#app.first !== undefined) {
      const bytes = this.#app.shift()
      this.#cutting[ABOVE] = new Cutting(ABOVE, turnParts([[APP, [bytes.length]]], [bytes]))
    }
  }
}

const other = (lane: Lane): Lane => (lane === LOG ? ABOVE : LOG)

/** The receiver takes no more entries at once; the core sends the rest again when it sees that they did not arrive. */
function capped(message: Message): Message {
  if (message.type !== 'append' || message.entries.length <= MOST_ENTRIES) return message
  return { ...message, entries: message.entries.slice(0, MOST_ENTRIES) }
}
