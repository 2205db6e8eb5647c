// Types: the options and ports of a replica, and the interface that its transport calls.

import type { Clock, Logger, Random } from '@latchkey/base'
import type { MemberId } from '../core/types.js'
import type { PeerInfo, Transport } from '../net/index.js'
import type { FileSystem } from '../wal/index.js'
import type { StateMachine } from './state-machine-interface.js'
import type { LoopObserver, NodeOptions } from './node-types.js'
import type { DirectoryNote } from './data-directory-in-wrong-cluster.js'

export interface ReplicaOptions {
  readonly id: MemberId
  readonly group?: number
  /**
   * The addresses of all voters of a new cluster, including this member. The first start writes them to the
   * log. At a later start these addresses only help to find members that have moved (member-addresses.ts) or
   * belong to another cluster (data-directory-in-wrong-cluster.ts). Undefined means a cluster of one member.
   */
  readonly members: Readonly<Record<MemberId, string>> | undefined
  /**
   * The id of the only cluster that this member may belong to. A member with this option never founds a
   * cluster.
   */
  readonly clusterId?: string | undefined
  /** True for a new member that waits to be added. */
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
  /**
   * Stores the earlier addresses of members, and when this member's data directory was created. Undefined for
   * a member without a data directory.
   */
  readonly note?: DirectoryNote | undefined
  /** Called when this member may serve clients (data-directory-in-wrong-cluster.ts). */
  asked?(): void
  transport(self: TransportOwner): Transport
  /** Returns 128 random bits as text. */
  readonly newId: () => string
  /** Called for a message of the layer above Raft. */
  app?(from: MemberId, bytes: Uint8Array): void
  /**
   * Called when the connection to member `id` has closed. The outcome of the requests that were sent to
   * member `id` is then unknown.
   */
  gone?(id: MemberId): void
  met?(id: MemberId): void
}

export interface TransportOwner {
  admit(info: Pick<PeerInfo, 'id' | 'incarnation' | 'clusterId'>): string | undefined
  /**
   * Returns undefined if `id` is in this member's applied membership, otherwise this member's applied index.
   * This member sends the index to member `id`. That member compares the index with its own log, to find out
   * whether it was removed or is still being added.
   */
  missing(id: MemberId): number | undefined
  identity(): { readonly incarnation: string; readonly clusterId: string; readonly born?: string | undefined }
}
