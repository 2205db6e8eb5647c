// Rule: what a law is. One law a file.

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

/** A law hears of what it asks for. */
export interface Law {
  readonly name: string
  booted?(member: ObservedMember, found: RecoveredState): void
  /** Before the ledger's log is changed: the law sees the log as it was. */
  persisting?(member: ObservedMember, batch: PersistBatch, stampedAt: number): void
  durable?(member: ObservedMember, batch: PersistBatch): void
  role?(member: ObservedMember, role: string, term: number): void
  membership?(member: ObservedMember, membership: Membership): void
  /** Only when it grew; the ledger still holds the one before. */
  decided?(member: ObservedMember, commit: number): void
  settled?(member: ObservedMember): void
  committed?(member: ObservedMember, from: number, to: number): void
  applied?(member: ObservedMember, applied: AppliedEntry): void
  staged?(member: ObservedMember, piece: StagedPiece): void
  installed?(member: ObservedMember, index: number, term: number, state: StateHash | undefined): void
  sending?(member: ObservedMember, message: Message): void
  acknowledged?(ack: Acknowledged): void
  served?(read: ReadServed): void
  /** At the end of a run. */
  finish?(): void
}

export type MakeLaw = (cluster: ObservedCluster) => Law
