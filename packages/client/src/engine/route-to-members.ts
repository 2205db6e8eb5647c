// Types: how a store reaches members, and the events that its router sends to the engine.

import type { LatchkeyError, LeaderReply, LinkReply } from '@latchkey/protocol'
import type { Dial } from '../link.js'
import type { Live } from './call.js'
import type { OtherMembers } from './link-to-third-member.js'

/**
 * How a store reaches members. An embedded store uses its own member, and another one while its own
 * has lost contact with the leader. A remote store uses some given addresses, and learns further ones
 * from the members.
 */
export type Route =
  | { readonly dial: Dial; readonly others?: OtherMembers }
  | { readonly seeds: readonly string[]; readonly dialTo: (url: string) => Dial }

export interface RouterEvents {
  /** `live` is the active link from now on. */
  active(live: Live): void
  leader(live: Live, leader: LeaderReply): void
  reply(live: Live, reply: Exclude<LinkReply, LeaderReply>): void
  lost(live: Live, reason: Error): void
  /**
   * The store has left this link. Requests without an answer are sent again elsewhere, and a late answer
   * may still come.
   */
  left(live: Live): void
  /** Whether events or grants may come that answer no request. */
  awaits(): boolean
  /** Every address was tried and failed for a permanent reason. Undefined means that this is over. */
  barred(error: LatchkeyError | undefined): void
  /**
   * The only member was removed from its cluster: the error is that of all calls that need the cluster.
   * Undefined means that it is a member again.
   */
  stranded(reason: LatchkeyError | undefined): void
  /** An address could not be reached, or refused the connection. */
  failed(error: unknown): void
}
