// Types: the tables that the rules of latches and barriers read and write. The state implements these types
// on its rows, and tests implement them on maps.

import type { PartyOf, PartyState } from '@latchkey/protocol'

export interface BarrierRow {
  readonly name: Uint8Array
  /** How many generations are over. The present generation has the next number. */
  readonly over: number
  /** How many parties the present generation needs. This number has a meaning only while a party waits. */
  readonly parties: number
  /**
   * The arrival number at which the last generation began. Arrival numbers come from one counter of the
   * store.
   */
  readonly used: number
}

/**
 * A party at a latch or a barrier. The party waits, or its wait has ended and its client has not confirmed
 * the end yet.
 */
export interface PartyRow {
  readonly of: PartyOf
  readonly name: Uint8Array
  readonly id: string
  /** A number from one counter of the store, in the order of arrival. No number is used twice. */
  readonly arrival: number
  readonly session: number
  /**
   * The wait ends at the first entry with a cluster time above this deadline. 0 means that the wait
   * has no time limit.
   */
  readonly deadline: number
  readonly state: Extract<PartyState, 'waiting' | 'passed' | 'broken' | 'removed'>
  /** For a party at a barrier, the generation in which the party waits or has waited. 0 at a latch. */
  readonly generation: number
  /** For a party that has passed a barrier, its place in the order of arrival, from 0 on. Otherwise 0. */
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
  /** Returns false if there is no room for another barrier and no unused barrier can be forgotten. */
  putBarrier(row: BarrierRow): boolean
  /**
   * The parties that wait at this latch or barrier, in the order of arrival. The list does not change while
   * the rules change rows.
   */
  waiting(of: PartyOf, name: Uint8Array): readonly PartyRow[]
  /** Whether there is room for one more party. */
  hasRoom(of: PartyOf, name: Uint8Array): boolean
  putParty(row: PartyRow): void
  deleteParty(row: PartyRow): void
  nextArrival(): number
  /**
   * Called when the wait of this party has ended although the party's client has sent no command in this
   * entry. The member to which the client is connected then sends the client the result.
   */
  ended(row: PartyRow): void
  /** All parties of the session, in the order of arrival, including the parties whose wait has ended. */
  partiesOf(session: number): readonly PartyRow[]
  /**
   * The parties whose wait is over at `now`, ordered by deadline, then by arrival (CT3). Each party is in the
   * list once.
   */
  dueParties(now: number): readonly PartyRow[]
}
