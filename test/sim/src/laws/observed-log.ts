// Rule: the laws' copy of a member's log. It contains only what the member asked its disk to write.

import type { Entry, LogPosition, Membership, PersistBatch } from '@latchkey/raft/core'
import { LawBroken } from './verdict.js'

export type ReadMembership = (data: Uint8Array) => Membership

export class ObservedLog {
  base: LogPosition = { index: 0, term: 0, time: 0 }
  baseMembership: Membership
  #entries: Entry[] = []
  /** The indexes of the configurations in the log, lowest first. */
  #memberships: { readonly index: number; readonly membership: Membership }[] = []
  readonly #decode: ReadMembership

  constructor(membership: Membership, decode: ReadMembership) {
    this.baseMembership = membership
    this.#decode = decode
  }

  get lastIndex(): number {
    return this.base.index + this.#entries.length
  }

  get last(): LogPosition {
    return this.#entries[this.#entries.length - 1] ?? this.base
  }

  entry(index: number): Entry | undefined {
    return this.#entries[index - this.base.index - 1]
  }

  termAt(index: number): number | undefined {
    return index === this.base.index ? this.base.term : this.entry(index)?.term
  }

  /** The latest configuration in the log, committed or not. */
  get membership(): Membership {
    return this.#memberships[this.#memberships.length - 1]?.membership ?? this.baseMembership
  }

  get membershipIndex(): number {
    return this.#memberships[this.#memberships.length - 1]?.index ?? this.base.index
  }

  restart(base: LogPosition, membership: Membership, entries: readonly Entry[]): void {
    this.base = base
    this.baseMembership = membership
    this.#entries = []
    this.#memberships = []
    for (const entry of entries) this.append(entry)
  }

  apply(batch: PersistBatch): void {
    if (batch.restartAfter !== undefined) {
      this.restart(batch.restartAfter.position, batch.restartAfter.membership, [])
    }
    if (batch.truncateFrom !== undefined) this.truncate(batch.truncateFrom)
    for (const entry of batch.entries) this.append(entry)
  }

  append(entry: Entry): void {
    if (entry.index !== this.lastIndex + 1) {
      throw new LawBroken('log-matching', `entry ${entry.index} written behind ${this.lastIndex}: a hole`)
    }
    this.#entries.push(entry)
    if (entry.kind === 'members') {
      this.#memberships.push({ index: entry.index, membership: this.#decode(entry.data) })
    }
  }

  truncate(from: number): void {
    this.#entries.length = Math.max(0, Math.min(this.#entries.length, from - this.base.index - 1))
    while ((this.#memberships[this.#memberships.length - 1]?.index ?? -1) >= from) this.#memberships.pop()
  }

  /** Entries before the beginning of the log are missing in the result. */
  entriesFrom(index: number): readonly Entry[] {
    return this.#entries.slice(Math.max(0, index - this.base.index - 1))
  }
}
