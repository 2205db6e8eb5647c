// Driver: the loop around the core. Each event (a message, a tick, a durable batch, a request) is one call of
// the core, whose effects are carried out in order. The loop never waits, and the core makes all decisions.
// long: one loop; each event and each effect of the core is one short method
//
// Laws
//   N1  One event is one call of the core, and the effects of the call are carried out before the next event.
//       Between the call and its effects there is no await, so no other event can change the core's state.
//   N2  A tick is handled after the messages that arrived before it. So after a pause of the process, a
//       follower first reads its leader's heartbeats, and starts no needless election (T2).
//   N3  Commands that arrive while the log is being written share the next entry (proposer.ts).
//   N4  Callers get the results of their commands in the order of the log (L16).
//   N5  An error of the disk or of the state machine stops the whole member.

import { lastOf, Emitter } from '@latchkey/base'
import { CAPS, LatchkeyError } from '@latchkey/protocol'
import type { Effect, Entry, MemberId, MembershipChange, Message, Role } from '../core/index.js'
import { type Proposal, Raft } from '../core/index.js'
import { CommitAnnouncer } from './commit-announcer.js'
import { Applier } from './applier.js'
import { Compaction } from './log-compaction.js'
import { EffectQueue } from './effect-queue.js'
import { LogWriter } from './log-writer.js'
import type { Applied, AppliedState } from './state-machine-interface.js'
import type { NodeBoot, NodeEvents, NodeOptions, NodePorts } from './node-types.js'
import type { Done, LogRecord } from './callers-waiting-for-entries.js'
import { NodeCounters } from './node-counters.js'
import { Proposer } from './proposer.js'
import { type ReadDone, Reads } from './linearizable-reads.js'
import { Snapshots } from './snapshot-effects.js'
import { Ticker } from './tick-timer.js'

export class RaftNode extends Emitter<NodeEvents> {
  readonly options: NodeOptions
  readonly raft: Raft
  readonly counters = new NodeCounters()
  readonly #ports: NodePorts
  readonly #proposer: Proposer
  readonly #reads = new Reads()
  readonly #applier: Applier
  readonly #writer: LogWriter
  readonly #snapshots: Snapshots
  readonly #compaction: Compaction
  readonly #announcer: CommitAnnouncer
  readonly #ticker: Ticker
  /**
   * In ms, the longest time between two ticks. Compaction and other work that is not urgent waits for a tick.
   */
  readonly #longestTick: number
  #turnDue = false
  readonly #effects = new EffectQueue((effect) => this.#perform(effect))
  #closed: LatchkeyError | undefined
  #rebuilding: boolean

