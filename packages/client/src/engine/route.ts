// Types: how a store reaches members, and the events that its router sends to the engine.

import type { LatchkeyError, LeaderReply, LinkReply } from '@latchkey/protocol'
import type { Dial } from '../link.js'
import type { Live } from './call.js'
import type { OtherMembers } from './third-member.js'

/**
 * How a store reaches members. Embedded: through its own member, and through another one while its own is cut
 * off from the leader. Remote: through some given addresses; it learns further ones from the members.
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
   * The store has left this link: requests without an answer are sent again elsewhere, and a late answer may
   * still come.
   */
  left(live: Live): void
  /** Events or grants may come that answer no request. */
  awaits(): boolean
  /** Every address was tried and failed for a permanent reason; undefined: this is over. */
  barred(error: LatchkeyError | undefined): void
  /**
   * The only member was removed from its cluster: the error of all calls that need the cluster. undefined: it
   * is a member again.
   */
  stranded(reason: LatchkeyError | undefined): void
  /** An address could not be reached, or refused the connection. */
  failed(error: unknown): void
}
