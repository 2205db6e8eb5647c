// Rule: the types that the log on disk and its owner exchange.

import type { Clock, Logger } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import type { Entry, GroupId, HardState, LogPosition, MemberId, Membership } from '../core/types.js'
import type { FileSystem } from './file-system.js'

/** The owner of a log. The identity is durable before the member sends its first message. */
export interface Identity {
  /** The cluster's id. It is '' until the first leader has drawn the id and `setCluster` was called. */
  readonly clusterId: string
  readonly memberId: MemberId
  /**
   * A random text that is drawn when the directory is made. A directory that was wiped gets another
   * incarnation.
   */
  readonly incarnation: string
}

export interface MembershipCodec {
  encode(membership: Membership): Uint8Array
  /** Throws if the bytes are no membership. */
  decode(bytes: Uint8Array): Membership
}

export interface WalOptions {
  readonly fs: FileSystem
  /**
   * A folder for the log alone. It is created if it does not exist. The caller holds the lock of the
   * directory (directory-lock.ts).
   */
  readonly dir: string
  readonly group?: GroupId
  readonly memberId: MemberId
  /** The incarnation for a new folder. If the folder has a log, the incarnation on disk is used. */
  readonly incarnation: string
  /** The codec with which 'members' entries are encoded too. */
  readonly membership: MembershipCodec
  readonly clock: Clock
  readonly logger?: Logger
  /** In bytes. When a segment has this size, a new segment is begun. */
  readonly segmentBytes?: number
  /** Files grow by chunks of this size. */
  readonly growBytes?: number
  /** Called once, when the log has failed for good, even if no append was waiting. */
  readonly onFailed?: (error: LatchkeyError) => void
}

export interface Recovered {
  /** True if the folder was just created: no vote and no acknowledgement was ever given from its contents. */
  readonly fresh: boolean
  readonly identity: Identity
  readonly hardState: HardState
  /** The position of the last entry before `entries`, and the membership there. */
  readonly start: { readonly position: LogPosition; readonly membership: Membership }
  /** The entries from start.position.index + 1 on, without a gap. All of them are durable. */
  readonly entries: readonly Entry[]
}
