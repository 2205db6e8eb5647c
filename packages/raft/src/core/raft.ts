// Rule: the core of one member of a Raft group. Each public method calls the functions that decide, and
// returns a list of effects.
//
// Laws
//   - the core is synchronous and deterministic, and reads no clock: the same calls return the same effects.
//   - the caller reads the clock for `now` after the message or event of the call has arrived (CT2, K41).
//   - a message that promises something durable is sent only when it is durable (durable-before-send.ts).

import { assert } from '@latchkey/base'
import { type ChangeRefusal, planChange } from './membership-change.js'
import { describe } from './state-as-text.js'
import { receive, refuse, sendKept } from './message-dispatch.js'
import { whyRefused } from './message-checks.js'
import { electionTick, onLeaderGone, onVotingAllowed, ownVoteDurable } from './election.js'
import { finish } from './collect-effects.js'
import { removeStored } from './entries-stored-by-all.js'
import { announce } from './heartbeat.js'
import { leaderTick } from './leader.js'
import { decodeMembership, encodeMembership, votersBut } from './membership.js'
import { type RaftBoot, type RaftOptions, withDefaults } from './options.js'
import { untilTick } from './time-until-tick.js'
import type { Progress } from './progress.js'
import { expireForwarded, read } from './read-index.js'
import { appendOwn, onUnreachable } from './replication.js'
import { adjustRole, resetElectionTimer } from './role-changes.js'
import { onInstallFailed, onInstalled } from './receive-snapshot.js'
import { type SnapshotPiece, giveUp, onPiece, pinned } from './send-snapshot.js'
import { type ElectionReason, type LostCampaign, removeEntries, State } from './state.js'
import { transfer } from './leadership-transfer.js'
import type { Effect, Entry, EntryKind, LogPosition, MemberId } from './types.js'
import type { Membership, MembershipChange, Message, Role } from './types.js'

type RefusalReason = 'not-leader' | 'busy' | 'too-large' | ChangeRefusal['reason']

export type Proposal =
  | { readonly ok: true; readonly index: number; readonly term: number; readonly effects: readonly Effect[] }
  | {
      readonly ok: false
      readonly reason: RefusalReason
      readonly leader?: MemberId | undefined
      readonly why?: string
    }

const NOTHING: readonly Effect[] = []

export class Raft {
  /** Drivers and tests may read this state. Only the core changes it. */
  readonly state: State

  constructor(options: RaftOptions, boot: RaftBoot, now: number) {
    assert(
      boot.hardState.term >= (boot.entries.at(-1)?.term ?? boot.start.term),
      'the log is ahead of the term',
    )
    assert(
      boot.rebuild === true || boot.applied <= boot.start.index + boot.entries.length,
      'more is applied than the log holds',
    )
    const state = new State(withDefaults(options), boot, now)
    this.state = state
    for (const entry of boot.entries) {
      if (entry.kind !== 'members') continue
      const membership = decodeMembership(entry.data)
      assert(membership !== undefined, 'a configuration of the log cannot be read')
      state.configs.append(entry.index, membership)
    }
    adjustRole(state)
    state.reported.role = state.role
    state.reported.configIndex = state.configs.index
    state.reported.configCommitted = state.configs.index <= state.commit
    resetElectionTimer(state)
    // The only voter of a group campaigns immediately, because no other member could lead.
    if (votersBut(state.membership, state.id).length === 0) state.electionAt = state.clock
  }

  // ---- Events and requests

  /** `incarnation` is the random id of the sender's data directory, from its handshake. */
  step(message: Message, now: number, incarnation?: string): readonly Effect[] {
    const { state } = this
    this.#begin(now)
    const why = whyRefused(state, message, incarnation)
    if (why === undefined) receive(state, message)
    else refuse(state, why)
    return finish(state)
  }

  /** Must be called after `untilTick` ms at the latest, and at least a few times in each election timeout. */
  tick(now: number): readonly Effect[] {
    const { state } = this
    this.#begin(now)
    if (state.leading !== undefined) leaderTick(state, state.leading)
    else {
      expireForwarded(state)
      electionTick(state)
    }
    return finish(state)
  }

  propose(kind: Exclude<EntryKind, 'members'>, data: Uint8Array, now: number): Proposal {
    const { state } = this
    this.#begin(now)
    const reason = this.#whyNot(data.length)
    if (reason !== undefined) return { ok: false, reason, leader: state.leader }
    const index = appendOwn(state, kind, data)
    return { ok: true, index, term: state.term, effects: finish(state) }
  }

  proposeChange(change: MembershipChange, now: number): Proposal {
    const { state } = this
    this.#begin(now)
    if (state.leading === undefined) return { ok: false, reason: 'not-leader', leader: state.leader }
    const plan = planChange(state, state.leading, change)
    if ('reason' in plan) return { ok: false, ...plan, leader: state.leader }
    const { term } = state
    const index = appendOwn(state, 'members', encodeMembership(plan), plan)
    return { ok: true, index, term, effects: finish(state) }
  }

  /**
   * Starts a leadership transfer to `to`, or to the member with the longest matching log if `to` is
   * undefined. Does nothing if this member does not lead or the target cannot lead.
   */
  transfer(to: MemberId | undefined, now: number): readonly Effect[] {
    this.#begin(now)
    transfer(this.state, to)
    return finish(this.state)
  }

  read(context: number, now: number): readonly Effect[] {
    this.#begin(now)
    read(this.state, context)
    return finish(this.state)
  }

