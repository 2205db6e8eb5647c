// Driver's port: one connection to a member. A socket is one kind (client), a call into the own process is
// another (latchkey). The session engine owns retries, deadlines and order; a link only carries messages and
// reports when it has closed.

import type { LatchkeyError, LinkReply, LinkRequest } from '@latchkey/protocol'

// The messages on a link are defined in the protocol: client-frames.ts.
export type {
  AdminCall,
  AnswerReply,
  CommandRequest,
  LeaderReply,
  LinkReply,
  LinkRequest,
} from '@latchkey/protocol'

/**
 * Laws that the engine rests on:
 * - replies arrive in a later turn or microtask than `send`, never inside it;
 * - nothing that was sent on one link is answered on another;
 * - an answer whose error says "unknown" (its fourth place) or ERR_NO_LEADER without `never` is not the
 *   command's own answer: the member lost track of it. The engine asks again with the same number.
 */
export interface Link {
  send(request: LinkRequest): void
  /** After this call nothing arrives, and `closed` is not called. */
  close(): void
  /**
   * The number of all bytes received so far. A link into the own process has neither `received` nor `probe`:
   * it cannot be cut.
   */
  received?(): number
  /** Asks the other side to send some bytes, as a sign that it lives. */
  probe?(): void
}
export interface LinkEvents {
  reply(reply: LinkReply): void
  /** Called once. Afterwards nothing arrives; the outcome of each request without an answer is unknown. */
  closed(reason: Error): void
  /**
   * The member was removed from its cluster, and this link is the only one the store has: requests that need
   * the cluster are not answered any more. The link stays open for the others. undefined: it is a member
   * again.
   */
  stranded(reason: LatchkeyError | undefined): void
  /** Only on a link into the own process: that member does not reach the leader, or reaches it again. */
  cutOff?(isCutOff: boolean): void
}
/** Resolves when the member's first `leader` reply is on the way; rejects with a LatchkeyError. */
export type Dial = (events: LinkEvents, signal: AbortSignal) => Promise<Link>
