// Rule: what a law is. One law a file.

import type { LogPosition, MemberId, Membership, Message, PersistBatch } from '@latchkey/raft/core'
import type { Ledger, MemberRecord } from './ledger.js'
import type { Acknowledged, Found, ReadServed, StagedPiece } from './heard.js'

/**
 * Everything a member does that a law may judge. A member tells its watcher at once, before the next effect.
 */
export interface Watcher {
  booted(id: MemberId, found: Found): void
  /**
   * The member's log in memory has changed so; `stampedAt` is the real time of the clock reading it was
   * given.
   */
  persisting(id: MemberId, batch: PersistBatch, stampedAt: number): void
  /** The log says that this batch, one of those that were asked for, is durable. */
  durable(id: MemberId, batchId: number): void
  role(id: MemberId, role: string, term: number): void
  membership(id: MemberId, membership: Membership): void
  /** The member's commit index, as it knows it now. */
  decided(id: MemberId, commit: number): void
  /** All effects of one step are carried out. */
  settled(id: MemberId): void
  /** Entries are handed out to apply; they are durable there. */
  committed(id: MemberId, from: number, to: number): void
  /** `hash`: of the whole state machine after this entry. */
  applied(id: MemberId, index: number, hash: number): void
  /** A piece of a snapshot is handed over to be kept. */
  staged(id: MemberId, piece: StagedPiece): void
  /** The state machine was replaced by a snapshot's. */
  installed(id: MemberId, position: LogPosition, membership: Membership, hash: number): void
  sending(id: MemberId, message: Message): void
  acknowledged(ack: Acknowledged): void
  served(read: ReadServed): void
  /** A leader says that this member's disk was rolled back. */
  accused(id: MemberId, acknowledged: number, holds: number): void
}

/** A law hears of what it asks for, after the ledger has been brought up to date. */
export interface Law {
  readonly name: string
  booted?(member: MemberRecord, found: Found): void
  /** Before the ledger's log is changed: the law sees the log as it was. */
  persisting?(member: MemberRecord, batch: PersistBatch, stampedAt: number): void
  durable?(member: MemberRecord, batch: PersistBatch): void
  role?(member: MemberRecord, role: string, term: number): void
  membership?(member: MemberRecord, membership: Membership): void
  /** Only when it grew; the ledger still holds the one before. */
  decided?(member: MemberRecord, commit: number): void
  settled?(member: MemberRecord): void
  committed?(member: MemberRecord, from: number, to: number): void
  applied?(member: MemberRecord, index: number, hash: number): void
  staged?(member: MemberRecord, piece: StagedPiece): void
  installed?(member: MemberRecord, index: number, term: number, hash: number): void
  sending?(member: MemberRecord, message: Message): void
  acknowledged?(ack: Acknowledged): void
  served?(read: ReadServed): void
  /** At the end of a run. */
  finish?(): void
}

export type MakeLaw = (ledger: Ledger) => Law
