// Rule: the options of a core, their defaults, and the stored state with which a core starts.

import type { Random } from '@latchkey/base'
import type { Entry, GroupId, HardState, LogPosition, MemberId, Membership } from './types.js'

const MiB = 1024 * 1024

export interface RaftOptions {
  readonly id: MemberId
  readonly group: GroupId
  /**
   * In ms. A voter that receives no message from a leader for this long starts an election. The real wait is
   * random, between one and two election timeouts.
   */
  readonly electionTimeout: number
  /** In ms. */
  readonly heartbeat: number
  /**
   * A member numbers the reads that it forwards to the leader, from a random number on. These numbers must
   * not repeat after a restart (R3). So the generator needs another seed at each start of the process.
   */
  readonly random: Random
  /** False turns pre-votes off. Only tests use false. */
  readonly preVote?: boolean
  /** How many appends to one follower may be unanswered. At this limit the leader waits for an answer. */
  readonly maxInflight?: number
  /** In bytes of data, the size limit of one append. A larger entry is sent alone. */
  readonly maxAppendBytes?: number
  /** In bytes of data, the size limit of one entry. A larger proposal is refused as 'too-large'. */
  readonly maxEntryBytes?: number
  /**
   * In bytes of data, how much may be proposed and not committed. A proposal beyond this limit is refused as
   * 'busy'. If nothing else is uncommitted, a proposal of any size up to `maxEntryBytes` is accepted.
   */
  readonly maxUncommittedBytes?: number
  /** In ms, how much one reading of the clock can add to cluster time at most (CT2). */
  readonly clamp?: number
  /**
   * After the leader's process has ended, and in a new cluster, an election starts without an election
   * timeout. The voters start their campaigns in successive time slots, in the order of their ids. In ms, the
   * length of one slot.
   */
  readonly fastDelay?: number
  /** To how many followers a leader sends a snapshot at the same time. Further followers wait. */
  readonly maxSnapshots?: number
  /**
   * In bytes of data. If the log in memory is larger, entries are removed from it that all members have on
   * their disks (entries-stored-by-all.ts).
   */
  readonly keptBytes?: number
}

export type Settings = Required<RaftOptions>

export interface RaftBoot {
  readonly hardState: HardState
  readonly entries: readonly Entry[]
  readonly start: LogPosition
  readonly membership: Membership
  /**
   * The index up to which the state machine has applied the log. If this index is before `start`, the state
   * machine lacks entries, and this member asks for a snapshot.
   */
  readonly applied: number
  /**
   * True if the state machine's data is damaged. Then this member asks for a snapshot, even if its log is
   * complete.
   */
  readonly rebuild?: boolean
  /**
   * If false, this member neither votes nor campaigns until `allowVoting` is called. An empty directory may
   * belong to a member that voted before it lost its disk.
   */
  readonly mayVote?: boolean
}

export function withDefaults(options: RaftOptions): Settings {
  return {
    preVote: true,
    maxInflight: 64,
    maxAppendBytes: 1 * MiB,
    maxEntryBytes: 8 * MiB,
    maxUncommittedBytes: 64 * MiB,
    clamp: options.electionTimeout,
    fastDelay: Math.max(4, options.electionTimeout / 40),
    maxSnapshots: 1,
    // Smaller than what arrives between two collections of young objects in V8, so that most entries are still
    // young when they are removed. Larger than a few entries, so that the members seldom send a message for it.
    keptBytes: 256 * 1024,
    ...defined(options),
  }
}

function defined(options: RaftOptions): RaftOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as RaftOptions
}
