// Types: what a replica is given, and what its transport asks of it.

import type { Clock, Logger, Random } from '@latchkey/base'
import type { MemberId } from '../core/types.js'
import type { PeerInfo, Transport } from '../net/index.js'
import type { FileSystem } from '../wal/index.js'
import type { StateMachine } from './state-machine.js'
import type { DirectoryNote } from './one-cluster.js'

export interface ReplicaOptions {
  readonly id: MemberId
  readonly group?: number
  /** Addresses of all voters of a new cluster, this one's included; read at the first boot. Undefined: a cluster of one. */
  readonly members: Readonly<Record<MemberId, string>> | undefined
  /** It belongs to that cluster or to none, and founds no other one. */
  readonly clusterId?: string | undefined
  /** A new, empty member that waits to be added. */
  readonly join: boolean
  readonly electionTimeout: number
  readonly heartbeat: number
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
}

export interface ReplicaPorts {
  readonly fs: FileSystem
  /** The log's folder; the caller holds the lock of the directory around it. */
  readonly dir: string
  readonly clock: Clock
  readonly random: Random
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly machine: StateMachine
  /** What the directory knows of itself beside its log; undefined: nothing, as in memory. */
  readonly note?: DirectoryNote | undefined
  /** Members that were given, and that the log does not know, have said who they are: clients may be served. */
  asked?(): void
  transport(self: TransportOwner): Transport
  /** 128 random bits as text. */
  readonly newId: () => string
  /** A message of the layer above, from another member. */
  app?(from: MemberId, bytes: Uint8Array): void
  /** The way to a member is gone: what was asked there has an unknown fate. */
  gone?(id: MemberId): void
}

/** What a transport asks its member. */
export interface TransportOwner {
  /** Undefined, or the reason why that member is not talked to. */
  admit(info: Pick<PeerInfo, 'id' | 'incarnation' | 'clusterId'>): string | undefined
  /** Told to one who is admitted and no member: the entry up to which that is so. */
  missing(id: MemberId): number | undefined
  /** What is told of this member in a handshake. */
  identity(): { readonly incarnation: string; readonly clusterId: string; readonly born?: string | undefined }
}
