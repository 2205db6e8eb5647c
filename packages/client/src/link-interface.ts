// Types: Link, which is one connection to a member. There are two kinds of links: a socket (this package),
// and calls within the process (packages/latchkey). The session engine owns retries, deadlines and order. A
// link carries messages, and reports that it has closed.

import type { LatchkeyError, LinkReply, LinkRequest } from '@latchkey/protocol'

export type {
  AdminCall,
  AnswerReply,
  CommandRequest,
  LeaderReply,
  LinkReply,
  LinkRequest,
} from '@latchkey/protocol'

/**
 * Laws that the engine needs:
 * - Replies arrive in a later turn or microtask than `send`, never inside of `send`.
 * - An answer comes on the link on which its request was sent, and never on another link.
 * - Some errors do not tell the outcome of a command, because the member that sent the error does not know
 *   the outcome (outcome-of-answer.ts). After such an error the engine sends the command again with the same
 *   number, so that it is executed at most once.
 */
export interface Link {
  send(request: LinkRequest): void
  /** Closes the link. After this call nothing arrives, and `closed` is not called. */
  close(): void
  /**
   * Returns how many bytes were received so far. A link within the process cannot be cut, so it has neither
   * `received` nor `probe`.
   */
  received?(): number
  /** Asks the member to send some bytes, as a sign that it is alive. */
  probe?(): void
}
export interface LinkEvents {
  reply(reply: LinkReply): void
  /**
   * Called once, when the link has closed. Nothing arrives after this call. The outcome of each request
   * without an answer is unknown.
   */
  closed(reason: Error): void
  /**
   * Called when the member was removed from its cluster and the store has no other link. Requests that need
   * the cluster get no answer any more. Other requests get answers. `reason` is undefined if the member
   * belongs to the cluster again.
   */
  memberRemoved(reason: LatchkeyError | undefined): void
  /**
   * Called on a link within the process, and on no other link. `isCutOff` is true if the member of this
   * process has lost contact with the leader, and false if the member has contact again.
   */
  cutOff?(isCutOff: boolean): void
}
/**
 * Opens a link. Resolves when the link is open. The member's first `leader` reply then follows. Rejects with
 * a LatchkeyError.
 */
export type Dial = (events: LinkEvents, signal: AbortSignal) => Promise<Link>
