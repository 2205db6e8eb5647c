// Rule: the types of Raft: entries, messages and effects, all of them plain data. invariants.ts has their
// laws.

export type MemberId = string
/** The id of a Raft group. Each message carries the id, so that one process could run several groups. */
export type GroupId = number

/** `time` is the cluster time of the entry at `index`. All three numbers are 0 before the first entry. */
export interface LogPosition {
  readonly index: number
  readonly term: number
  readonly time: number
}

/**
 * 'empty': the first entry of a new leader, or an entry that only advances cluster time. 'commands': commands
 * for the state machine. 'members': an encoded Membership.
 */
export type EntryKind = 'empty' | 'commands' | 'members'

export interface Entry extends LogPosition {
  readonly kind: EntryKind
  /** The leader encodes these bytes once. The bytes are sent, stored and applied unchanged. */
  readonly data: Uint8Array
}

/** Term and vote. A member has them on disk before it sends a message that depends on them. */
export interface HardState {
  readonly term: number
  readonly vote: MemberId | undefined
}

export interface Peer {
  readonly url: string
  /**
   * The random id of the member's data directory. A wiped member has a new incarnation, so the cluster
   * notices that the member has forgotten its earlier votes. The text is '' until a leader has recorded the
   * incarnation.
   */
  readonly incarnation: string
}

/**
 * All lists are sorted by id. If `outgoing` is not empty, this is a joint configuration of the new `voters`
 * and the old `outgoing` voters. A majority of `voters` and a majority of `outgoing` must agree.
 */
export interface Membership {
  readonly voters: readonly MemberId[]
  readonly outgoing: readonly MemberId[]
  readonly learners: readonly MemberId[]
  /** Old voters that become learners when the joint configuration ends. */
  readonly learnersNext: readonly MemberId[]
  readonly peers: Readonly<Record<MemberId, Peer>>
  /** The cluster's random id. The first leader draws it, and it never changes. */
  readonly cluster?: string
}

export type MembershipChange =
  /**
   * A new cluster gets its id, and its members get their incarnations (the random ids of their data
   * directories). A leader proposes this change by itself, without a request of an operator.
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
  /** Replaces all voters and learners, through a joint configuration. */
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
  /** The sender's term. In a preVote, the term in which the sender would campaign. */
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
         * True if the leader itself asked for this election. Then the receivers vote although their leader is
         * alive.
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
        /**
         * The leader's current read round. The reply repeats the number, and so confirms the reads of the
         * round.
         */
        readonly round: number
      }
    | { readonly type: 'appendReply'; readonly ok: true; readonly match: number; readonly round: number }
    | {
        readonly type: 'appendReply'
        readonly ok: false
        readonly rejected: number
        /**
         * The hint: the last index up to prevIndex at which the follower's term is at most prevTerm. The two
         * logs cannot agree after this index. The leader chooses the index of its next probe by the hint.
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
         * The durable index up to which the member's log agrees with the leader's log. If the index does not
         * grow, the leader notices that an append was lost.
         */
        readonly match: number
      }
    /** The disks of all members have the entries up to `index`. */
    | { readonly type: 'storedByAll'; readonly index: number }
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
        /** How many bytes of the snapshot the member has. The next piece begins at this offset. */
        readonly offset: number
        /**
         * True if the snapshot is installed, or not needed. The leader then sends the entries after
         * `position`.
         */
        readonly installed: boolean
      }
    | { readonly type: 'timeoutNow' }
    | { readonly type: 'readIndex'; readonly context: number }
    | {
        readonly type: 'readIndexReply'
        readonly context: number
        /**
         * The read is answered after this index is applied. Undefined if the leader could not confirm the
         * read. Then the caller tries again.
         */
        readonly index: number | undefined
        /** The leader's cluster time, read after the request arrived (CT5). */
        readonly time: number
      }
  )

export type MessageType = Message['type']
export type MessageOf<Type extends MessageType> = Extract<Message, { type: Type }>
/** Only the leader of a term sends these messages. */
export type LeaderMessage = MessageOf<'append' | 'heartbeat' | 'storedByAll' | 'snapshot'>
export type Role = 'follower' | 'candidate' | 'leader' | 'learner'

/**
 * The driver carries out all effects in order (collect-effects.ts explains the order).
 *
 * Law: a message that promises something durable (a vote, an acknowledgement) is sent after the promised data
 * is on disk. The core keeps the message until `persisted(batch.id)` is called. If a newer term has begun
 * meanwhile, the core drops the message.
 */
export type Effect =
  | { readonly type: 'send'; readonly message: Message }
  | { readonly type: 'persist'; readonly batch: PersistBatch }
  /**
   * The entries from `from` to `to`, including both, are committed and durable on this member: apply them.
   */
  | { readonly type: 'commit'; readonly from: number; readonly to: number }
  /**
   * The read may be answered after `index` is applied on this member. `time` is the leader's cluster time
   * (CT5). If `index` is undefined, no leader has confirmed the read, and the caller must try again.
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
   * A membership has come into force because its entry was appended, or the membership in force is now
   * committed.
   */
  | {
      readonly type: 'membership'
      readonly membership: Membership
      readonly index: number
      readonly committed: boolean
    }
  /**
   * For a leader: read the bytes at `offset` of the snapshot for member `to`, and pass them to
   * `snapshotChunk`. If `position` is undefined, begin a new snapshot.
   */
  | {
      readonly type: 'readSnapshot'
      readonly to: MemberId
      readonly offset: number
      readonly position: LogPosition | undefined
    }
  /**
   * For a leader: the snapshot transfer to `to` has ended. The driver closes the copy of the state from which
   * it read the pieces.
   */
  | { readonly type: 'endSnapshot'; readonly to: MemberId }
  /**
   * For a leader: member `id` has acknowledged entries up to `acknowledged`, but its log now ends at `holds`.
   * So its disk was rolled back to an old copy. The leader sends this member no more entries and ignores its
   * acknowledgements. An operator must rebuild the member.
   */
  | {
      readonly type: 'rolledBack'
      readonly id: MemberId
      readonly acknowledged: number
      readonly holds: number
    }
  /**
   * For a follower: store this piece. If `done`, install the whole snapshot durably, then call
   * `snapshotInstalled`.
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

/**
 * Written with one write and one sync. The parts take effect in this order: truncation, entries, hard state.
 */
export interface PersistBatch {
  /** One higher in each batch. `persisted(id)` means that this batch and all earlier batches are durable. */
  readonly id: number
  readonly hardState: HardState | undefined
  readonly truncateFrom: number | undefined
  readonly entries: readonly Entry[]
  /** If set, all entries are dropped, and the log begins after the position of an installed snapshot. */
  readonly restartAfter: { readonly position: LogPosition; readonly membership: Membership } | undefined
}
