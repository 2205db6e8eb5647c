// Types: what the rules of latches and barriers read and write. The state implements these types on its rows,
// and tests implement them on maps.

import type { PartyOf, PartyState } from '@latchkey/protocol'

export interface BarrierRow {
  readonly name: Uint8Array
  /** How many generations are over. The present generation has the next number. */
  readonly over: number
  /** How many parties the present generation needs. It has a meaning only while a party waits. */
  readonly parties: number
  /** The number, from the store's counter of arrivals, at which the last generation began. */
  readonly used: number
}

/**
 * A party that waits at a latch or a barrier, or whose wait has ended and whose client has not
 * confirmed that yet.
 */
export interface PartyRow {
  readonly of: PartyOf
  readonly name: Uint8Array
  readonly id: string
  /** The order of arrival: a number from one counter of the store. No number is used twice. */
  readonly arrival: number
  readonly session: number
  /**
   * The wait ends at the first entry with a cluster time above this deadline. 0 means that the wait
   * has no time limit.
   */
  readonly deadline: number
  readonly state: Extract<PartyState, 'waiting' | 'passed' | 'broken' | 'removed'>
  /** The generation in which the party waits or waited, if it is at a barrier, else 0. */
  readonly generation: number
  /** The place in the order of arrival, from 0, of a party that has passed a barrier, else 0. */
  readonly index: number
}

export interface PartyView {
  /** The count of the latch, or undefined if the latch does not exist. */
  latch(name: Uint8Array): number | undefined
  barrier(name: Uint8Array): BarrierRow | undefined
  party(of: PartyOf, name: Uint8Array, id: string): PartyRow | undefined
  /** How many parties wait there. */
  waitingCount(of: PartyOf, name: Uint8Array): number
}

export interface PartyTransaction extends PartyView {
  /** Returns false if there is no room for another latch. */
  putLatch(name: Uint8Array, count: number): boolean
  deleteLatch(name: Uint8Array): void
  /** Returns false if there is no room for another barrier and no unused one can be forgotten. */
  putBarrier(row: BarrierRow): boolean
  /**
   * The parties that wait there, in the order of arrival. The list does not change while the
   * rules change rows.
   */
  waiting(of: PartyOf, name: Uint8Array): readonly PartyRow[]
  /** Whether there is room for one more party. */
  hasRoom(of: PartyOf, name: Uint8Array): boolean
  putParty(row: PartyRow): void
  deleteParty(row: PartyRow): void
  nextArrival(): number
  /**
   * The wait of this party has ended in an entry in which the party did not ask. So its member
   * tells the client.
   */
  ended(row: PartyRow): void
  /** All parties of the session, in the order of arrival. Parties whose wait has ended are among them. */
  partiesOf(session: number): readonly PartyRow[]
  /**
   * The parties whose wait is over at `now`, ordered by deadline, then by arrival (CT3). Each is listed once.
   */
  dueParties(now: number): readonly PartyRow[]
}
