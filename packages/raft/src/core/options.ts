// Rule: the options and the stored state that a core starts with, and the default of each option.

import type { Random } from '@latchkey/base'
import type { Entry, GroupId, HardState, LogPosition, MemberId, Membership } from './types.js'

const MiB = 1024 * 1024

export interface RaftOptions {
  readonly id: MemberId
  readonly group: GroupId
  /**
   * In ms. A voter that hears from no leader for this long starts an election. The wait before each election
   * is random: between this time and twice this time.
   */
  readonly electionTimeout: number
  /** In ms, the time between two heartbeats. It must be well below the election timeout. */
  readonly heartbeat: number
  /**
   * Two starts of a process must not get the same random numbers, because the contexts of forwarded reads
   * begin at a random number (R3).
   */
  readonly random: Random
  /** Whether a pre-vote comes before each campaign. Only tests turn this off. */
  readonly preVote?: boolean
  /** The most unanswered appends to one follower. */
  readonly maxInflight?: number
  /** The most bytes of data in one append message. A single entry that is larger is sent alone. */
  readonly maxAppendBytes?: number
  /** The most bytes of data in one entry. A larger proposal is refused as 'too-large'. */
  readonly maxEntryBytes?: number
  /**
   * The most bytes that may be proposed and not yet committed. Beyond this limit a proposal is refused as
   * 'busy', unless no other proposal is uncommitted.
   */
  readonly maxUncommittedBytes?: number
  /** In ms, the most that one reading of the clock can add to cluster time (CT2). */
  readonly clamp?: number
  /**
   * In ms, the length of a slot in a fast election. After `leaderGone`, and after `allowVoting` in a new
   * cluster, the voters start their pre-votes one slot after the other, in the order of their ids.
   */
  readonly fastDelay?: number
  /** How many followers may be sent a snapshot at the same time. */
  readonly maxSnapshots?: number
}

export type Settings = Required<RaftOptions>

export interface RaftBoot {
  readonly hardState: HardState
  /** The entries after `start`, without a gap. */
  readonly entries: readonly Entry[]
  readonly start: LogPosition
  /** The configuration in force at `start`. */
  readonly membership: Membership
  /**
   * The index up to which the state machine has applied the log. If `applied` is before `start`, entries are
   * missing. Then the state counts as lost, and this member requests a snapshot.
   */
  readonly applied: number
  /**
   * True if the state machine's data is damaged and must be replaced by a snapshot, even if the log has all
   * entries after `applied`.
   */
  readonly rebuild?: boolean
  /**
   * If false, this member neither votes nor campaigns until `allowVoting()` is called. An empty directory may
   * belong to a member that lost its disk and that may have voted before.
   */
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

/** Removes options that are given as undefined, so that they get their defaults. */
function defined(options: RaftOptions): RaftOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as RaftOptions
}
