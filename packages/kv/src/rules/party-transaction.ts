// Types: what the rules of latches and barriers read and write. The state implements it on its rows, tests on
// maps.

import type { PartyOf, PartyState } from '@latchkey/protocol'

export interface BarrierRow {
  readonly name: Uint8Array
  /** The generations that are over; the present one has the next number. */
  readonly over: number
  /** The parties of the present generation; it counts only while one of them waits. */
  readonly parties: number
  /** When its last generation began: a number of the counter of arrivals. */
  readonly used: number
}

/** One that waits at a latch or a barrier, or has waited there and has not said yet that it knows the end. */
export interface PartyRow {
  readonly of: PartyOf
  readonly name: Uint8Array
  readonly id: string
  /** The order of arrival, from one counter of the store; a number is never used twice. */
  readonly arrival: number
  readonly session: number
  /** The wait is over at the first entry with now > deadline; 0: it has no limit. */
  readonly deadline: number
  readonly state: Extract<PartyState, 'waiting' | 'passed' | 'broken' | 'removed'>
  /** Of a barrier: the generation that it waits in or was in. Else 0. */
  readonly generation: number
  /** Of a party that has passed a barrier: its place in the order of arrival, from 0. Else 0. */
  readonly index: number
}

export interface PartyView {
  /** What the latch has still to count; undefined: there is none. */
  latch(name: Uint8Array): number | undefined
  barrier(name: Uint8Array): BarrierRow | undefined
  party(of: PartyOf, name: Uint8Array, id: string): PartyRow | undefined
  /** How many wait. */
  waitingCount(of: PartyOf, name: Uint8Array): number
}

export interface PartyTransaction extends PartyView {
  /** Returns false if there is no room for another latch. */
  putLatch(name: Uint8Array, count: number): boolean
  deleteLatch(name: Uint8Array): void
  /** Returns false if there is no room for another barrier, and none that could give way. */
  putBarrier(row: BarrierRow): boolean
  /** Those that wait, in order of arrival. The list stays as it is while the rules change rows. */
  waiting(of: PartyOf, name: Uint8Array): readonly PartyRow[]
  /** Whether there is room for one more party. */
  hasRoom(of: PartyOf, name: Uint8Array): boolean
  putParty(row: PartyRow): void
  deleteParty(row: PartyRow): void
  nextArrival(): number
  /** The wait of this party has ended, and it did not ask in this entry: its member tells it. */
  ended(row: PartyRow): void
  /** In order of arrival, those that wait no more too. */
  partiesOf(session: number): readonly PartyRow[]
  /** Those that wait with now > deadline, by deadline, then arrival (CT3). They are listed once. */
  dueParties(now: number): readonly PartyRow[]
}
