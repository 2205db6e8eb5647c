// Rule: what a core is made of at its start, and the values that stand when nothing was said.

import type { Random } from '@latchkey/base'
import type { Entry, GroupId, HardState, LogPosition, MemberId, Membership } from './types.js'

const MiB = 1024 * 1024

export interface RaftOptions {
  readonly id: MemberId
  readonly group: GroupId
  /** ms. Silence of this length makes a voter doubt its leader; each attempt waits for up to as much again, by chance. */
  readonly electionTimeout: number
  /** ms between two heartbeats; well below the election timeout. */
  readonly heartbeat: number
  /** Another stream at each start: the contexts of forwarded reads begin at a number drawn from it (R3). */
  readonly random: Random
  /** Ask before campaigning. Off only in tests. */
  readonly preVote?: boolean
  /** Appends under way to one follower. */
  readonly maxInflight?: number
  /** Data of one append message, but one entry at least. */
  readonly maxAppendBytes?: number
  /** Data of one entry: 'too-large' beyond. */
  readonly maxEntryBytes?: number
  /** Data that is proposed and not committed: 'busy' beyond, but one entry at least. */
  readonly maxUncommittedBytes?: number
  /** What one reading may add to cluster time at most (CT2). */
  readonly clamp?: number
  /** ms. After `leaderGone` the voters left start their pre-votes one such slot after the other, in the order of their ids. */
  readonly fastDelay?: number
  /** Snapshots under way to followers at once. */
  readonly maxSnapshots?: number
}

export type Settings = Required<RaftOptions>

export interface RaftBoot {
  readonly hardState: HardState
  /** After `start`, without a gap. */
  readonly entries: readonly Entry[]
  readonly start: LogPosition
  /** In force at `start`. */
  readonly membership: Membership
  /** What the state machine holds. Before `start`: its state is gone, and a snapshot is asked for. */
  readonly applied: number
  /** The state machine cannot follow the log from `applied`, though the log reaches back so far: ask for a snapshot. */
  readonly rebuild?: boolean
  /** False: neither votes nor campaigns until `allowVoting()` (a fresh directory may be a lost member's). */
  readonly mayVote?: boolean
}

export function settle(options: RaftOptions): Settings {
  return {
    preVote: true,
    maxInflight: 64,
    maxAppendBytes: 1 * MiB,
    maxEntryBytes: 8 * MiB,
    maxUncommittedBytes: 64 * MiB,
    clamp: options.electionTimeout,
    fastDelay: Math.max(4, options.electionTimeout / 40),
    maxSnapshots: 1,
    ...defined(options),
  }
}

/** An option given as undefined is one not given. */
function defined(options: RaftOptions): RaftOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as RaftOptions
}
