// Types: the tables that the rules of latches and barriers read and write. A party is one call that waits at
// a latch or barrier.

import type { PartyOf, PartyState } from '@latchkey/protocol'

export interface BarrierRow {
  readonly name: Uint8Array
  /**
   * How many generations of the barrier are over. A generation is one use of the barrier. The present
   * generation has the number `over` + 1.
   */
  readonly over: number
  /**
   * The present generation is complete when this many parties have arrived. The number has no meaning while
   * no party waits.
   */
  readonly parties: number
  /**
   * The arrival number at the beginning of the last generation, which shows how long ago the barrier was
   * used. One counter of the store gives all arrival numbers.
   */
  readonly used: number
}

/** A party waits, or its wait has ended and its client has not confirmed the end yet. */
export interface PartyRow {
  readonly of: PartyOf
  readonly name: Uint8Array
  readonly id: string
  /**
   * The arrival number. One counter of the store gives these numbers, so a later party has a higher number.
   */
  readonly arrival: number
  readonly session: number
  /**
   * The wait ends at the first entry with a cluster time above this deadline. 0 means that the wait has no
   * time limit.
   */
  readonly deadline: number
  readonly state: Extract<PartyState, 'waiting' | 'passed' | 'broken' | 'removed'>
  /** At a barrier, the generation for which the party waits or has waited. 0 at a latch. */
  readonly generation: number
  /** If the party has passed a barrier, its place in the order of arrival, from 0 on. Otherwise 0. */
  readonly index: number
}

export interface PartyView {
  /** Returns the count of the latch, or undefined if the latch does not exist. */
  latch(name: Uint8Array): number | undefined
  barrier(name: Uint8Array): BarrierRow | undefined
  party(of: PartyOf, name: Uint8Array, id: string): PartyRow | undefined
  waitingCount(of: PartyOf, name: Uint8Array): number
}

export interface PartyTransaction extends PartyView {
  /** Returns false if there are already as many latches as allowed. */
  putLatch(name: Uint8Array, count: number): boolean
  deleteLatch(name: Uint8Array): void
  /** Returns false if there are already as many barriers as allowed, and parties wait at all of them. */
  putBarrier(row: BarrierRow): boolean
  /**
   * Returns the waiting parties in the order of arrival. The list stays the same while the rules change rows.
   */
  waiting(of: PartyOf, name: Uint8Array): readonly PartyRow[]
  /** Returns true if one more party may wait at the latch or barrier. */
  hasRoom(of: PartyOf, name: Uint8Array): boolean
  putParty(row: PartyRow): void
  deleteParty(row: PartyRow): void
  nextArrival(): number
  /**
   * Called if another client's command, or the end of a session, ends the wait of a party. At this moment the
   * party's client has no command whose answer could report the result. So the member that has the client's
   * connection sends the result.
   */
  ended(row: PartyRow): void
  /** Returns all parties of the session, in the order of arrival, including parties whose wait has ended. */
  partiesOf(session: number): readonly PartyRow[]
  /**
   * Returns the parties whose time limit has passed at `now`, ordered by deadline, then by arrival (CT3). A
   * second call does not return the same parties again.
   */
  dueParties(now: number): readonly PartyRow[]
}
