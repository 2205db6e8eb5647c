// Driver: owns what one connection is about to be told: all of one turn of the event loop goes out together, and a client that
// does not read loses its connection, never the member its memory.

import { encodeReplies, type LinkReply } from '@latchkey/protocol'

/** What gathers in one turn goes out at once beyond: a frame of questions may ask for far more than itself. */
const MOST_GATHERED = 1024 * 1024

export interface OutboxPorts {
  write(frame: Uint8Array): void
  /** A frame was written; false: the connection is closed, since too much waits to be read. */
  wrote(): boolean
  defer(run: () => void): void
}

export class Outbox {
  readonly #ports: OutboxPorts
  #replies: LinkReply[] = []
  #bytes = 0
  /** Of the last events that were told: more may join them. */
  #lastIds: number[] = []
  #over = false

  constructor(ports: OutboxPorts) {
    this.#ports = ports
  }

  tell(reply: LinkReply): void {
    if (this.#over || this.#joins(reply)) return
    this.#bytes += weigh(reply)
    if (this.#replies.push(this.#joinable(reply)) === 1) this.#ports.defer(() => this.#flush())
    if (this.#bytes > MOST_GATHERED) this.#flush()
  }

  /** Watches of one range are told the very same events, one after the other: they travel once. */
  #joins(reply: LinkReply): boolean {
    const last = this.#replies[this.#replies.length - 1]
    if (reply.kind !== 'events' || last?.kind !== 'events') return false
    if (reply.events !== last.events || reply.upTo !== last.upTo) return false
    this.#lastIds.push(...reply.ids)
    return true
  }

  #joinable(reply: LinkReply): LinkReply {
    if (reply.kind !== 'events') return reply
    this.#lastIds = [...reply.ids]
    return { ...reply, ids: this.#lastIds }
  }

  #flush(): void {
    const replies = this.#replies
    if (replies.length === 0 || this.#over) return
    this.#replies = []
    this.#bytes = 0
    for (const frame of encodeReplies(replies)) this.#ports.write(frame)
    this.#over = !this.#ports.wrote()
  }
}

/** About, and only what can be large. */
function weigh(reply: LinkReply): number {
  switch (reply.kind) {
    case 'answer':
      return weighValue(reply.answer)
    case 'events':
      return weighValue(reply.events)
    default:
      return 100
  }
}

function weighValue(value: unknown): number {
  if (value instanceof Uint8Array || typeof value === 'string') return value.length
  if (!Array.isArray(value)) return 9
  let sum = 0
  for (const part of value) sum += weighValue(part)
  return sum
}