  constructor(options: NodeOptions, ports: NodePorts, boot: NodeBoot) {
    super()
    this.options = options
    this.#ports = ports
    this.#rebuilding = boot.rebuilding
    this.#longestTick = Math.min(options.heartbeat, options.electionTimeout / 10)
    this.#ticker = new Ticker(
      ports.clock,
      () => ports.defer(() => this.#guarded(this.#tick)),
      (ms) => this.counters.tickDelay.observe(ms / 1000),
    )
    this.raft = new Raft(
      {
        id: options.id,
        group: options.group,
        electionTimeout: options.electionTimeout,
        heartbeat: options.heartbeat,
        random: ports.random,
        maxUncommittedBytes: options.maxInFlightBytes,
        ...options.limits,
      },
      boot.raft,
      ports.clock.now(),
    )
    this.#proposer = this.#makeProposer()
    this.#applier = this.#makeApplier(boot.applied)
    this.#writer = this.#makeWriter()
    this.#snapshots = this.#makeSnapshots()
    this.#compaction = this.#makeCompaction()
    this.#announcer = new CommitAnnouncer(ports.clock, (index) =>
      this.#step((raft, now) => raft.announce(index, now)),
    )
    this.#compaction.written({ restartAfter: undefined, entries: boot.raft.entries })
    if (boot.rebuilding) this.#applier.pause(() => {})
  }

  #makeApplier(state: AppliedState): Applier {
    return new Applier(
      {
        machine: this.#ports.machine,
        entry: (index) => this.raft.entry(index),
        applied: (entries, results) => this.#onApplied(entries, results),
        failed: (error) => this.fail('apply', error),
      },
      state,
    )
  }

  #makeProposer(): Proposer {
    return new Proposer({
      raft: this.raft,
      caps: { entryBytes: CAPS.entryBytes, gatheredBytes: this.options.maxInFlightBytes },
      idle: () => this.#writer.idle,
      now: () => this.#now(),
      run: (effects) => this.#run(effects),
      counters: this.counters,
    })
  }

  #makeWriter(): LogWriter {
    return new LogWriter(
      this.#ports.log,
      (batchId) => {
        this.#ports.observer?.durable(batchId)
        this.#step((raft, now) => raft.persisted(batchId, now))
        if (this.#proposer.gathered > 0) this.#soon()
      },
      (error) => this.fail('the log', error),
      { now: () => this.#now(), took: (ms) => this.counters.logSync.observe(ms / 1000) },
    )
  }

  #makeSnapshots(): Snapshots {
    return new Snapshots({
      id: this.options.id,
      machine: this.#ports.machine,
      logger: this.#ports.logger,
      pieceBytes: CAPS.frameBytes,
      sending: () => void this.counters.snapshotsSent++,
      step: (event) => this.#step(event),
      receive: (message, incarnation) => this.receive(message, incarnation),
      pause: (then) => this.#applier.pause(then),
      resume: () => {
        if (!this.#rebuilding) this.#applier.resume()
      },
      installed: (state) => this.#onInstalled(state),
    })
  }

  #makeCompaction(): Compaction {
    const { raft } = this
    return new Compaction(
      {
        firstIndex: () => raft.firstIndex,
        lastIndex: () => raft.lastIndex,
        entry: (index) => raft.entry(index),
        durable: () => Math.min(this.#ports.machine.durable().index, this.#applier.position.index),
        oldestSending: () => this.#snapshots.oldest(),
        drop: (index) => {
          this.#step((core) => core.compact(index))
          this.#ports.log.compact(index)
        },
      },
      this.options.snapshot,
    )
  }

  start(): void {
    this.#ticker.within(this.#untilTick())
    this.emit('peers', this.raft.membership)
  }

  // ---- Events and requests

  /**
   * `incarnation` is the random id of the sender's data directory, which the sender has told in its
   * handshake.
   */
  receive(message: Message, incarnation?: string): void {
    if (this.#snapshots.holds(message, incarnation)) return
    this.#step((raft, now) => raft.step(message, now, incarnation))
  }

  leaderGone(id: MemberId): void {
    this.#step((raft, now) => raft.leaderGone(id, raft.term, now))
    this.#ticker.within(this.raft.untilTick)
  }

  unreachable(id: MemberId): void {
    this.#step((raft, now) => raft.unreachable(id, now))
  }

  /**
   * If `alone` is true, the command shares its entry with no other command. `done` is called with the outcome
   * and with `ticket`, a number that the caller chooses.
   */
  submit(record: LogRecord, done: Done, alone = false, ticket = 0): void {
    const reason = this.#closed === undefined ? this.#proposer.add(record, done, alone, ticket) : 'closed'
    if (reason !== undefined) {
      this.counters.refused++
      return done({ type: 'refused', reason }, ticket)
    }
    this.#soon()
  }

  /**
   * Calls `done` once this member has applied everything that was committed before this call. If no leader
   * confirms the read, calls `done` with `ok: false`.
   */
  read(done: ReadDone): void {
    if (this.#closed !== undefined || this.#rebuilding) return done({ ok: false })
    this.#reads.add(done)
    this.#soon()
  }

  /**
   * Called when it is clear that this member did not lose its disk (wiped-member-check.ts). From now on this
   * member may vote.
   */
  allowVoting(): void {
    this.#step((raft, now) => raft.allowVoting(now))
    this.#ticker.within(this.raft.untilTick)
  }

  proposeChange(change: MembershipChange): Proposal {
    if (this.#closed !== undefined) return { ok: false, reason: 'not-leader' }
    const proposal = this.raft.proposeChange(change, this.#now())
    if (proposal.ok) this.#run(proposal.effects)
    return proposal
  }

  transfer(to: MemberId | undefined): void {
    this.#step((raft, now) => raft.transfer(to, now))
  }

  /**
   * Removes the entries of the log that the state machine has applied durably. The newest entries stay, up to
   * `keepEntries` entries and `keepBytes` bytes.
   */
  compact(keepEntries: number, keepBytes: number): void {
    if (this.#closed !== undefined) return
    this.#compaction.run(keepEntries, keepBytes)
  }

  // ---- The current state

  /** Why the node has stopped: ERR_CLOSED, or an error. Undefined while the node runs. */
  get failure(): LatchkeyError | undefined {
    return this.#closed
  }

  get role(): Role {
    return this.raft.role
  }

  /** How many entries of this member's callers wait to be proposed or applied. */
  get pending(): number {
    return this.#proposer.pending
  }

  /** How many entries the log on the disk has. */
  get logEntries(): number {
    return this.#compaction.entries
  }

  get applied(): AppliedState {
    return this.#applier.state
  }

  get rebuilding(): boolean {
    return this.#rebuilding
  }

  clusterTime(): number {
    return this.raft.clusterTime(this.#now())
  }

  // ---- The loop

  #now(): number {
    return this.#ports.clock.now()
  }

  #untilTick(): number {
    return Math.min(this.#longestTick, this.raft.untilTick, this.#untilTickEntry())
  }

  #untilTickEntry(): number {
    return this.#proposer.untilTick(this.#now(), this.#applier.position.index, this.#nextDeadline)
  }

  readonly #nextDeadline = (): number | undefined => this.#ports.machine.nextDeadline()

  /**
   * An error in a part of the loop stops the member, and does not become an uncaught exception of the process
   * (N5).
   */
  #guarded(part: () => void): void {
    if (this.#closed !== undefined) return
    try {
      part()
    } catch (error) {
      this.fail('the loop', error)
    }
  }

  readonly #tick = (): void => {
    const now = this.#now()
    this.#step((raft) => raft.tick(now))
    this.#proposer.tick(now, this.#applier.position.index, this.#nextDeadline)
    this.#compaction.ifDue()
    this.#snapshots.tidy(this.raft.state.staging !== undefined)
    this.#applier.pump()
    // Commands wait during a leadership transfer. If this tick has ended a failed transfer, these commands
    // are proposed now.
    if (this.#proposer.gathered > 0) this.#soon()
    if (this.#closed === undefined) this.#ticker.within(this.#untilTick())
    this.emit('ticked', undefined)
  }

  #soon(): void {
    if (this.#turnDue || this.#closed !== undefined) return
    this.#turnDue = true
    this.#ports.defer(() => {
      this.#turnDue = false
      this.#guarded(this.#turn)
    })
  }

  readonly #turn = (): void => {
    this.#proposer.pump()
    if (this.#reads.gathered > 0) {
      const now = this.#now()
      const context = this.#reads.startRound()
      this.#step((raft) => raft.read(context, now))
    }
    this.#applier.pump()
    this.#reads.serve(this.#applier.position.index)
  }

  // ---- Effects

  #run(effects: readonly Effect[]): void {
    const { observer } = this.#ports
    try {
      observer?.called(this.raft, effects)
      this.#effects.run(effects)
      if (this.#closed === undefined && !this.#effects.isPerforming) observer?.settled(this.raft)
    } catch (error) {
      this.fail('the core', error)
    }
  }

  #step(event: (raft: Raft, now: number) => readonly Effect[]): void {
    if (this.#closed !== undefined) return
    try {
      this.#run(event(this.raft, this.#now()))
    } catch (error) {
      this.fail('the core', error)
    }
  }

  #perform(effect: Effect): void {
    this.#ports.observer?.effect(effect)
    switch (effect.type) {
      case 'send':
        return this.#ports.send(effect.message.to, effect.message)
      case 'persist':
        this.#compaction.written(effect.batch)
        return this.#writer.write(effect.batch)
      case 'commit':
        this.#applier.committed(effect.to)
        if (this.raft.role === 'leader') this.#announcer.committed(effect.to)
        return this.#soon()
      case 'read':
        this.#reads.confirm(effect.context, effect.index, effect.time)
        return this.#reads.serve(this.#applier.position.index)
      case 'role':
        return this.#onRole(effect)
      case 'membership':
        return this.emit('peers', effect.membership)
      case 'readSnapshot':
        return this.#snapshots.read(effect)
      case 'endSnapshot':
        return this.#snapshots.end(effect.to)
      case 'rolledBack':
        return this.#ports.logger.error(
          'a member lost what it had acknowledged: its disk was rolled back; rebuild or remove it',
          { ...effect },
        )
      case 'stageSnapshot':
        return this.#snapshots.stage(effect)
    }
  }

  #onRole({ role, term, leader }: { role: Role; term: number; leader: MemberId | undefined }): void {
    if (role !== 'leader') {
      this.#proposer.abandon('not-leader')
      this.#snapshots.endAll()
    }
    this.counters.role(role, term, leader, this.raft.electionReason)
    this.emit('role', { role, term, leader })
  }

  #onApplied(entries: readonly Entry[], results: readonly Applied[]): void {
    this.#proposer.applied(entries, results)
    const newest = lastOf(entries)
    this.#step((raft) => raft.applied(newest.index))
    if (newest.kind === 'members') this.emit('membership', this.#applier.state.membership)
    this.emit('applied', { index: newest.index, time: newest.time })
    this.#reads.serve(newest.index)
    this.#ticker.within(this.#untilTickEntry())
    if (this.#applier.behind) this.#soon()
  }

  #onInstalled(state: AppliedState): void {
    if (this.#closed !== undefined) return
    this.counters.snapshotsReceived++
    this.#rebuilding = false
    this.#applier.restart(state)
    this.#step((raft, now) => raft.snapshotInstalled(state.position, state.membership, now))
    this.emit('membership', state.membership)
    this.#reads.serve(state.position.index)
    this.#soon()
  }

  // ---- The stop

  fail(what: string, cause: unknown): void {
    if (this.#closed !== undefined) return
    const error =
      cause instanceof LatchkeyError
        ? cause
        : new LatchkeyError('ERR_STORAGE_FAILED', `${what} failed: ${String(cause)}`, { cause })
    this.#ports.logger.error('the member stops', { what, code: error.code, error: error.message })
    this.#stop(error)
    this.emit('failed', error)
  }

  #stop(error: LatchkeyError): void {
    this.#closed = error
    this.#effects.stop()
    this.#ticker.stop()
    this.#announcer.stop()
    this.#applier.stop()
    this.#proposer.abandon('closed')
    this.#reads.abandon()
    this.#snapshots.stop()
  }

  /**
   * Stops the loop and waits for the calls under way. This method does not transfer the leadership
   * (leadership-transfer-before-close.ts).
   */
  async close(): Promise<void> {
    if (this.#closed === undefined) this.#stop(new LatchkeyError('ERR_CLOSED'))
    await this.#snapshots.idle()
    await new Promise<void>((resolve) => this.#applier.whenIdle(resolve))
  }
}
