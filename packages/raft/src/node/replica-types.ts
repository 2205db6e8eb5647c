// Types: the options and ports of a replica, and the interface that its transport calls.

import type { Clock, Logger, Random } from '@latchkey/base'
import type { MemberId } from '../core/types.js'
import type { PeerInfo, Transport } from '../net/index.js'
import type { FileSystem } from '../wal/index.js'
import type { StateMachine } from './state-machine.js'
import type { LoopObserver, NodeOptions } from './node-types.js'
import type { DirectoryNote } from './wrong-cluster-check.js'

export interface ReplicaOptions {
  readonly id: MemberId
  readonly group?: number
  /**
   * The addresses of all voters of a new cluster, including this member's address. They are used at the first
   * start. Undefined means a cluster of one member.
   */
  readonly members: Readonly<Record<MemberId, string>> | undefined
  /** If given, this member belongs to that cluster or to no cluster yet, and founds no other cluster. */
  readonly clusterId?: string | undefined
  /** True for a new, empty member that waits to be added. */
  readonly join: boolean
  readonly electionTimeout: number
  readonly heartbeat: number
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
  readonly limits?: NodeOptions['limits']
}

export interface ReplicaPorts {
  readonly fs: FileSystem
  /** The folder of the log. The caller holds the lock of the directory that contains this folder. */
  readonly dir: string
  readonly clock: Clock
  readonly random: Random
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly machine: StateMachine
  readonly observer?: LoopObserver | undefined
  /** What the directory knows in addition to its log. Undefined for a member without a directory. */
  readonly note?: DirectoryNote | undefined
  /**
   * Called when given members that the log does not know have answered with their cluster. This member may
   * then serve clients.
   */
  asked?(): void
  transport(self: TransportOwner): Transport
  /** 128 random bits as text. */
  readonly newId: () => string
  /** Called for a message of the layer above, from another member. */
  app?(from: MemberId, bytes: Uint8Array): void
  /** Called when the connection to a member is gone. Requests that were sent on it have an unknown result. */
  gone?(id: MemberId): void
  /** Called when the connection to a member works. */
  met?(id: MemberId): void
}

/** What a transport asks its member. */
export interface TransportOwner {
  /** Returns why that member is refused, or undefined if it is admitted. */
  admit(info: Pick<PeerInfo, 'id' | 'incarnation' | 'clusterId'>): string | undefined
  /**
   * Returns the index of the last applied entry for a connected peer that is not in this member's
   * configuration. The index is sent in the handshake. The peer compares the index with its own log, to find
   * out whether it was removed or is only being added.
   */
  missing(id: MemberId): number | undefined
  /** What this member sends about itself in a handshake. */
  identity(): { readonly incarnation: string; readonly clusterId: string; readonly born?: string | undefined }
}
