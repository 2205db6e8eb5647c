// Driver: owns what one connection is about to be told: all of one turn of the event loop goes out together, and a client that
// does not read loses its connection, never the member its memory.

import { encodeReplies, type LinkReply } from '@latchkey/protocol'

/** Bytes that may wait in a socket: the connection is closed beyond, and the client comes back for what it missed. */
const MOST_WAITING = 64 * 1024 * 1024

export interface OutboxPorts {
  write(frame: Uint8Array): void
  waiting(): number
  overflow(): void
  defer(run: () => void): void
}

export class Outbox {
  readonly #ports: OutboxPorts
  #replies: LinkReply[] = []

  constructor(ports: OutboxPorts) {
    this.#ports = ports
  }

  tell(reply: LinkReply): void {
    this.#replies.push(reply)
    if (this.#replies.length === 1) this.#ports.defer(() => this.#flush())
  }

  #flush(): void {
    const replies = this.#replies
    this.#replies = []
    for (const frame of encodeReplies(replies)) this.#ports.write(frame)
    if (this.#ports.waiting() > MOST_WAITING) this.#ports.overflow()
  }
}
