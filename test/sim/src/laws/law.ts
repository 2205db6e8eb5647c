// Rule: the interface of a law. Each law has its own file.

import type { Membership, Message, PersistBatch } from '@latchkey/raft/core'
import type { ObservedCluster, ObservedMember } from './observed-cluster.js'
import type {
  Acknowledged,
  AppliedEntry,
  ReadServed,
  RecoveredState,
  StagedPiece,
  StateHash,
} from './law-events.js'

/** A law receives only the events whose methods it defines. */
export interface Law {
  readonly name: string
  booted?(member: ObservedMember, found: RecoveredState): void
  /** Called before the observed log changes. */
  persisting?(member: ObservedMember, batch: PersistBatch, stampedAt: number): void
  durable?(member: ObservedMember, batch: PersistBatch): void
  role?(member: ObservedMember, role: string, term: number): void
  membership?(member: ObservedMember, membership: Membership): void
  /** Called if the commit index has grown. The observed member still has the old commit index. */
  decided?(member: ObservedMember, commit: number): void
  settled?(member: ObservedMember): void
  committed?(member: ObservedMember, from: number, to: number): void
  applied?(member: ObservedMember, applied: AppliedEntry): void
  staged?(member: ObservedMember, piece: StagedPiece): void
  installed?(member: ObservedMember, index: number, term: number, state: StateHash | undefined): void
  sending?(member: ObservedMember, message: Message): void
  acknowledged?(ack: Acknowledged): void
  served?(read: ReadServed): void
  finish?(): void
}

export type MakeLaw = (cluster: ObservedCluster) => Law
