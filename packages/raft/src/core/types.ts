// Rule: the types of consensus: entries, messages, effects. All of them are plain data. invariants.ts has
// their laws.

export type MemberId = string
/** The id of a Raft group. Each message carries this id, so that one process could hold several groups. */
export type GroupId = number

/**
 * A position in the log. `time` is the cluster time of the entry at `index`. {0, 0, 0} is the position before
 * the first entry.
 */
export interface LogPosition {
  readonly index: number
  readonly term: number
  readonly time: number
}

/**
 * 'empty': the first entry of a new leader, or an entry that only advances cluster time. 'commands': commands
 * for the state machine. 'members': `data` is an encoded Membership.
 */
export type EntryKind = 'empty' | 'commands' | 'members'

export interface Entry extends LogPosition {
  readonly kind: EntryKind
  /** The bytes are encoded once, by the proposer. They are sent, stored and applied unchanged. */
  readonly data: Uint8Array
}

/** The term and vote, which a member must have on disk before it sends a message that depends on them. */
export interface HardState {
  readonly term: number
  readonly vote: MemberId | undefined
}

export interface Peer {
  readonly url: string
  /**
   * A random text that is drawn at a member's first start. In the membership it is '' until a leader has met
   * the member. Votes and acknowledgements with another incarnation do not count.
   */
  readonly incarnation: string
}

/**
 * All lists are sorted by id. While `outgoing` is not empty the configuration is joint: a majority of the
 * voters and a majority of `outgoing` must agree.
 */
export interface Membership {
  readonly voters: readonly MemberId[]
  readonly outgoing: readonly MemberId[]
  readonly learners: readonly MemberId[]
  /** Voters of the old half that become learners when the joint configuration is left. */
  readonly learnersNext: readonly MemberId[]
  readonly peers: Readonly<Record<MemberId, Peer>>
  /** The cluster's id. The first leader draws it, and it never changes. It is absent before that. */
  readonly cluster?: string
}

export type MembershipChange =
  /**
   * A leader's own change: the first leader draws the cluster's id, and each leader records the incarnations
   * of the members that it has met.
   */
  | {
      readonly type: 'found'
      readonly cluster: string
      readonly incarnations: Readonly<Record<MemberId, string>>
    }
  | { readonly type: 'add-learner'; readonly id: MemberId; readonly peer: Peer }
  | { readonly type: 'promote'; readonly id: MemberId }
  | { readonly type: 'remove'; readonly id: MemberId }
  | { readonly type: 'update'; readonly id: MemberId; readonly peer: Peer }
  /** Changes to any set of voters and learners at once, through a joint configuration. */
  | {
      readonly type: 'replace'
      readonly voters: readonly MemberId[]
      readonly learners: readonly MemberId[]
      readonly peers: Readonly<Record<MemberId, Peer>>
    }

interface Envelope {
  readonly group: GroupId
  readonly from: MemberId
  readonly to: MemberId
  /** The sender's term. A preVote has the term in which the sender would campaign. */
  readonly term: number
}

export type Message = Envelope &
  (
    | { readonly type: 'preVote'; readonly lastIndex: number; readonly lastTerm: number }
    | { readonly type: 'preVoteReply'; readonly granted: boolean; readonly campaignTerm: number }
    | {
        readonly type: 'vote'
        readonly lastIndex: number
        readonly lastTerm: number
        /**
         * True if the leader itself asked for this election. The receivers then do not refuse the candidate
         * because of stickiness.
         */
        readonly transfer: boolean
      }
    | { readonly type: 'voteReply'; readonly granted: boolean }
    | {
        readonly type: 'append'
        readonly prevIndex: number
        readonly prevTerm: number
        readonly commit: number
        readonly entries: readonly Entry[]
        /** The read round; the reply confirms it. */
        readonly round: number
      }
    | { readonly type: 'appendReply'; readonly ok: true; readonly match: number; readonly round: number }
    | {
        readonly type: 'appendReply'
        readonly ok: false
        /** The prevIndex that was rejected. */
        readonly rejected: number
        /**
         * The index at which the leader should probe next. It is the last index at which the follower's term
         * is not above the term of the leader's entry there.
         */
        readonly hintIndex: number
        readonly hintTerm: number
        readonly round: number
      }
    | { readonly type: 'heartbeat'; readonly commit: number; readonly round: number }
    | {
        readonly type: 'heartbeatReply'
        readonly round: number
        /**
         * The index up to which the member last acknowledged the log in this term. The index shows the leader
         * that an append was lost.
         */
        readonly match: number
      }
    | {
        readonly type: 'snapshot'
        readonly position: LogPosition
        readonly membership: Membership
        readonly offset: number
        readonly chunk: Uint8Array
        readonly done: boolean
      }
    | {
        readonly type: 'snapshotReply'
        readonly position: LogPosition
        /** How many bytes of the snapshot the member has. The next piece starts there. */
        readonly offset: number
        /** True when the snapshot is installed. The log then continues after `position`. */
        readonly installed: boolean
      }
    | { readonly type: 'timeoutNow' }
    | { readonly type: 'readIndex'; readonly context: number }
    | {
        readonly type: 'readIndexReply'
        readonly context: number
        /**
         * The index that must be applied before the read is served. Undefined if the leader cannot confirm
         * the read. Then the caller asks again.
         */
        readonly index: number | undefined
        /** The leader's cluster time, read after the request arrived (CT5). */
        readonly time: number
      }
  )

