// Rule: the state of the whole cluster as an observer sees it: each member's log in memory and on disk, and
// the committed entries.

import type { Entry, HardState, LogPosition, MemberId, Membership, PersistBatch } from '@latchkey/raft/core'
import type { RecoveredState } from './law-events.js'
import { ObservedLog, type ReadMembership } from './observed-log.js'

const NOTHING: HardState = { term: 0, vote: undefined }
const NOBODY: Membership = { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} }

export class ObservedMember {
  readonly id: MemberId
  readonly live: ObservedLog
  /** The log that the member would find after a power loss now. */
  disk: ObservedLog
  hard: HardState = NOTHING
  durableHard: HardState = NOTHING
  /** The batches that are not durable yet, oldest first. */
  unsynced: PersistBatch[] = []
  role = 'follower'
  term = 0
  /** `handed` is the last index that the member gave to its state machine. */
  commit = 0
  handed = 0
  applied = 0
  installing = false
  starts = 0
  /** The index of the durable snapshot, which every start finds. */
  snapshot = 0
  /**
   * True while the member uses a snapshot whose record in the log is not durable. Earlier records of the log
   * do not count then.
   */
  restarting = false
  /** While `restarting`, the log that is really on the disk. It counts again if the member discards its state. */
  underSnapshot: ObservedLog | undefined

  constructor(id: MemberId, decode: ReadMembership) {
    this.id = id
    this.live = new ObservedLog(NOBODY, decode)
    this.disk = new ObservedLog(NOBODY, decode)
  }
}

export class ObservedCluster {
  readonly members = new Map<MemberId, ObservedMember>()
  readonly #decode: ReadMembership
  readonly committed: Entry[] = []
  commitTop = 0
  /** The entries up to `index` were committed in `term` or earlier. The terms ascend. */
  readonly commitMarks: { readonly term: number; index: number }[] = []

  constructor(decode: ReadMembership) {
    this.#decode = decode
  }

  member(id: MemberId): ObservedMember {
    let record = this.members.get(id)
    if (record === undefined) {
      record = new ObservedMember(id, this.#decode)
      this.members.set(id, record)
    }
    return record
  }

  /** Returns whether the member would find this entry, or a snapshot with it, after a power loss now. */
  keeps(record: ObservedMember, index: number, term: number): boolean {
    if (index <= record.snapshot) return index === 0 || this.committed[index]?.term === term
    return this.holds(record.disk, index, term)
  }

  /** Entries before the beginning of the log are committed, so they are known. */
  holds(log: ObservedLog, index: number, term: number): boolean {
    if (index === 0) return term === 0
    if (index < log.base.index) return this.committed[index]?.term === term
    return log.termAt(index) === term
  }

  /** Returns the highest index that was committed in an earlier term. */
  committedBefore(term: number): number {
    for (let i = this.commitMarks.length - 1; i >= 0; i--) {
      const mark = this.commitMarks[i]
      if (mark !== undefined && mark.term < term) return mark.index
    }
    return 0
  }

  boot(record: ObservedMember, found: RecoveredState): void {
    for (const log of [record.live, record.disk]) log.restart(found.base, found.membership, found.entries)
    record.hard = record.durableHard = { term: found.term, vote: found.vote }
    record.unsynced = []
    record.starts++
    record.role = 'follower'
    record.term = found.term
    record.commit = found.applied
    record.handed = found.applied
    record.snapshot = found.applied
    record.restarting = false
    record.installing = false
    record.applied = found.applied
  }

  persist(record: ObservedMember, batch: PersistBatch): void {
    record.live.apply(batch)
    if (batch.hardState !== undefined) record.hard = batch.hardState
    record.unsynced.push(batch)
  }

  durable(record: ObservedMember, batch: PersistBatch): void {
    if (batch.restartAfter !== undefined) record.restarting = false
    const log = record.restarting ? record.underSnapshot : record.disk
    log?.apply(batch)
    if (batch.hardState !== undefined) record.durableHard = batch.hardState
    record.unsynced = record.unsynced.filter((other) => other.id > batch.id)
  }

  /** The snapshot is durable, so each later start finds it. */
  install(record: ObservedMember, position: LogPosition, membership: Membership): void {
    if (!this.holds(record.live, position.index, position.term)) {
      if (!record.restarting) record.underSnapshot = record.disk
      record.disk = new ObservedLog(membership, this.#decode)
      record.disk.restart(position, membership, [])
      record.restarting = true
    }
    record.installing = false
    record.applied = record.handed = record.snapshot = position.index
    record.commit = Math.max(record.commit, position.index)
  }

  /**
   * The member has discarded the state of its state machine, and with it a snapshot whose record in the log is
   * not durable. No other member counts on this snapshot yet.
   */
  discard(record: ObservedMember): void {
    if (record.restarting && record.underSnapshot !== undefined) record.disk = record.underSnapshot
    record.restarting = false
    record.snapshot = 0
  }

  commit(record: ObservedMember, to: number): void {
    if (to <= this.commitTop) return
    for (let index = this.commitTop + 1; index <= to; index++) {
      const entry = record.live.entry(index)
      if (entry !== undefined) this.committed[index] = entry
    }
    this.commitTop = to
    const last = this.commitMarks[this.commitMarks.length - 1]
    if (last !== undefined && last.term >= record.term) last.index = to
    else this.commitMarks.push({ term: record.term, index: to })
  }
}

export const isMajority = (ids: readonly MemberId[], has: (id: MemberId) => boolean): boolean =>
  ids.filter(has).length * 2 > ids.length

/** A joint configuration needs a majority of its old voters and a majority of its new voters. */
export function isQuorum(membership: Membership, has: (id: MemberId) => boolean): boolean {
  if (!isMajority(membership.voters, has)) return false
  return membership.outgoing.length === 0 || isMajority(membership.outgoing, has)
}
