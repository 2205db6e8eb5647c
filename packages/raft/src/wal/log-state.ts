// Rule: the state of the log at the end of its last turn. The head of a new segment contains this state, so
// that earlier segments may be removed.
//
// Laws:
//   LS1  `last` is known if the log's last entry was written after the latest truncation. After a truncation
//        `last` is unknown until an entry is written.
//   LS2  Memberships are in the order of their indexes. The first membership is in force at the start of the
//        log, and the last membership at its end.

import type { Entry, HardState, LogPosition } from '../core/types.js'
import type { Identity } from './log-interface.js'
import { lastIndexAfter, type Start, type Turn } from './log-record.js'

interface MembershipAt {
  readonly index: number
  readonly bytes: Uint8Array
}

export class LogState {
  /** The index of the entry before the first entry that is kept. */
  startIndex = 0
  lastIndex = 0
  last: LogPosition | undefined
  hardState: HardState = { term: 0, vote: undefined }
  identity: Identity = { clusterId: '', memberId: '', incarnation: '' }
  #memberships: MembershipAt[] = []

  apply(turn: Turn): void {
    if (turn.voidFrom !== undefined) this.#void(turn.voidFrom)
    if (turn.start !== undefined) this.#restart(turn.start)
    for (const entry of turn.entries) if (entry.kind === 'members') this.#members(entry)
    const last = turn.entries[turn.entries.length - 1]
    if (last !== undefined) this.last = { index: last.index, term: last.term, time: last.time }
    this.lastIndex = lastIndexAfter(turn, this.lastIndex)
    if (turn.hardState !== undefined) this.hardState = turn.hardState
    if (turn.identity !== undefined) this.identity = turn.identity
  }

  /**
   * Returns the content of a head record for the present state, or undefined while the last entry's term and
   * time are not known (LS1).
   */
  head(): Turn | undefined {
    if (this.last === undefined) return undefined
    const { index, term, time } = this.last
    const membership = (this.#memberships.at(-1) as MembershipAt).bytes
    const start = { position: { index, term, time }, membership }
    return { voidFrom: undefined, start, entries: [], hardState: this.hardState, identity: this.identity }
  }

  /** Called when the log starts at a later index, because earlier segments were removed. */
  startAt(index: number): void {
    this.startIndex = index
    const later = this.#memberships.findIndex((one) => one.index > index)
    const holds = (later === -1 ? this.#memberships.length : later) - 1
    this.#memberships.splice(0, holds)
  }

  /** Copies the bytes, because a view would keep a whole segment or frame in memory. */
  #members({ index, data }: Entry): void {
    this.#memberships.push({ index, bytes: data.slice() })
  }

  #void(from: number): void {
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