export type MessageType = Message['type']
export type Role = 'follower' | 'candidate' | 'leader' | 'learner'

/**
 * An action that the core asks its driver for. The driver carries the effects out in order.
 * collect-effects.ts states the order and its reasons.
 *
 * Law: a message that promises something durable (a vote, an acknowledgement, the leader's own match) is sent
 * after the promised data is on the disk. The core keeps the message until `persisted(batch.id)`. If a
 * truncation or a newer term has made the message invalid meanwhile, the core drops the message.
 */
export type Effect =
  | { readonly type: 'send'; readonly message: Message }
  | { readonly type: 'persist'; readonly batch: PersistBatch }
  /** Entries from `from` to `to`, both included, are committed, and durable here: apply them in order. */
  | { readonly type: 'commit'; readonly from: number; readonly to: number }
  /**
   * The read may be served once `index` is applied here. `time` is the leader's cluster time (CT5). An
   * undefined `index` means that no leader has confirmed the read, and that the caller must try again.
   */
  | {
      readonly type: 'read'
      readonly context: number
      readonly index: number | undefined
      readonly time: number
    }
  | {
      readonly type: 'role'
      readonly role: Role
      readonly term: number
      readonly leader: MemberId | undefined
    }
  /**
   * A configuration that is now in force (its entry was appended), or the configuration in force that is now
   * committed.
   */
  | {
      readonly type: 'membership'
      readonly membership: Membership
      readonly index: number
      readonly committed: boolean
    }
  /**
   * For a leader: read the bytes from `offset` of a snapshot of at least `index` for `to`, and pass them
   * to `snapshotChunk`.
   */
  | {
      readonly type: 'readSnapshot'
      readonly to: MemberId
      readonly offset: number
      readonly position: LogPosition | undefined
    }
  /**
   * For a leader: the transfer to `to` has ended, in success or failure. The driver may close the view of the
   * state from which it read the pieces.
   */
  | { readonly type: 'endSnapshot'; readonly to: MemberId }
  /**
   * For a leader: `id` has acknowledged entries up to `acknowledged`, but now has none after `holds`. So the
   * disk of `id` was rolled back. The member gets no more entries, its acknowledgements do not count, and an
   * operator must rebuild the member.
   */
  | {
      readonly type: 'rolledBack'
      readonly id: MemberId
      readonly acknowledged: number
      readonly holds: number
    }
  /**
   * For a follower: keep this piece. If `done`, install the whole snapshot durably, then
   * call `snapshotInstalled`.
   */
  | {
      readonly type: 'stageSnapshot'
      readonly from: MemberId
      readonly position: LogPosition
      readonly membership: Membership
      readonly offset: number
      readonly chunk: Uint8Array
      readonly done: boolean
    }

/** One write and one sync. The parts take effect in this order: truncation, entries, hard state. */
export interface PersistBatch {
  /**
   * The id is one higher in each batch. `persisted(id)` means that this batch and all batches before
   * it are durable.
   */
  readonly id: number
  readonly hardState: HardState | undefined
  /** The log on the disk is deleted from this index on. */
  readonly truncateFrom: number | undefined
  readonly entries: readonly Entry[]
  /** If set, the log restarts after a snapshot that was installed. */
  readonly restartAfter: { readonly position: LogPosition; readonly membership: Membership } | undefined
}
