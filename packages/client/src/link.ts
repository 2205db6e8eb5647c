// Driver's port: one way to a member. A socket is one (client), a call into the own process another (latchkey).
// The session engine owns retries, deadlines and order; a link only carries and tells when it is gone.

import type { LatchkeyError, LinkReply, LinkRequest } from '@latchkey/protocol'

// What is said on a link is the protocol's: frames.ts there.
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
 * - an answer whose error says "unknown" (its fourth place) or ERR_NO_LEADER without `never` is not the command's own answer:
 *   the member lost track of it. The engine asks again with the same number.
 */
export interface Link {
  send(request: LinkRequest): void
  /** Nothing arrives after it; `closed` is not called for it. */
  close(): void
  /** Bytes received so far, of whatever kind. Where it and `probe` are missing there is no way that could be cut: it is this process. */
  received?(): number
  /** Asks the other end for a sign of life: bytes, of whatever kind. */
  probe?(): void
}
export interface LinkEvents {
  reply(reply: LinkReply): void
  /** Once. After it nothing arrives any more; what was sent and not answered has an unknown fate. */
  closed(reason: Error): void
  /**
   * The member was removed from its cluster, and this link is the only way there is: what needs the cluster is not answered here
   * any more. It stays open for the rest. undefined: it is a member again.
   */
  stranded(reason: LatchkeyError | undefined): void
  /** Of a link into the own process: that member does not reach the leader, or does again. */
  cutOff?(isCutOff: boolean): void
}
/** Resolves when the member's first `leader` reply is on its way; rejects with a LatchkeyError. */
export type Dial = (events: LinkEvents, signal: AbortSignal) => Promise<Link>
