// Driver: a member made of the real core, a journal and a snapshot on the simulated disk, and a few
// registers. No promise, no timer of its own.
//
// Laws
//   - effects are carried out in order; a process that dies in the middle does nothing more
//   - what a client is answered was applied here, at the index and term at which its request was proposed
//     here
//   - nothing is applied while a snapshot is being installed (S3)

import type {
  Effect,
  Entry,
  MemberId,
  Membership,
  MembershipChange,
  Message,
  Raft,
  RaftOptions,
} from '@latchkey/raft/core'
import type { MemberOptions } from '../swarm/options.js'
import type { CoreModule } from './core-module.js'
import { EventLog, type JournalState } from './journal.js'
import type { MemberParts } from './parts.js'
import type { Host, MemberView, Request, SimMember } from './port.js'
import { Proposals } from './proposals.js'
import { Reads } from './reads.js'
import { Registers } from './registers.js'
import { Snapshots } from './snapshots.js'
import type { Snapshot } from './snapshot-file.js'

export interface Started {
  readonly journal: JournalState
  readonly snapshot: Snapshot | undefined
}

export class CoreMember implements SimMember, MemberParts {
  readonly host: Host
  readonly core: CoreModule
  readonly options: MemberOptions
  readonly raft: Raft
  readonly journal: EventLog
  readonly machine = new Registers()
  readonly #proposals: Proposals
  readonly #reads: Reads
  readonly #snapshots: Snapshots
  applied: number
  /** As of the applied index. */
  membership: Membership
  #committed: number
  #applyDue = false
  readonly view: MemberView

  constructor(host: Host, core: CoreModule, options: MemberOptions, started: Started, now: number) {
    this.host = host
    this.core = core
    this.options = options
    const { journal, snapshot } = started
    this.applied = snapshot?.position.index ?? 0
    this.membership = snapshot?.membership ?? journal.membership
    this.#committed = this.applied
    if (snapshot !== undefined) this.machine.load(snapshot.state)
    this.journal = new EventLog(host.disk, journal, {
      durable: (batch) => {
        host.watcher.durable(host.id, batch)
        host.enter((at) => this.#step(this.raft.persisted(batch.id, at)))
      },
      failed: () => host.stop('a sync failed'),
    })
    this.raft = new core.Raft(raftOptions(host, options), raftBoot(started, this.applied), now)
    this.#proposals = new Proposals(this)
    this.#reads = new Reads(this)
    this.#snapshots = new Snapshots(this, snapshot, (effects) => this.#step(effects))
    this.view = viewOf(this, this.#snapshots)
  }

  message(message: Message, now: number): void {
    this.#step(this.raft.step(message, now))
  }

  tick(now: number): void {
    this.#step(this.raft.tick(now))
    this.#reads.dropOld(now)
    if (this.host.alive()) this.#snapshots.maybeCompact()
  }

  request(request: Request, now: number): void {
    if (request.kind === 'read') this.#step(this.#reads.start(request, now))
    else {
      this.#proposals.add(request)
      this.#step(this.#proposals.propose(now))
    }
  }

  peerGone(id: MemberId, now: number): void {
    this.#step(this.raft.leaderGone(id, this.raft.term, now))
  }

  transfer(to: MemberId, now: number): boolean {
    if (this.raft.role !== 'leader') return false
    this.#step(this.raft.transfer(to, now))
    return true
  }

  change(change: MembershipChange, now: number): boolean {
    const proposal = this.raft.proposeChange(change, now)
    if (proposal.ok) this.#step(proposal.effects)
    return proposal.ok
  }

  compact(): void {
    this.#snapshots.compact()
  }

  // ---- effects

  #step(effects: readonly Effect[]): void {
    const { host, raft } = this
    if (!host.alive()) return
    // A leader's commit index never rests on entries of this very step; a follower's may.
    if (raft.role === 'leader') host.watcher.decided(host.id, raft.commit)
    this.#run(effects)
    if (!host.alive()) return
    host.watcher.decided(host.id, raft.commit)
    host.watcher.settled(host.id)
    this.core.check?.(raft)
    if (this.host.alive()) this.#pump()
  }

  #run(effects: readonly Effect[]): void {
    for (const effect of effects) {
      this.#perform(effect)
      if (!this.host.alive()) return
    }
  }

