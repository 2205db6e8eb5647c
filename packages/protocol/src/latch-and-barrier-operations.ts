// Rule: the commands, reads and answers of latches and barriers. A party is one call that waits at a latch or
// a barrier. A ticket identifies a party. The party belongs to the session of its client.

/** Files and messages contain these numbers. Add new numbers at the end, and never reuse a number. */
export const PARTY_OP = {
  createLatch: 50,
  countDown: 51,
  removeLatch: 52,
  waitLatch: 53,
  enterBarrier: 54,
  leaveParties: 55,
  moveParty: 56,
} as const

export const PARTY_READ = { party: 30, parties: 31 } as const

/** Files and messages contain these numbers. */
export const PARTY_OF = { latch: 0, barrier: 1 } as const
export type PartyOf = (typeof PARTY_OF)[keyof typeof PARTY_OF]

type Name = Uint8Array
/** `id` has 128 random bits. */
export type PartyTicket = readonly [of: PartyOf, name: Name, id: string]

export type PartyCommand =
  /**
   * Creates a latch. With count 0 the latch is open. Answer: true. If a latch of that name exists, the answer
   * is false, and the existing latch does not change.
   */
  | readonly [op: typeof PARTY_OP.createLatch, name: Name, count: number]
  /** Counts a latch down by `by`. Answer: the remaining count, or null if the latch does not exist. */
  | readonly [op: typeof PARTY_OP.countDown, name: Name, by: number]
  /**
   * Removes a latch. All waits at the latch end with the state 'removed'. Answer: whether the latch existed.
   */
  | readonly [op: typeof PARTY_OP.removeLatch, name: Name]
  /**
   * Waits at a latch for `wait` ms of cluster time, or without limit if `wait` is 0. A repeated request with
   * the same id changes only the time limit and the session of the party. Answer: a PartyResult.
   */
  | readonly [op: typeof PARTY_OP.waitLatch, name: Name, id: string, wait: number]
  | readonly [op: typeof PARTY_OP.enterBarrier, name: Name, id: string, parties: number, wait: number]
  /** Ends the waits of these parties. Answer: for each party its PartyResult before the end. */
  | readonly [op: typeof PARTY_OP.leaveParties, list: readonly PartyTicket[]]
  /** Moves a party to the session of this command. Answer: a PartyResult. */
  | readonly [op: typeof PARTY_OP.moveParty, ...ticket: PartyTicket]

/**
 * A part of a list of locks, latches or barriers. The list is sorted by name. The part begins after the name
 * `after`. The part ends one row after the name that has brought the number of rows to `limit`. So the part
 * has all rows of each name before its last row, and the last row shows that there are more names.
 */
export type ListPageArg = readonly [after: Name | null, limit: number]

export type PartyRead =
  /** Answer: a PartyResult. */
  | readonly [read: typeof PARTY_READ.party, ...ticket: PartyTicket]
  /**
   * Lists the latches or barriers whose names begin with `prefix`. `page` can choose a part of the list.
   * Answer: LatchInfoResults or BarrierInfoResults.
   */
  | readonly [read: typeof PARTY_READ.parties, of: PartyOf, prefix: Name, page?: ListPageArg]

/** A latch in a list. With `count` 0 the latch is open. */
export type LatchInfoResult = readonly [name: Name, count: number, waiters: number]
/**
 * A barrier in a list. `generation` is the number of the present round. The round is complete when `parties`
 * calls wait.
 */
export type BarrierInfoResult = readonly [name: Name, generation: number, parties: number, waiters: number]

/**
 * The states of a party, which is one call that waits at a latch or a barrier:
 *   waiting    The call waits.
 *   passed     The latch is open, or the barrier's generation was complete.
 *   broken     At a barrier: the session of another party of the generation has ended.
 *   removed    At a latch: the latch was removed.
 *   absent     At a latch: the latch does not exist, so the call does not wait.
 *   mismatch   At a barrier: the other parties named another number of parties, so the call does not wait.
 *   unknown    The party does not exist: it never came, it has left, or its time limit or session is over.
 */
export const PARTY_STATES = [
  'waiting',
  'passed',
  'broken',
  'removed',
  'absent',
  'mismatch',
  'unknown',
] as const
export type PartyState = (typeof PARTY_STATES)[number]

/**
 * The state of a party.
 * - generation: the number of the barrier's generation, or 0 for a latch.
 * - index: the place in the order of arrival, if the party has passed a barrier. Otherwise 0.
 * - count: the remaining count of a latch, or the number of parties that wait at a barrier now. For
 *   'mismatch': the number of parties that the other callers expect.
 */
export type PartyResult = readonly [state: PartyState, generation: number, index: number, count: number]
