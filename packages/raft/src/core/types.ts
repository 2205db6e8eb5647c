// Rule: the words of consensus. Plain data; every law about them is in invariants.ts.

export type MemberId = string
/** Which group of members a message or log belongs to; one process may share many groups one day. */
export type GroupId = number

/** A place in the log. `time` is the cluster time of the entry there. {0, 0, 0} is the place before the first entry. */
export interface LogPosition {
  readonly index: number
  readonly term: number
  readonly time: number
}

/** 'empty': a new leader's first entry, or a tick that only carries time. 'members': `data` is an encoded Membership. */
export type EntryKind = 'empty' | 'commands' | 'members'

export interface Entry extends LogPosition {
  readonly kind: EntryKind
  /** Encoded once, by whoever proposed; travels, is stored and is applied as it is. */
  readonly data: Uint8Array
}

/** What a member must remember before it speaks again. */
export interface HardState {
  readonly term: number
  readonly vote: MemberId | undefined
}

export interface Peer {
  readonly url: string
  /** Drawn at a member's first boot; '' until it has been met. Votes and acknowledgements of another one do not count. */
  readonly incarnation: string
}

/** All lists sorted. While `outgoing` is not empty the configuration is joint: both halves must agree. */
export interface Membership {
  readonly voters: readonly MemberId[]
  readonly outgoing: readonly MemberId[]
  readonly learners: readonly MemberId[]
  /** Voters of the old half that become learners when the joint configuration is left. */
  readonly learnersNext: readonly MemberId[]
  readonly peers: Readonly<Record<MemberId, Peer>>
  /** The cluster's id, drawn by its first leader and never changed; absent until then. */
  readonly cluster?: string
}

export type MembershipChange =
  /** The first leader draws the cluster's id, and writes down whom it has met. */
  | {
      readonly type: 'found'
      readonly cluster: string
      readonly incarnations: Readonly<Record<MemberId, string>>
    }
  | { readonly type: 'add-learner'; readonly id: MemberId; readonly peer: Peer }
  | { readonly type: 'promote'; readonly id: MemberId }
  | { readonly type: 'remove'; readonly id: MemberId }
  | { readonly type: 'update'; readonly id: MemberId; readonly peer: Peer }
  /** Any set of voters and learners at once, through a joint configuration. */
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
  /** The sender's term; of a preVote the term it would campaign in. */
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
        /** Skips stickiness: the leader itself asked. */
        readonly transfer: boolean
      }
    | { readonly type: 'voteReply'; readonly granted: boolean }
    | {
        readonly type: 'append'
        readonly prevIndex: number
        readonly prevTerm: number
        readonly commit: number
        readonly entries: readonly Entry[]
        /** Read round, confirmed by the reply. */
        readonly round: number
      }
    | { readonly type: 'appendReply'; readonly ok: true; readonly match: number; readonly round: number }
    | {
        readonly type: 'appendReply'
        readonly ok: false
        /** The prevIndex refused. */
        readonly rejected: number
        /** Where to look next: last index of a term not above the leader's there. */
        readonly hintIndex: number
        readonly hintTerm: number
        readonly round: number
      }
    | { readonly type: 'heartbeat'; readonly commit: number; readonly round: number }
    | {
        readonly type: 'heartbeatReply'
        readonly round: number
        /** Durable and matching, as last acknowledged in this term; lets a leader notice a lost append. */
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
        /** Bytes held so far; the next chunk starts here. */
        readonly offset: number
        /** Built and in use: the log goes on after `position`. */
        readonly installed: boolean
      }
    | { readonly type: 'timeoutNow' }
    | { readonly type: 'readIndex'; readonly context: number }
    | {
        readonly type: 'readIndexReply'
        readonly context: number
        /** Undefined: cannot be confirmed here, ask again. */
        readonly index: number | undefined
        /** The leader's cluster time, read after the request arrived (CT5). */
        readonly time: number
      }
  )

export type MessageType = Message['type']
export type Role = 'follower' | 'candidate' | 'leader' | 'learner'

/**
 * One thing the core wants done. The driver carries them out in order; end-of-call.ts tells the order and its reasons.
 * Law (disk before word): a message that promises something durable (a vote, an acknowledgement, the leader's own match) is
 * kept back by the core until `persisted(batch.id)`, and is dropped there when a truncation or a newer term voided it meanwhile.
 */
export type Effect =
  | { readonly type: 'send'; readonly message: Message }
  | { readonly type: 'persist'; readonly batch: PersistBatch }
  /** Entries from `from` to `to`, both inclusive, are committed and durable here: apply them in order. */
  | { readonly type: 'commit'; readonly from: number; readonly to: number }
  /** The read may be served once `index` is applied here. `time`: see CT5. index undefined: no leader confirmed it, retry. */
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
  /** The configuration in force is now this one (from its append on), or the one in force is now committed. */
  | {
      readonly type: 'membership'
      readonly membership: Membership
      readonly index: number
      readonly committed: boolean
    }
  /** Leader: hand over the bytes from `offset` of a snapshot of at least `index` for `to`, by `snapshotChunk`. */
  | {
      readonly type: 'readSnapshot'
      readonly to: MemberId
      readonly offset: number
      readonly position: LogPosition | undefined
    }
  /** Leader: the transfer to `to` is over, one way or the other: its frozen view may go. */
  | { readonly type: 'endSnapshot'; readonly to: MemberId }
  /**
   * Leader: `id` has acknowledged entries up to `acknowledged` and now holds none beyond `holds`: its disk was rolled back.
   * It gets no more entries and counts no more; an operator must rebuild it.
   */
  | {
      readonly type: 'rolledBack'
      readonly id: MemberId
      readonly acknowledged: number
      readonly holds: number
    }
  /** Follower: keep this chunk; when `done`, install the whole durably, then call `snapshotInstalled`. */
  | {
      readonly type: 'stageSnapshot'
      readonly from: MemberId
      readonly position: LogPosition
      readonly membership: Membership
      readonly offset: number
      readonly chunk: Uint8Array
      readonly done: boolean
    }

/** Written in one write, synced once. Order inside: truncation, entries, hard state. */
export interface PersistBatch {
  /** Grows by one each batch; `persisted(id)` means this and all before are durable. */
  readonly id: number
  readonly hardState: HardState | undefined
  /** From this index on the log is void. */
  readonly truncateFrom: number | undefined
  readonly entries: readonly Entry[]
  /** The log restarts behind an installed snapshot. */
  readonly restartAfter: { readonly position: LogPosition; readonly membership: Membership } | undefined
}
