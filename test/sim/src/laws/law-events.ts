// Rule: what laws are told of, as plain data.

import type { Effect, MemberId, Membership, PersistBatch } from '@latchkey/raft/core'

/** What a member found on its disk when it started. */
export interface RecoveredState {
  readonly term: number
  readonly vote: MemberId | undefined
  readonly base: { readonly index: number; readonly term: number; readonly time: number }
  readonly membership: Membership
  readonly entries: PersistBatch['entries']
  /** What its state machine holds already. */
  readonly applied: number
}

export type StagedPiece = Extract<Effect, { type: 'stageSnapshot' }>

export interface Acknowledged {
  readonly index: number
  readonly term: number
  readonly key: number
}

export interface ReadServed {
  readonly member: MemberId
  readonly index: number
  readonly time: number
  /** Real time of the client's sending. */
  readonly sentAt: number
  /** The highest acknowledged write when the read was sent. */
  readonly floor: number
}
