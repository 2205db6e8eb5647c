// Types: how a store reaches members, and what its router tells the engine.

import type { LatchkeyError, LeaderReply, LinkReply } from '@latchkey/protocol'
import type { Dial } from '../link.js'
import type { Live } from './call.js'
import type { OtherMembers } from './third-member.js'

/**
 * How members are reached. Embedded: the own member, and through it others while it is cut off from the leader. Remote: some addresses,
 * and more are learned from the members.
 */
export type Route =
  | { readonly dial: Dial; readonly others?: OtherMembers }
  | { readonly seeds: readonly string[]; readonly dialTo: (url: string) => Dial }

export interface RouterEvents {
  /** `live` is the active one from now on. */
  active(live: Live): void
  leader(live: Live, leader: LeaderReply): void
  reply(live: Live, reply: Exclude<LinkReply, LeaderReply>): void
  lost(live: Live, reason: Error): void
  /** Nothing is expected there any more, though something may come: what is owed there is asked elsewhere. */
  left(live: Live): void
  /** Something may come without having been asked for. */
  awaits(): boolean
  /** Every address was tried and refused for a reason that will not pass by itself; undefined: no longer so. */
  barred(error: LatchkeyError | undefined): void
  /** The only member there is was removed: why nothing comes from the cluster any more. undefined: it is one again. */
  stranded(reason: LatchkeyError | undefined): void
  /** An address could not be reached or refused. */
  failed(error: unknown): void
}
