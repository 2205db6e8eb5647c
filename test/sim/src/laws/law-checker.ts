// Rule: passes each event of a member to the laws before the next effect, and keeps the observed state of the
// cluster.

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
  /** The laws that need an event of this kind. A call of every law at every event would be slow. */
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

  /** The member has changed its log in memory. `stampedAt` is the real time of its clock reading. */
  persisting(id: MemberId, batch: PersistBatch, stampedAt: number): void {
    const member = this.observed.member(id)
    for (const law of this.#persisting) law.persisting?.(member, batch, stampedAt)
    if (member.role === 'leader') {
      for (const entry of batch.entries) if (entry.kind === 'members') this.counts.changes++
    }
    this.observed.persist(member, batch)
  }

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

  /** The member has executed all effects of one step. */
  settled(id: MemberId): void {
    const member = this.observed.member(id)
    for (const law of this.#settled) law.settled?.(member)
  }

  /** The member gives committed entries to its state machine. */
  committed(id: MemberId, from: number, to: number): void {
    const member = this.observed.member(id)
    this.#agree(member, to)
    for (const law of this.#laws) law.committed?.(member, from, to)
    member.handed = Math.max(member.handed, to)
  }

  /**
   * The first member that commits an entry decides which entry is committed. The laws compare all other
   * members with this entry.
   */
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

  /**
   * After the last piece the state machine is being replaced. Until the end the member must not give it
   * entries (S3).
   */
  staged(id: MemberId, piece: StagedPiece): void {
    const member = this.observed.member(id)
    for (const law of this.#laws) law.staged?.(member, piece)
    if (piece.done) member.installing = true
  }

  installed(id: MemberId, position: LogPosition, membership: Membership, state?: StateHash): void {
    const member = this.observed.member(id)
    for (const law of this.#laws) law.installed?.(member, position.index, position.term, state)
    this.observed.install(member, position, membership)
    this.counts.snapshots++
  }

  /** The member is built anew: it has discarded the state of its state machine, but not its log. */
  discarded(id: MemberId): void {
    this.observed.discard(this.observed.member(id))
  }

  /** The disk failed during the write of the snapshot, so the state machine keeps its state. */
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

  /**
   * Called if a member is said to have lost synced data. No simulated disk loses synced data, so the claim
   * breaks a law.
   */
  accused(id: MemberId, acknowledged: number, holds: number): void {
    const message = `${id} is said to have lost ${holds + 1} to ${acknowledged}; no disk was rolled back`
    throw new LawBroken('no-false-accusation', message)
  }

  finish(): void {
    for (const law of this.#laws) law.finish?.()
  }
}