  persisted(batchId: number, now: number): readonly Effect[] {
    const { state } = this
    this.#begin(now)
    if (!state.disk.persisted(batchId)) return finish(state)
    sendKept(state)
    if (state.leading !== undefined) state.leading.dirty = true
    ownVoteDurable(state)
    return finish(state, true)
  }

  applied(index: number): readonly Effect[] {
    const { state } = this
    assert(index <= state.handedOut, 'applied what was not handed out')
    if (index > state.applied) state.applied = index
    removeStored(state)
    return NOTHING
  }

  /**
   * Removes entries up to `index` from the log in memory, except entries that a receiver of a snapshot still
   * needs. The state machine must have the effects of the removed entries durably (S15).
   */
  compact(index: number): readonly Effect[] {
    const { state } = this
    assert(index <= state.applied, 'compaction beyond what is applied')
    removeEntries(state, pinned(state, index))
    return NOTHING
  }

  snapshotChunk(piece: SnapshotPiece, now: number): readonly Effect[] {
    this.#begin(now)
    onPiece(this.state, piece)
    return finish(this.state)
  }

  /**
   * Ends a failed snapshot transfer. `id` is another member if this leader could not read a piece of the
   * snapshot. `id` is this member's own id if a received snapshot could not be installed.
   */
  snapshotFailed(id: MemberId, now: number): readonly Effect[] {
    const { state } = this
    this.#begin(now)
    const peer = state.leading?.byId.get(id)
    if (id === state.id) onInstallFailed(state)
    else if (peer?.snapshot !== undefined) giveUp(state, peer)
    return finish(state)
  }

  /**
   * Called when a received snapshot is installed durably. The next entry to apply is the entry after the
   * snapshot.
   */
  snapshotInstalled(position: LogPosition, membership: Membership, now: number): readonly Effect[] {
    this.#begin(now)
    onInstalled(this.state, position, membership)
    return finish(this.state)
  }

  /** Sends this commit index to the members that have not received it in another message. */
  announce(index: number, now: number): readonly Effect[] {
    const { state } = this
    this.#begin(now)
    for (const peer of state.leading?.peers ?? []) announce(state, peer, Math.min(index, state.commit))
    return finish(state)
  }

  leaderGone(id: MemberId, term: number, now: number): readonly Effect[] {
    this.#begin(now)
    onLeaderGone(this.state, id, term)
    return finish(this.state)
  }

  unreachable(id: MemberId, now: number): readonly Effect[] {
    this.#begin(now)
    const peer = this.state.leading?.byId.get(id)
    if (peer !== undefined) onUnreachable(peer)
    return finish(this.state)
  }

  /**
   * Allows this member to vote and to campaign. Called when it is clear that this member did not lose its
   * disk.
   */
  allowVoting(now: number): readonly Effect[] {
    this.#begin(now)
    onVotingAllowed(this.state)
    return finish(this.state)
  }

  #begin(now: number): void {
    this.state.now = now
    this.state.timers.advance(now)
  }

  #whyNot(bytes: number): RefusalReason | undefined {
    const { state } = this
    const { leading, options } = state
    if (leading === undefined) return 'not-leader'
    if (bytes > options.maxEntryBytes) return 'too-large'
    if (leading.transfer !== undefined || state.rebuilding) return 'transferring'
    const full = leading.uncommittedBytes + bytes > options.maxUncommittedBytes
    return full && leading.uncommittedBytes > 0 ? 'busy' : undefined
  }

  // ---- The current state

  get term(): number {
    return this.state.term
  }

  get role(): Role {
    return this.state.role
  }

  get leader(): MemberId | undefined {
    return this.state.leader
  }

  get electionReason(): ElectionReason | undefined {
    return this.state.campaign?.why
  }

  /** The last campaign that this member lost, for log lines. Undefined if there is none. */
  get lostCampaign(): LostCampaign | undefined {
    return this.state.lostCampaign
  }

  get commit(): number {
    return this.state.commit
  }

  /** The index of the first entry in the log. If the log is empty, the index of the next entry. */
  get firstIndex(): number {
    return this.state.log.firstIndex
  }

  get lastIndex(): number {
    return this.state.log.lastIndex
  }

  get membership(): Membership {
    return this.state.membership
  }

  membershipAt(index: number): Membership {
    return this.state.configs.at(index)
  }

  /** In ms, how long the driver may wait before the next tick. */
  get untilTick(): number {
    return untilTick(this.state)
  }

  get transferring(): boolean {
    return this.state.leading?.transfer !== undefined
  }

  /**
   * True if this leader, in its present term, has asked another member to campaign immediately. The value
   * stays true after the transfer was given up, because the asked member may get the request late and
   * campaign then.
   */
  get targetAsked(): boolean {
    return this.state.leading?.targetAsked ?? false
  }

  /** What this leader knows of each other member. Empty if this member does not lead. */
  get progress(): readonly Progress[] {
    return this.state.leading?.peers ?? []
  }

  /**
   * The cluster time that a new entry would get now. If this member does not lead, the time of its last
   * entry.
   */
  clusterTime(now: number): number {
    const { leading, log } = this.state
    return leading === undefined ? log.last.time : leading.clock.read(now)
  }

  entry(index: number): Entry {
    return this.state.log.entry(index)
  }

  entries(from: number, to: number): Entry[] {
    return this.state.log.slice(from, to)
  }

  termAt(index: number): number | undefined {
    return this.state.log.termAt(index)
  }

  describe(): string {
    return describe(this.state)
  }
}
