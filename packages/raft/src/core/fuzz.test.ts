// Test: small groups of members under random faults: lost, doubled and late messages, slow syncs, crashes,
// partitions, compaction, snapshots, membership changes, transfers, reads. Each call checks the laws. At the
// end, the group must have one leader and equal logs.

import { type Random, seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { membersOf } from './membership.js'
import type { Effect, MemberId, MembershipChange, Membership, Message } from './index.js'
import { type Member, ORIGIN, World, place } from './traces/group-of-cores.js'

const IDS = ['a', 'b', 'c', 'd', 'e']
const peer = (id: string) => ({ url: `ws://${id}`, incarnation: id })

interface Read {
  readonly at: number
}

class Fuzz {
  readonly random: Random
  readonly world: World
  readonly reads = new Map<string, Read>()
  cuts = new Set<string>()
  lives = 0
  contexts = 0
  served = 0
  counts = new Map<string, number>()
  loss = 0

  constructor(seed: number) {
    this.random = seededRandom(`fuzz/${seed}`)
    this.world = new World((id, effect) => this.told(id, effect))
    const lags = this.random.fork('lag').chance(0.5)
    const keptBytes = this.random.fork('kept').pick([0, 100, 256 * 1024])
    if (lags) this.world.applied = (raft, index) => this.lagging.push(() => raft.applied(index))
    const size = this.random.pick([1, 2, 3, 3, 3, 4, 5])
    const voters = IDS.slice(0, size)
    const membership: Membership = {
      voters,
      outgoing: [],
      learners: [],
      learnersNext: [],
      peers: Object.fromEntries(voters.map((id) => [id, peer(id)])),
    }
    const nobody: Membership = { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} }
    for (const id of IDS) {
      const known = voters.includes(id) ? membership : nobody
      this.world.add(
        {
          id,
          group: 1,
          electionTimeout: 200,
          heartbeat: 40,
          random: this.random.fork(`${id}/0`),
          maxInflight: 3,
          maxAppendBytes: 120,
          keptBytes,
          preVote: !this.random.chance(0.1),
        },
        { hardState: { term: 0, vote: undefined }, start: ORIGIN, membership: known, entries: [] },
        { position: ORIGIN, membership: known },
      )
    }
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  told(id: MemberId, effect: Effect): void {
    this.count(effect.type)
    const member = this.world.member(id)
    if (effect.type === 'read') {
      const read = this.reads.get(`${id}/${effect.context}`)
      if (read === undefined) throw new Error('a read is answered twice, or was never asked')
      this.reads.delete(`${id}/${effect.context}`)
      if (effect.index === undefined) return
      this.served++
      if (effect.index < read.at)
        throw new Error(`a read at ${effect.index} misses what was committed at ${read.at}`)
    } else if (effect.type === 'readSnapshot') {
      this.later.push(() => this.piece(member, effect))
    } else if (effect.type === 'stageSnapshot' && effect.done) {
      const { raft } = member
      this.later.push(() => {
        if (member.raft !== raft || raft?.state.staging?.installing !== true) return
        if (this.random.chance(0.1)) return this.world.call(id, (raft, now) => raft.snapshotFailed(id, now))
        const { position, membership } = effect
        member.machine = { position, membership }
        member.rebuild = false
        if (this.random.chance(0.1)) return this.world.crash(id)
        this.world.call(id, (raft, now) => raft.snapshotInstalled(position, membership, now))
      })
    } else if (effect.type === 'rolledBack') throw new Error('nobody lost a disk')
  }

  later: (() => void)[] = []
  /** State machines tell their cores late what they have applied. */
  lagging: (() => unknown)[] = []

  /** L23: what a member removes from its memory meanwhile is on the disks of all members. */
  checkRemovals(run: () => void): void {
    const rafts = [...this.world.members.values()].flatMap(({ raft }) => raft ?? [])
    const firsts = new Map(rafts.map((raft) => [raft, raft.firstIndex]))
    run()
    for (const { id, raft } of this.world.members.values()) {
      const before = raft === undefined ? undefined : firsts.get(raft)
      if (raft === undefined || before === undefined || raft.firstIndex === before) continue
      this.count('early')
      for (const other of membersOf(raft.membership)) {
        const { machine, image } = this.world.member(other)
        const last = Math.max(machine.position.index, image.entries.at(-1)?.index ?? image.start.index)
        if (last < raft.firstIndex - 1)
          throw new Error(`${id} removes entries up to ${raft.firstIndex - 1}, ${other} has ${last} (L23)`)
      }
    }
  }

  piece(member: Member, ask: Extract<Effect, { type: 'readSnapshot' }>): void {
    const { position, membership } = member.machine
    if (this.random.chance(0.05))
      return this.world.call(member.id, (raft, now) => raft.snapshotFailed(ask.to, now))
    const at = ask.position ?? position
    const offset = ask.position === undefined ? 0 : ask.offset
    const chunk = new Uint8Array(offset < 30 ? 10 : 0)
    const done = offset >= 30
    const known = ask.position === undefined || ask.position.index === position.index
    const members = known ? membership : (member.raft?.membershipAt(at.index) as Membership)
    this.world.call(member.id, (raft, now) =>
      raft.snapshotChunk({ to: ask.to, position: place(at), membership: members, offset, chunk, done }, now),
    )
  }

  tick(ms: number): void {
    for (const member of this.world.members.values()) {
      member.now += ms
      this.world.call(member.id, (raft, now) => raft.tick(now))
    }
  }

  deliver(): void {
    const { network } = this.world
    if (network.length === 0) return
    const at = this.random.chance(0.8) ? 0 : this.random.between(0, network.length)
    const [message] = network.splice(at, 1) as [Message]
    if (this.random.chance(this.loss / 2)) network.push(message)
    if (this.random.chance(this.loss) || this.cuts.has(`${message.from}>${message.to}`)) return
    this.world.call(message.to, (raft, now) => raft.step(structuredClone(message), now))
  }

  anyone(): Member {
    return this.random.pick([...this.world.members.values()])
  }

  leader(): Member | undefined {
    return [...this.world.members.values()].find((member) => member.raft?.role === 'leader')
  }

  act(): void {
    const { random, world } = this
    const dice = random.between(0, 1000)
    const one = this.anyone()
    if (dice < 420) this.checkRemovals(() => this.deliver())
    else if (dice < 650) world.sync(one.id, random.chance(0.5) ? undefined : (one.writes[0]?.id ?? 0))
    else if (dice < 760) this.tick(random.between(1, 12))
    else if (dice < 780) this.checkRemovals(() => this.lagging.splice(0).forEach((run) => run()))
    else if (dice < 860) this.propose()
    else if (dice < 900) this.read(one)
    else if (dice < 915) this.later.splice(0).forEach((run) => run())
    else if (dice < 930) this.compact(one)
    else if (dice < 940) this.crash(one)
    else if (dice < 955) this.cut()
    else if (dice < 975) this.change()
    else if (dice < 980) world.call(one.id, (raft, now) => raft.transfer(undefined, now))
    else if (dice < 985) world.call(one.id, (raft, now) => raft.unreachable(this.anyone().id, now))
    else if (dice < 990) this.gone(one)
    else if (dice < 992) one.now += 1500
    else this.restart()
  }

  propose(): void {
    const leader = this.leader()
    if (leader === undefined) return
    const data = new Uint8Array(this.random.between(1, 60)).fill(this.random.between(0, 256))
    this.world.call(leader.id, (raft, now) => {
      const proposal = raft.propose('commands', data, now)
      return proposal.ok ? proposal.effects : []
    })
  }

  read(one: Member): void {
    if (one.raft === undefined) return
    const context = ++this.contexts
    const known = [...this.world.members.values()].map((member) => member.raft?.commit ?? 0)
    this.reads.set(`${one.id}/${context}`, { at: Math.max(this.world.committedTo, ...known) })
    this.world.call(one.id, (raft, now) => raft.read(context, now))
  }

  compact(one: Member): void {
    const { raft } = one
    if (raft === undefined || raft.state.rebuilding) return
    const to = raft.state.applied - this.random.between(0, 4)
    if (to >= raft.firstIndex) this.world.compact(one.id, to)
  }

  crash(one: Member): void {
    if (one.raft === undefined) return
    this.world.crash(one.id, this.random.between(0, one.writes.length + 1))
    this.forgetReads(one.id)
  }

  forgetReads(id: MemberId): void {
    for (const key of this.reads.keys()) if (key.startsWith(`${id}/`)) this.reads.delete(key)
  }

  restart(): void {
    for (const member of this.world.members.values()) {
      if (member.raft !== undefined) continue
      this.forgetReads(member.id)
      // At most one member loses its state: when all members that could lead have lost theirs, nobody can
      // send a snapshot.
      const others = [...this.world.members.values()].some((other) => other.rebuild)
      const hasState = member.machine.position.index > 0
      if (!others && hasState && this.random.chance(0.1)) member.rebuild = true
      this.world.start(member, this.random.fork(`${member.id}/${++this.lives}`))
    }
  }

  cut(): void {
    const one = this.anyone().id
    const other = this.anyone().id
    if (this.random.chance(0.5)) this.cuts.clear()
    this.cuts.add(`${one}>${other}`)
    if (this.random.chance(0.5)) this.cuts.add(`${other}>${one}`)
  }

  gone(one: Member): void {
    const { raft } = one
    if (raft?.leader !== undefined) {
      const { leader, term } = raft
      this.world.call(one.id, (raft, now) => raft.leaderGone(leader, term, now))
    }
  }

  change(): void {
    const leader = this.leader()
    if (leader === undefined) return
    const id = this.random.pick(IDS)
    const change: MembershipChange = this.random.pick([
      { type: 'add-learner', id, peer: peer(id) },
      { type: 'promote', id },
      { type: 'promote', id },
      { type: 'remove', id },
      this.replacement(),
    ])
    this.world.call(leader.id, (raft, now) => {
      const proposal = raft.proposeChange(change, now)
      if (proposal.ok) this.count(change.type)
      return proposal.ok ? proposal.effects : []
    })
  }

  replacement(): MembershipChange {
    const ids = IDS.filter(() => this.random.chance(0.7))
    const split = this.random.between(1, 4)
    const voters = ids.slice(0, split)
    return {
      type: 'replace',
      voters,
      learners: ids.slice(split),
      peers: Object.fromEntries(ids.map((id) => [id, peer(id)])),
    }
  }

  /**
   * Ends all faults, and demands one leader, and that each member which the leader counts holds all entries.
   */
  heal(): void {
    this.cuts.clear()
    this.loss = 0
    this.restart()
    for (let round = 0; round < 2000; round++) {
      this.tick(10)
      for (const member of this.world.members.values()) if (member.raft === undefined) this.restart()
      for (let i = 0; i < 400 && this.busy(); i++) {
        for (const id of IDS) this.world.sync(id)
        this.later.splice(0).forEach((run) => run())
        this.lagging.splice(0).forEach((run) => run())
        const message = this.world.network.shift()
        if (message !== undefined) this.world.call(message.to, (raft, now) => raft.step(message, now))
      }
      if (round === 500) this.propose()
      if (round > 700 && round % 50 === 0 && this.atRest()) return
    }
    throw new Error(
      `not at rest:\n${[...this.world.members.values()].map((m) => m.raft?.describe()).join('\n')}`,
    )
  }

  busy(): boolean {
    return (
      this.world.network.length > 0 ||
      this.later.length > 0 ||
      IDS.some((id) => this.world.member(id).writes.length > 0)
    )
  }

  /**
   * The leader has lost its state, and no other voter's state reaches up to the leader's log: an operator has
   * to restore a backup.
   */
  isBeyondHelp({ id, raft }: Member, voters: readonly MemberId[]): boolean {
    const start = (raft?.firstIndex ?? 1) - 1
    return voters.every((one) => one === id || this.world.member(one).machine.position.index < start)
  }

  atRest(): boolean {
    const leaders = [...this.world.members.values()].filter((member) => member.raft?.role === 'leader')
    const [leader] = leaders
    if (leader?.raft === undefined || leaders.length !== 1) return false
    const { voters, outgoing, learners } = leader.raft.membership
    if (leader.rebuild && this.isBeyondHelp(leader, voters)) return true
    const all = [...voters, ...learners].every((id) => {
      const member = this.world.member(id)
      return member.machine.position.index === leader.raft?.lastIndex
    })
    return all && outgoing.length === 0 && leader.raft.commit === leader.raft.lastIndex
  }
}

const seeds = Number(process.env.LATCHKEY_FUZZ_SEEDS ?? 40)
const first = Number(process.env.LATCHKEY_FUZZ_FIRST ?? 1)

test(`${seeds} groups keep the laws and come to rest`, () => {
  const totals = new Map<string, number>()
  let served = 0
  for (let seed = first; seed < first + seeds; seed++) {
    const fuzz = new Fuzz(seed)
    try {
      for (let i = 0; i < 3000; i++) {
        if (i % 500 === 0) fuzz.loss = fuzz.random.pick([0, 0.02, 0.2])
        fuzz.act()
      }
      fuzz.heal()
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    }
    served += fuzz.served
    for (const [what, count] of fuzz.counts) totals.set(what, (totals.get(what) ?? 0) + count)
  }
  // Each of these events must have happened in some run, or the test proves less than its title says.
  const wanted = [
    'send',
    'persist',
    'commit',
    'role',
    'membership',
    'readSnapshot',
    'stageSnapshot',
    'promote',
    'replace',
    'early',
  ]
  for (const what of wanted) expect(totals.get(what), what).toBeGreaterThan(0)
  expect(served).toBeGreaterThan(0)
  if (process.env.LATCHKEY_FUZZ_SEEDS !== undefined) console.log(Object.fromEntries(totals), { served })
}, 600_000)
