// Types: the options and ports of a replica, and the interface that its transport calls.

import type { Clock, Logger, Random } from '@latchkey/base'
import type { MemberId } from '../core/types.js'
import type { PeerInfo, Transport } from '../net/index.js'
import type { FileSystem } from '../wal/index.js'
import type { StateMachine } from './state-machine.js'
import type { DirectoryNote } from './one-cluster.js'

export interface ReplicaOptions {
  readonly id: MemberId
  readonly group?: number
  /**
   * The addresses of all voters of a new cluster, this member's included; used at the first start. Undefined:
   * a cluster of one.
   */
  readonly members: Readonly<Record<MemberId, string>> | undefined
  /** This member belongs to that cluster or to none, and founds no other one. */
  readonly clusterId?: string | undefined
  /** True for a new, empty member that waits to be added. */
  readonly join: boolean
  readonly electionTimeout: number
  readonly heartbeat: number
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
}

export interface ReplicaPorts {
  readonly fs: FileSystem
  /** The folder of the log; the caller holds the lock of the directory around it. */
  readonly dir: string
  readonly clock: Clock
  readonly random: Random
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly machine: StateMachine
  /** What the directory knows besides its log; undefined: nothing, as for a member in memory. */
  readonly note?: DirectoryNote | undefined
  /** Given members that the log does not know have answered with their cluster: clients may be served. */
  asked?(): void
  transport(self: TransportOwner): Transport
  /** 128 random bits as text. */
  readonly newId: () => string
  /** A message of the layer above, from another member. */
  app?(from: MemberId, bytes: Uint8Array): void
  /** The connection to a member is gone: requests that were sent there have an unknown result. */
  gone?(id: MemberId): void
  /** The connection to a member is there. */
  met?(id: MemberId): void
}

/** The questions of a transport to its member. */
export interface TransportOwner {
  /** Undefined, or the reason why that member is refused. */
  admit(info: Pick<PeerInfo, 'id' | 'incarnation' | 'clusterId'>): string | undefined
  /**
   * For a connected peer that is not in this member's configuration: the index of the last applied entry. The
   * peer compares it with its own log, to find out whether it was removed or is only being added. It is sent
   * in the handshake.
   */
  missing(id: MemberId): number | undefined
  /** What this member sends about itself in a handshake. */
  identity(): { readonly incarnation: string; readonly clusterId: string; readonly born?: string | undefined }
}
