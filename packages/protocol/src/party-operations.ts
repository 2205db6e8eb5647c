// Rule: the commands, reads and answers of latches and barriers. A party is one call that waits at a latch or
// a barrier; it has a ticket of its own, and belongs to the session of its call.

/** Operations of commands, parts of OP. Numbers are on disk and on the wire: append only, never reuse. */
export const PARTY_OP = {
  createLatch: 50,
  countDown: 51,
  removeLatch: 52,
  waitLatch: 53,
  enterBarrier: 54,
  leaveParties: 55,
  moveParty: 56,
} as const

/** Operations of reads, parts of READ. */
export const PARTY_READ = { party: 30, parties: 31 } as const

/** What a party waits at. Numbers are on disk and on the wire. */
export const PARTY_OF = { latch: 0, barrier: 1 } as const
export type PartyOf = (typeof PARTY_OF)[keyof typeof PARTY_OF]

type Name = Uint8Array
/** `id` is the party's own, 128 random bits. */
export type PartyTicket = readonly [of: PartyOf, name: Name, id: string]

export type PartyCommand =
  /**
   * count 0: the latch is open at once. Answer: false if there is a latch of that name, which stays as it is.
   */
  | readonly [op: typeof PARTY_OP.createLatch, name: Name, count: number]
  /** Answer: the count that is left, or null: there is no such latch. */
  | readonly [op: typeof PARTY_OP.countDown, name: Name, by: number]
  /** Answer: whether there was such a latch. Parties that wait at it are told that it was removed. */
  | readonly [op: typeof PARTY_OP.removeLatch, name: Name]
  /**
   * wait: ms of cluster time; 0: without limit. Asking again with the same id changes only wait and session.
   * Answer: a PartyResult.
   */
  | readonly [op: typeof PARTY_OP.waitLatch, name: Name, id: string, wait: number]
  | readonly [op: typeof PARTY_OP.enterBarrier, name: Name, id: string, parties: number, wait: number]
  /** In their order and in one entry. Answer: a PartyResult each, as it was before. */
  | readonly [op: typeof PARTY_OP.leaveParties, list: readonly PartyTicket[]]
  /**
   * From now on the party belongs to the session that says this, if there is such a party. Answer: a
   * PartyResult.
   */
  | readonly [op: typeof PARTY_OP.moveParty, ...ticket: PartyTicket]

export type PartyRead =
  /** Answer: a PartyResult. */
  | readonly [read: typeof PARTY_READ.party, ...ticket: PartyTicket]
  /** What there is below a prefix, which may be empty. Answer: a list of LatchInfoResult or BarrierInfoResult. */
  | readonly [read: typeof PARTY_READ.parties, of: PartyOf, prefix: Name]

/** count: what it has still to count; 0: it is open. */
export type LatchInfoResult = readonly [name: Name, count: number, waiters: number]
/** A barrier that somebody waits at. generation: the present one. */
export type BarrierInfoResult = readonly [name: Name, generation: number, parties: number, waiters: number]

/**
 * waiting   it waits
 * passed    the latch is open, or the barrier's generation was complete
 * broken    of a barrier: the session of another party of its generation ended
 * removed   of a latch: it was removed
 * absent    of a latch: there is none, so the call waits at nothing
 * mismatch  of a barrier: those who wait came for another number of parties; the call waits at nothing
 * unknown   there is no such party: it never came, has left, its wait or its session is over
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
 * generation, index: of a barrier, else 0; the index is that of a party that has passed. count: what a latch
 * has still to count; of a barrier how many wait now, and of 'mismatch' the number of parties that they wait
 * for.
 */
export type PartyResult = readonly [state: PartyState, generation: number, index: number, count: number]
