// Rule: the types that the log on disk and its owner exchange.

import type { Clock, Logger } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import type { Entry, GroupId, HardState, LogPosition, MemberId, Membership } from '../core/types.js'
import type { FileSystem } from './file-system.js'

/** Which member's log this is. It is durable before the member sends its first message. */
export interface Identity {
  /** '' until the first leader has drawn the id and `setCluster` was called. */
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
  /**
   * A folder for the log alone; it is created when it does not exist. The caller holds the lock of the
   * directory (dir-lock.ts).
   */
  readonly dir: string
  readonly group?: GroupId
  readonly memberId: MemberId
  /** Used only for a fresh folder; otherwise the incarnation on disk counts. */
  readonly incarnation: string
  /** The encoding that the data of 'members' entries has too. */
  readonly membership: MembershipCodec
  readonly clock: Clock
  readonly logger?: Logger
  /** A segment of this size or more is full. */
  readonly segmentBytes?: number
  /** Files grow by chunks of this size. */
  readonly growBytes?: number
  /** Called once, when the log fails for good, also when no append was waiting. */
  readonly onFailed?: (error: LatchkeyError) => void
}

export interface Recovered {
  /**
   * True when the folder was just created: no vote and no acknowledgement was ever given from what it holds.
   */
  readonly fresh: boolean
  readonly identity: Identity
  readonly hardState: HardState
  /** The position of the last entry before `entries`, and the membership there. */
  readonly start: { readonly position: LogPosition; readonly membership: Membership }
  /** All durable, without a gap, from start.position.index + 1 on. */
  readonly entries: readonly Entry[]
}
