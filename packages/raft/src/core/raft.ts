// Rule: one member of one Raft group. Each public method calls the rule that decides, and returns a
// list of effects.
//
// Laws
//   - synchronous, deterministic, without a clock: the same calls give the same effects, byte for byte
//   - the caller reads `now` after the message or event of the call has arrived (CT2, K41)
//   - a message that promises something is sent only when that promise is durable (durable-before-send.ts)

import { assert } from '@latchkey/base'
import { type ChangeRefusal, planChange } from './membership-change.js'
import { describe } from './state-as-text.js'
import { receive, refuse, sendKept } from './message-dispatch.js'
import { whyRefused } from './message-checks.js'
import { electionTick, onLeaderGone, onVotingAllowed, ownVoteDurable } from './election.js'
import { finish } from './collect-effects.js'
import { announce } from './heartbeat.js'
import { leaderTick } from './leader.js'
import { decodeMembership, encodeMembership, votersBut } from './membership.js'
import { type RaftBoot, type RaftOptions, settle } from './options.js'
import { untilTick } from './time-until-tick.js'
import type { Progress } from './progress.js'
import { expireForwarded, read } from './read-index.js'
import { appendOwn, onUnreachable } from './replication.js'
import { adjustRole, resetElectionTimer } from './role-changes.js'
import { onInstallFailed, onInstalled } from './receive-snapshot.js'
import { type SnapshotPiece, giveUp, onPiece, pinned } from './send-snapshot.js'
import { type ElectionReason, type LostCampaign, State } from './state.js'
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
  /** Drivers and checks may read the state. Only the core's own rules write the state. */
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
    const state = new State(settle(options), boot, now)
    this.state = state
    for (const entry of boot.entries) {
      if (entry.kind !== 'members') continue
      const membership = decodeMembership(entry.data)
      assert(membership !== undefined, 'a configuration of the log cannot be read')
      state.configs.append(entry.index, membership)
    }
    adjustRole(state)
    state.told.role = state.role
    state.told.configIndex = state.configs.index
    state.told.configCommitted = state.configs.index <= state.commit
    resetElectionTimer(state)
    // A member that is the only voter campaigns at once, because it cannot disturb another leader.
    if (votersBut(state.membership, state.id).length === 0) state.electionAt = state.clock
  }

  // ---- Events and requests

  /** `incarnation` is the sender's. The handshake of the connection has proved it. */
  step(message: Message, now: number, incarnation?: string): readonly Effect[] {
    const { state } = this
    this.#begin(now)
    const why = whyRefused(state, message, incarnation)
    if (why === undefined) receive(state, message)
    else refuse(state, why)
    return finish(state)
  }

  /** Must be called at the time that `untilTick` names, and at least a few times in each election timeout. */
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
   * If `to` is undefined, the member with the most advanced log is the target. Nothing happens if this member
   * does not lead, or if `to` cannot lead.
   */
  transfer(to: MemberId | undefined, now: number): readonly Effect[] {
    this.#begin(now)
    transfer(this.state, to)
    return finish(this.state)
  }

  /**
   * Asks for a linearizable read. The answer is a 'read' effect with this context, in every role of this
   * member.
   */
  read(context: number, now: number): readonly Effect[] {
    this.#begin(now)
    read(this.state, context)
    return finish(this.state)
  }

  /** Called when this batch and all batches before it are durable. */
  persisted(batchId: number, now: number): readonly Effect[] {
    const { state } = this
    this.#begin(now)
    if (!state.disk.persisted(batchId)) return finish(state)
    sendKept(state)
    if (state.leading !== undefined) state.leading.dirty = true
    ownVoteDurable(state)
    return finish(state, true)
  }

  /** Called when the state machine has applied the log up to `index`. */
  applied(index: number): readonly Effect[] {
    const { state } = this
    assert(index <= state.handedOut, 'applied what was not handed out')
    if (index > state.applied) state.applied = index
    return NOTHING
  }

  /**
   * Removes entries up to `index` from the log, except those that a snapshot transfer still needs. The caller
   * must have a durable snapshot of the removed entries (S15).
   */
  compact(index: number): readonly Effect[] {
    const { state } = this
    assert(index <= state.applied, 'compaction beyond what is applied')
    const to = pinned(state, index)
    state.log.compact(to)
    state.configs.compact(Math.min(to, state.log.start.index))
    return NOTHING
  }

  snapshotChunk(piece: SnapshotPiece, now: number): readonly Effect[] {
    this.#begin(now)
    onPiece(this.state, piece)
    return finish(this.state)
  }

  /**
   * If `id` is another member: this leader cannot read the snapshot for that member. If `id` is this member:
   * the received snapshot could not be installed.
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
   * Called when the received snapshot is complete and durable, and the state machine has the snapshot's
   * state.
   */
  snapshotInstalled(position: LogPosition, membership: Membership, now: number): readonly Effect[] {
    this.#begin(now)
    onInstalled(this.state, position, membership)
    return finish(this.state)
  }

  /** Sends the commit index `index` to the members to which no message was sent since the commit. */
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
   * Called when enough other members have answered, and so have proved that this member did not lose its
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

  /** Why this member asks for votes. Undefined if this member is no candidate. */
  get electionReason(): ElectionReason | undefined {
    return this.state.campaign?.why
  }

  /** The last campaign that this member lost. It is only written to the log and decides nothing. */
  get lostCampaign(): LostCampaign | undefined {
    return this.state.lostCampaign
  }

  get commit(): number {
    return this.state.commit
  }

  /** The index of the first entry in memory, or of the next entry when there is none. */
  get firstIndex(): number {
    return this.state.log.firstIndex
  }

  get lastIndex(): number {
    return this.state.log.lastIndex
  }

  get membership(): Membership {
    return this.state.membership
  }

  /** The configuration in force at `index`. */
  membershipAt(index: number): Membership {
    return this.state.configs.at(index)
  }

  /** In ms, the time until the next tick that must not be late. */
  get untilTick(): number {
    return untilTick(this.state)
  }

  get transferring(): boolean {
    return this.state.leading?.transfer !== undefined
  }

  /**
   * True if this leader has asked another member to campaign in its term, and that member may still do so.
   */
  get toldHeir(): boolean {
    return this.state.leading?.toldHeir ?? false
  }

  /** What a leader knows of each other member. The list is empty on a member that does not lead. */
  get progress(): readonly Progress[] {
    return this.state.leading?.peers ?? []
  }

  /**
   * Returns the cluster time that a new entry would get now. A member that does not lead returns the last
   * known cluster time.
   */
  clusterTime(now: number): number {
    const { leading, log } = this.state
    return leading === undefined ? log.last.time : leading.clock.read(now)
  }

  entry(index: number): Entry {
    return this.state.log.entry(index)
  }

  /** The entries from `from` to `to`, both included. */
  entries(from: number, to: number): Entry[] {
    return this.state.log.slice(from, to)
  }

  /** Returns undefined for an index outside the log. */
  termAt(index: number): number | undefined {
    return this.state.log.termAt(index)
  }

  describe(): string {
    return describe(this.state)
  }
}
