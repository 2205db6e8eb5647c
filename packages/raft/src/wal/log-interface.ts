// Rule: what the log on disk takes and gives; the words between it and its owner.

import type { Clock, Logger } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import type { Entry, GroupId, HardState, LogPosition, MemberId, Membership } from '../core/types.js'
import type { FileSystem } from './file-system.js'

/** Whose log this is. Durable before a member says its first word. */
export interface Identity {
  /** '' until the first leader has drawn it and `setCluster` was called. */
  readonly clusterId: string
  readonly memberId: MemberId
  /** Drawn when the directory was made; a wiped directory gets another one. */
  readonly incarnation: string
}

export interface MembershipCodec {
  encode(membership: Membership): Uint8Array
  /** Throws when the bytes are no membership. */
  decode(bytes: Uint8Array): Membership
}

export interface WalOptions {
  readonly fs: FileSystem
  /** A folder of its own; made when it is not there. The caller holds the lock of the directory (dir-lock.ts). */
  readonly dir: string
  readonly group?: GroupId
  readonly memberId: MemberId
  /** Taken only when the folder is fresh; else what is on disk counts. */
  readonly incarnation: string
  /** The same as of the 'members' entries' data. */
  readonly membership: MembershipCodec
  readonly clock: Clock
  readonly logger?: Logger
  /** A segment is full from this size on. */
  readonly segmentBytes?: number
  /** Files grow by whole chunks of this size. */
  readonly growBytes?: number
  /** Told once, when the log fails for good, also when no append was waiting. */
  readonly onFailed?: (error: LatchkeyError) => void
}

export interface Recovered {
  /** The folder was made now: nothing was ever promised from it. */
  readonly fresh: boolean
  readonly identity: Identity
  readonly hardState: HardState
  /** The place before the first of `entries`, and the members as of there. */
  readonly start: { readonly position: LogPosition; readonly membership: Membership }
  /** Contiguous, from start.position.index + 1 on; all of them durable. */
  readonly entries: readonly Entry[]
}
