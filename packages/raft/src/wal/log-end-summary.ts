// Rule: a summary of the log at its end: last position, term, vote, and memberships. The head record of a new
// segment stores this summary, so that earlier segments can be removed.
//
// Laws:
//   LS1  After a truncation, `last` is undefined until an entry is written. This class keeps no entries, so
//        after a truncation the class does not know the term of the last entry.
//   LS2  Memberships are sorted by index. The first membership is in force at the start of the log. The last
//        membership is in force at the end of the log.

import type { Entry, HardState, LogPosition } from '../core/types.js'
import type { Identity } from './log-types.js'
import { lastIndexAfter, type Start, type RecordContent } from './log-record-in-memory.js'

interface MembershipAt {
  readonly index: number
  readonly bytes: Uint8Array
}

export class LogState {
  /** The index of the entry before the log's first entry. */
  startIndex = 0
  lastIndex = 0
  last: LogPosition | undefined
  hardState: HardState = { term: 0, vote: undefined }
  identity: Identity = { clusterId: '', memberId: '', incarnation: '' }
  #memberships: MembershipAt[] = []

  apply(record: RecordContent): void {
    if (record.truncateFrom !== undefined) this.#truncate(record.truncateFrom)
    if (record.start !== undefined) this.#restart(record.start)
    for (const entry of record.entries) if (entry.kind === 'members') this.#members(entry)
    const last = record.entries[record.entries.length - 1]
    if (last !== undefined) this.last = { index: last.index, term: last.term, time: last.time }
    this.lastIndex = lastIndexAfter(record, this.lastIndex)
    if (record.hardState !== undefined) this.hardState = record.hardState
    if (record.identity !== undefined) this.identity = record.identity
  }

  /**
   * Returns the head record for a segment that begins now. Returns undefined if the term of the last entry is
   * unknown after a truncation (LS1).
   */
  head(): RecordContent | undefined {
    if (this.last === undefined) return undefined
    const { index, term, time } = this.last
    const membership = (this.#memberships.at(-1) as MembershipAt).bytes
    const start = { position: { index, term, time }, membership }
    return { truncateFrom: undefined, start, entries: [], hardState: this.hardState, identity: this.identity }
  }

  /**
   * Called when segments were removed, so that the log begins after `index`. The memberships that were
   * replaced before the new start are dropped.
   */
  startAt(index: number): void {
    this.startIndex = index
    const later = this.#memberships.findIndex((one) => one.index > index)
    const holds = (later === -1 ? this.#memberships.length : later) - 1
    this.#memberships.splice(0, holds)
  }

  /** The bytes are copied, because a view would keep a whole segment or network frame in memory. */
  #members({ index, data }: Entry): void {
    this.#memberships.push({ index, bytes: data.slice() })
  }

  #truncate(from: number): void {
    if (from > this.lastIndex) return
    this.last = undefined
    while ((this.#memberships.at(-1)?.index ?? 0) >= from && this.#memberships.length > 1)
      this.#memberships.pop()
  }

  #restart({ position, membership }: Start): void {
    this.startIndex = position.index
    this.last = position
    this.#memberships = [{ index: position.index, bytes: membership.slice() }]
  }
}
