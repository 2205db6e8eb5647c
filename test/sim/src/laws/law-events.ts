// Rule: the events for the laws, as plain data.

import type { Effect, Entry, MemberId, Membership, PersistBatch } from '@latchkey/raft/core'

export interface RecoveredState {
  readonly term: number
  readonly vote: MemberId | undefined
  readonly base: { readonly index: number; readonly term: number; readonly time: number }
  readonly membership: Membership
  readonly entries: PersistBatch['entries']
  /** The index of the last entry that the state machine had applied. */
  readonly applied: number
}

export interface StateHash {
  readonly hash: number | string
  /** A hash for each part of the state, for the message of a broken law. */
  readonly spaces?: Readonly<Record<string, string>>
}

export interface AppliedEntry {
  readonly entry: Entry
  /** One answer for each command. Undefined if the entry holds no commands. */
  readonly answers: readonly Uint8Array[] | undefined
  /** The state after this entry. Undefined if the state was not hashed. */
  readonly state: StateHash | undefined
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
  readonly sentAt: number
  /** The highest acknowledged write when the read was sent. */
  readonly floor: number
}
