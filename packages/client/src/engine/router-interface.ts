// Types: how a store reaches members, and the events that its router sends to the engine.

import type { LatchkeyError, LeaderReply, LinkReply } from '@latchkey/protocol'
import type { Dial } from '../link-interface.js'
import type { LinkState } from './call.js'
import type { OtherMembers } from './embedded-store-link-to-third-member.js'

export type Route =
  | { readonly dial: Dial; readonly others?: OtherMembers }
  | { readonly seeds: readonly string[]; readonly dialTo: (url: string) => Dial }

export interface RouterEvents {
  active(live: LinkState): void
  leader(live: LinkState, leader: LeaderReply): void
  reply(live: LinkState, reply: Exclude<LinkReply, LeaderReply>): void
  lost(live: LinkState, reason: Error): void
  /**
   * Called when the store has moved from this link to another link, although this link may still work. The
   * unanswered requests of this link are sent again on the other link. A late answer on this link is still
   * valid.
   */
  left(live: LinkState): void
  /** True if the member may send events or grants, which answer no request. */
  awaits(): boolean
  /**
   * Called with an error when every address was tried and has failed for a permanent reason. Called with
   * undefined when an address can be tried again.
   */
  noUsableAddress(error: LatchkeyError | undefined): void
  /**
   * Called with an error when the store's only member was removed from its cluster. All calls that need the
   * cluster get this error. Called with undefined when the member belongs to the cluster again.
   */
  memberRemoved(reason: LatchkeyError | undefined): void
  failed(error: unknown): void
}
