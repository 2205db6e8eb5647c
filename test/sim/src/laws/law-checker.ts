// Rule: hears of everything that a member does that a law may judge, at once, before the next effect. Keeps the
// state of the cluster as seen from outside, and lets each law judge.

import type { LogPosition, MemberId, Membership, Message, PersistBatch } from '@latchkey/raft/core'
import { LawBroken } from './verdict.js'
import type {
  Acknowledged,
  AppliedEntry,
  ReadServed,
  RecoveredState,
  StagedPiece,
  StateHash,
} from './law-events.js'
import type { Law, MakeLaw } from './law.js'
import { ObservedCluster, type ObservedMember } from './observed-cluster.js'
import type { ReadMembership } from './observed-log.js'

/** What a run met, for its summary. */
export interface Counts {
  elections: number
  commits: number
  snapshots: number
  changes: number
  acknowledged: number
  reads: number
}

export class LawChecker {
  readonly observed: ObservedCluster
  readonly counts: Counts = { elections: 0, commits: 0, snapshots: 0, changes: 0, acknowledged: 0, reads: 0 }
  readonly #laws: readonly Law[]
  /** Only the laws that listen, so that an event costs what is asked for. */
  readonly #persisting: Law[]
  readonly #sending: Law[]
  readonly #applied: Law[]
  readonly #decided: Law[]
  readonly #settled: Law[]

  constructor(decode: ReadMembership, laws: readonly MakeLaw[]) {
    this.observed = new ObservedCluster(decode)
    this.#laws = laws.map((make) => make(this.observed))
    this.#persisting = this.#laws.filter((law) => law.persisting !== undefined)
    this.#sending = this.#laws.filter((law) => law.sending !== undefined)
    this.#settled = this.#laws.filter((law) => law.settled !== undefined)
    this.#decided = this.#laws.filter((law) => law.decided !== undefined)
    this.#applied = this.#laws.filter((law) => law.applied !== undefined)
  }

  booted(id: MemberId, found: RecoveredState): void {
    const member = this.observed.member(id)
    for (const law of this.#laws) law.booted?.(member, found)
    this.observed.boot(member, found)
  }

  /**
   * The member's log in memory has changed so; `stampedAt` is the real time of the clock reading it was
   * given.
   */
  persisting(id: MemberId, batch: PersistBatch, stampedAt: number): void {
    const member = this.observed.member(id)
    for (const law of this.#persisting) law.persisting?.(member, batch, stampedAt)
    if (member.role === 'leader') {
      for (const entry of batch.entries) if (entry.kind === 'members') this.counts.changes++
    }
    this.observed.persist(member, batch)
  }

  /** The log says that this batch, one of those that were asked for, is durable. */
  durable(id: MemberId, batchId: number): void {
    const member = this.observed.member(id)
    const batch = member.unsynced.find((one) => one.id === batchId)
    if (batch === undefined) throw new Error(`${id} says that an unknown batch ${batchId} is durable`)
    this.observed.durable(member, batch)
    for (const law of this.#laws) law.durable?.(member, batch)
  }

  role(id: MemberId, role: string, term: number): void {
    const member = this.observed.member(id)
    for (const law of this.#laws) law.role?.(member, role, term)
    if (role === 'leader') this.counts.elections++
    member.role = role
    member.term = term
  }

  membership(id: MemberId, membership: Membership): void {
    const member = this.observed.member(id)
    for (const law of this.#laws) law.membership?.(member, membership)
  }

  /** The member's commit index, as it knows it now. */
  decided(id: MemberId, commit: number): void {
    const member = this.observed.member(id)
    if (commit <= member.commit) {
      if (commit < member.commit)
        throw new LawBroken('orderly-indexes', `${id}: commit goes back to ${commit}`)
      return
    }
    this.#agree(member, commit)
    for (const law of this.#decided) law.decided?.(member, commit)
    member.commit = commit
  }

  /** All effects of one step are carried out. */
  settled(id: MemberId): void {
    const member = this.observed.member(id)
    for (const law of this.#settled) law.settled?.(member)
  }

  /** Entries are handed out to apply; they are durable there. */
  committed(id: MemberId, from: number, to: number): void {
    const member = this.observed.member(id)
    this.#agree(member, to)
    for (const law of this.#laws) law.committed?.(member, from, to)
    member.handed = Math.max(member.handed, to)
  }

  /** The first to commit sets what is committed; the laws then compare everybody with it. */
  #agree(member: ObservedMember, to: number): void {
    const before = this.observed.commitTop
    if (to <= before || to > member.live.lastIndex) return
    this.counts.commits += to - before
    this.observed.commit(member, to)
  }

  applied(id: MemberId, applied: AppliedEntry): void {
    const member = this.observed.member(id)
    for (const law of this.#applied) law.applied?.(member, applied)
    member.applied = applied.entry.index
  }

  /** Behind the last piece the state machine is being replaced: nothing may be handed out to it (S3). */
  staged(id: MemberId, piece: StagedPiece): void {
    const member = this.observed.member(id)
    for (const law of this.#laws) law.staged?.(member, piece)
    if (piece.done) member.installing = true
  }

  /** The state machine was replaced by a snapshot's. */
  installed(id: MemberId, position: LogPosition, membership: Membership, state?: StateHash): void {
    const member = this.observed.member(id)
    for (const law of this.#laws) law.installed?.(member, position.index, position.term, state)
    this.observed.install(member, position, membership)
    this.counts.snapshots++
  }

  /** The disk failed while the snapshot was written, so the state machine keeps its state. */
  installFailed(id: MemberId): void {
    this.observed.member(id).installing = false
  }

  sending(id: MemberId, message: Message): void {
    const member = this.observed.member(id)
    for (const law of this.#sending) law.sending?.(member, message)
  }

  acknowledged(ack: Acknowledged): void {
    this.counts.acknowledged++
    for (const law of this.#laws) law.acknowledged?.(ack)
  }

  served(read: ReadServed): void {
    this.counts.reads++
    for (const law of this.#laws) law.served?.(read)
  }

  /** No disk of the simulator forgets what it synced, so nobody may be told that it did. */
  accused(id: MemberId, acknowledged: number, holds: number): void {
    const message = `${id} is said to have lost ${holds + 1} to ${acknowledged}; no disk was rolled back`
    throw new LawBroken('no-false-accusation', message)
  }

  finish(): void {
    for (const law of this.#laws) law.finish?.()
  }
}
