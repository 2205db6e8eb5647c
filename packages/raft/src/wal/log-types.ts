// Types: the types that the log on disk exchanges with its caller.

import type { Clock, Logger } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import type { Entry, GroupId, HardState, LogPosition, MemberId, Membership } from '../core/types.js'
import type { FileSystem } from './file-system-interface.js'

/**
 * Names this member. `memberId` and `incarnation` are on the disk before the member sends its first message.
 */
export interface Identity {
  /**
   * The cluster's random id. The first leader chooses the id. Until this member has recorded the id, the
   * value is ''.
   */
  readonly clusterId: string
  readonly memberId: MemberId
  /**
   * The random id of the data directory. If an operator wipes the directory, the member gets a new
   * incarnation. Then the cluster notices that the member's earlier votes and acknowledgements are lost.
   */
  readonly incarnation: string
}

export interface MembershipCodec {
  encode(membership: Membership): Uint8Array
  decode(bytes: Uint8Array): Membership
}

export interface WalOptions {
  readonly fs: FileSystem
  /**
   * The folder contains only the log, and is created if it is missing. The caller holds the lock of the
   * parent directory (directory-lock.ts).
   */
  readonly dir: string
  readonly group?: GroupId
  readonly memberId: MemberId
  /** The random id of the data directory, for a new log. An existing log keeps its incarnation. */
  readonly incarnation: string
  /** Encodes a membership for head records. Entries of kind 'members' use the same encoding. */
  readonly membership: MembershipCodec
  readonly clock: Clock
  readonly logger?: Logger
  /** In bytes. After a segment has reached this size, a new segment begins. */
  readonly segmentBytes?: number
  /**
   * In bytes. A segment file grows by chunks of this many zeros, so that few writes change the file's length.
   */
  readonly growBytes?: number
  /** Called once when a write or a sync has failed. From then on all appends fail. */
  readonly onFailed?: (error: LatchkeyError) => void
}

export interface Recovered {
  /**
   * True if this log has never recorded a term, an entry or a cluster id. So with this log, this member has
   * neither voted nor acknowledged an entry.
   */
  readonly fresh: boolean
  readonly identity: Identity
  readonly hardState: HardState
  /** The position of the entry before the first entry in `entries`, and the membership at that position. */
  readonly start: { readonly position: LogPosition; readonly membership: Membership }
  /** All entries after `start`, without a gap. All of them are durable. */
  readonly entries: readonly Entry[]
}