  #perform(effect: Effect): void {
    const { host } = this
    switch (effect.type) {
      case 'send':
        return host.send(effect.message)
      case 'persist':
        host.watcher.persisting(host.id, effect.batch, host.readingAt())
        return this.journal.persist(effect.batch)
      case 'commit':
        host.watcher.committed(host.id, effect.from, effect.to)
        this.#committed = effect.to
        return
      case 'read':
        return this.#reads.confirmed(effect.context, effect.index, effect.time)
      case 'role':
        host.watcher.role(host.id, effect.role, effect.term)
        return this.#proposals.role(effect.role)
      case 'membership':
        return host.watcher.membership(host.id, effect.membership)
      case 'readSnapshot':
        return this.#snapshots.read(effect.to, effect.offset, effect.position)
      case 'endSnapshot':
        return this.#snapshots.endFor(effect.to)
      case 'stageSnapshot':
        return this.#snapshots.stage(effect)
      case 'rolledBack':
        return host.watcher.accused(effect.id, effect.acknowledged, effect.holds)
    }
  }

  // ---- apply

  /** What can go on after this event: apply what is committed, propose what has gathered. */
  #pump(): void {
    const { applyDelay } = this.options
    if (applyDelay === 0) this.#applyAll()
    else if (this.applied < this.#committed && !this.#applyDue) {
      this.#applyDue = true
      this.host.after(this.host.random.between(1, applyDelay), () => {
        this.#applyDue = false
        this.#applyAll()
      })
    }
    if (this.#proposals.ready) this.#step(this.#proposals.propose(this.host.now()))
  }

  #applyAll(): void {
    const before = this.applied
    while (this.host.alive() && !this.#snapshots.installing && this.applied < this.#committed) {
      this.#applyOne(this.raft.entry(this.applied + 1))
    }
    if (!this.host.alive() || this.applied === before) return
    this.#run(this.raft.applied(this.applied))
    if (this.host.alive()) this.#reads.serve()
  }

  #applyOne(entry: Entry): void {
    const results = this.machine.apply(entry)
    if (entry.kind === 'members') this.membership = this.core.decodeMembership(entry.data) ?? this.membership
    this.applied = entry.index
    this.#snapshots.noteApplied(entry, this.membership)
    this.host.watcher.applied(this.host.id, entry.index, this.machine.hash)
    this.#proposals.applied(entry, results)
  }

  /** A snapshot is in use: the state is now that one. */
  installed({ position, membership, state }: Snapshot): void {
    this.machine.load(state)
    this.applied = position.index
    this.membership = membership
    this.#committed = Math.max(this.#committed, position.index)
    this.host.watcher.installed(this.host.id, position, membership, this.machine.hash)
    this.#proposals.overtaken(position.index)
    this.#reads.serve()
  }

  get pending(): string | undefined {
    if (!this.journal.idle) return 'a write'
    const proposal = this.#proposals.pending
    if (proposal !== undefined) return proposal
    return this.applied === this.raft.commit ? undefined : `entries to apply up to ${this.raft.commit}`
  }
}

const raftOptions = (host: Host, options: MemberOptions): RaftOptions => ({
  id: host.id,
  group: 1,
  electionTimeout: options.electionTimeout,
  heartbeat: options.heartbeat,
  random: host.random,
  maxInflight: options.maxInflight,
  maxAppendBytes: options.maxAppendBytes,
})

const raftBoot = ({ journal }: Started, applied: number) => ({
  hardState: journal.hard,
  entries: journal.entries,
  start: journal.base,
  membership: journal.membership,
  applied,
})

function viewOf(member: CoreMember, snapshots: Snapshots): MemberView {
  const { raft } = member
  return {
    get term() {
      return raft.term
    },
    get role() {
      return raft.role
    },
    get leader() {
      return raft.leader
    },
    get commit() {
      return raft.commit
    },
    get applied() {
      return member.applied
    },
    get lastIndex() {
      return raft.lastIndex
    },
    get clusterTime() {
      return raft.clusterTime(member.host.now())
    },
    get membership() {
      return raft.membership
    },
    get stateHash() {
      return member.machine.hash
    },
    describe: () => raft.describe(),
    get pending() {
      return member.pending ?? snapshots.pending ?? (raft.transferring ? 'a transfer' : undefined)
    },
  }
}
