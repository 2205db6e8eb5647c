// Rule: chooses the messages for the next frame to one peer. There are three queues: small messages of Raft,
// the log (appends and pieces of a snapshot), and messages of the layer above Raft.
//
// Laws
//   - one frame carries all waiting messages that fit into FRAME_LIMIT.
//   - small messages are sent first. A heartbeat waits for at most one piece of a longer message (A11).
//   - messages of the log stay in order, and so do messages of the layer above. If both queues are long, the
//     two queues send alternately.
//   - each queue has a limit. If the queue of small messages or of the log is full, its waiting messages are
//     dropped, as a network may do. If the queue of the layer above is full, it refuses new messages. A
//     message is never dropped after its first piece was sent (L18).

import { CAPS } from '@latchkey/protocol'
import type { Message } from '../core/types.js'
import { Cutting, join, type Lane, MOST_ENTRIES, turnParts, WHOLE_LIMIT } from './frames.js'
import { appItem, appWeight, messageItem, weight } from './message-encoder.js'

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

/** In bytes, the largest frame without its prefix and the outer array of its head. */
const FRAME_BYTES = CAPS.frameBytes + 8 * 1024

interface Weighed<T> {
  readonly value: T
  readonly bytes: number
}

/** A first-in first-out queue that also knows the sum of its messages' sizes. */
class Queue<T> {
  #waiting: (Weighed<T> | undefined)[] = []
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
    const { value, bytes } = this.#waiting[this.#first] as Weighed<T>
    this.#waiting[this.#first++] = undefined
    this.bytes -= bytes
    if (this.#first === this.#waiting.length) this.clear()
    else if (this.#first > 1024 && this.#first * 2 > this.#waiting.length) {
      this.#waiting.splice(0, this.#first)
      this.#first = 0
    }
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

export class SendQueues {
  readonly #caps: LaneCaps
  readonly #small = new Queue<Message>()
  readonly #log = new Queue<Message>()
  readonly #app = new Queue<Uint8Array>()
  readonly #cutting: [Cutting | undefined, Cutting | undefined] = [undefined, undefined]
  /** The queue that sends next, if both the log and the layer above have messages. */
  #turn: Lane = LOG
  /** Messages that were dropped because the peer was too slow or disconnected. */
  dropped = 0

  constructor(caps: LaneCaps = LANE_CAPS) {
    this.#caps = caps
  }

  get empty(): boolean {
    return this.#small.length + this.#log.length + this.#app.length === 0 && !this.#cuts()
  }

  /**
   * In bytes, about the size of all waiting messages. Messages that are being sent in pieces are not counted.
   */
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

  /**
   * Returns the next frame, or undefined if nothing can be sent now. `free` is true if the operating system
   * has accepted all earlier bytes. If `free` is false, only small messages are sent. A message that is too
   * long for one frame is cut into pieces. A piece is valid until the next call in which `free` is true.
   */
  next(free: boolean): Uint8Array | undefined {
    const items: unknown[] = []
    const blobs: Uint8Array[] = []
    let room = FRAME_BYTES
    while (this.#small.first !== undefined && this.#small.first.bytes <= room) {
      room -= this.#small.first.bytes
      items.push(messageItem(this.#small.shift(), blobs))
    }
    const [mine, others] = [this.#turn, other(this.#turn)]
    if (free) {
      if (items.length === 0 && this.#isLong(mine)) return this.#piece(mine)
      room = this.#fill(mine, room, items, blobs)
      this.#fill(others, room, items, blobs)
    }
    if (items.length > 0) {
      if (free) this.#turn = others
      return join(turnParts(items, blobs))
    }
    return free && this.#isLong(others) ? this.#piece(others) : undefined
  }

  /** True if the next message of the queue is too long for one frame, or is being sent in pieces. */
  #isLong(lane: Lane): boolean {
    if (this.#cutting[lane] !== undefined) return true
    return (this.#queue(lane).first?.bytes ?? 0) > FRAME_BYTES
  }

  #queue(lane: Lane): Queue<Message> | Queue<Uint8Array> {
    return lane === LOG ? this.#log : this.#app
  }

  /**
   * Moves whole messages from the queue into the frame, as many as fit. Returns how many bytes of room are
   * left.
   */
  #fill(lane: Lane, free: number, items: unknown[], blobs: Uint8Array[]): number {
    let room = free
    while (this.#cutting[lane] === undefined) {
      const first = this.#queue(lane).first
      if (first === undefined || first.bytes > room) break
      room -= first.bytes
      items.push(this.#shift(lane, blobs))
    }
    return room
  }

  #shift(lane: Lane, blobs: Uint8Array[]): unknown[] {
    return lane === LOG ? messageItem(capped(this.#log.shift()), blobs) : appItem(this.#app.shift(), blobs)
  }

  #piece(lane: Lane): Uint8Array {
    const blobs: Uint8Array[] = []
    const cutting = this.#cutting[lane] ?? new Cutting(lane, turnParts([this.#shift(lane, blobs)], blobs))
    const frame = cutting.next()
    this.#cutting[lane] = cutting.done ? undefined : cutting
    this.#turn = other(lane)
    return frame
  }
}

const other = (lane: Lane): Lane => (lane === LOG ? ABOVE : LOG)

/**
 * Keeps at most MOST_ENTRIES entries of an append. From the answer the leader learns that the other entries
 * did not arrive, and sends them again.
 */
function capped(message: Message): Message {
  if (message.type !== 'append' || message.entries.length <= MOST_ENTRIES) return message
  return { ...message, entries: message.entries.slice(0, MOST_ENTRIES) }
}
