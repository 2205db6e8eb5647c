// Driver: owns the replies to one connection. The replies of one turn of the event loop are sent together, in
// frames of at most MOST_IN_FRAME replies. If a client does not read its replies, its connection is closed, so
// that the member does not run out of memory.

import { encodeReplies, type LinkReply, MOST_IN_FRAME } from '@latchkey/protocol'

/**
 * In bytes. When the replies of one turn have more bytes than this, these replies are sent before the turn
 * ends. Otherwise a few requests for large values could fill the memory.
 */
const MOST_GATHERED = 1024 * 1024

interface OutboxPorts {
  write(frame: Uint8Array): void
  /** Called after each write. Returns false if the connection was closed because of too many unread bytes. */
  wrote(): boolean
  defer(run: () => void): void
}

export class Outbox {
  readonly #ports: OutboxPorts
  #replies: LinkReply[] = []
  #bytes = 0
  /** The ids of the watches that get the events of the last reply. */
  #lastIds: number[] = []
  #over = false

  constructor(ports: OutboxPorts) {
    this.#ports = ports
  }

  tell(reply: LinkReply): void {
    if (this.#over || this.#joins(reply)) return
    this.#bytes += weigh(reply)
    const count = this.#replies.push(this.#joinable(reply))
    if (count === 1) this.#ports.defer(() => this.#flush())
    if (count === MOST_IN_FRAME || this.#bytes > MOST_GATHERED) this.#flush()
  }

  /**
   * Returns true if the last reply has the same events as `reply`, and adds the ids of `reply` to the last
   * reply. Watches of the same range get the same events one after another, and so these events are sent only
   * once.
   */
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
