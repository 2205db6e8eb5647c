// Driver: repairs a majority after the faults and demands progress. The other members may stay dead.
//
// Within 20 election timeouts there must be one leader whose members have the same committed log and state.
// Nothing may be pending, and a write and a read must succeed. Then the members must send no more messages
// than in an idle cluster, and cluster time must advance.

import type { MemberId, Membership } from '@latchkey/raft/core'
import type { HostProcess } from '@latchkey/raft/memory'
import { NoProgress } from '../laws/verdict.js'
import { isMajority, isQuorum } from '../laws/observed-cluster.js'
import type { RaftMember } from './raft-member.js'
import type { RaftWorld } from './raft-world.js'

const TIMEOUTS = 20
/** A member that makes progress may take this many times as long to get all entries. */
const LONGEST = 10

export async function demandProgress(world: RaftWorld): Promise<void> {
  const healed = heal(world)
  if (healed === undefined) return
  const { options } = world
  const timeout = options.member.electionTimeout * 1000
  // A disk error from before the repair may stop a member later, at its next write (seed 231669703). If its
  // machine loses power then, the other members keep the dead connection for this time (seed 383073059).
  const { silentDeath, pulse } = options.network
  const unnoticed = silentDeath ? pulse[1] : 0
  const patience =
    TIMEOUTS * timeout + 60 * options.network.base + 40 * options.disk.syncBase + DIAL + unnoticed
  // In a cluster of two, both members need an entry of the term before anything commits. A follower may get
  // one entry at a time (seed 1840841478).
  const doneBy = ({ view }: RaftMember) =>
    view === undefined ? 0 : view.applied + (view.role === 'leader' ? 0 : view.lastIndex)
  const doneAll = () => healed.reduce((sum, member) => sum + doneBy(member), 0)
  await waitFor(world, patience, () => unsettled(world, healed), doneAll)
  const isVoter = ({ id, raft }: RaftMember) =>
    raft !== undefined && world.leader()?.view?.membership.voters.includes(id)
  const isWritten = askUntilDone(world, 'write', () => world.leader())
  const isRead = askUntilDone(world, 'read', () => healed.findLast(isVoter))
  await waitFor(world, patience, () => {
    const [written, read] = [isWritten(), isRead()]
    if (!written) return 'a write of a healed cluster'
    return read ? undefined : 'a read of a healed cluster'
  })
  await waitFor(world, 4 * timeout + unnoticed, () => unsettled(world, healed))
  await demandQuiet(world, world.leader() as RaftMember)
}

/**
 * Repeats the call after a refusal and after the death of the process that got the call (seed 1487072516). A
 * living process that does not answer is a failure.
 */
function askUntilDone(
  { clients }: RaftWorld,
  kind: 'write' | 'read',
  where: () => RaftMember | undefined,
): () => boolean {
  let call: number | undefined
  let life: HostProcess | undefined
  return () => {
    const answer = call === undefined ? undefined : clients.answers.get(call)
    if (answer?.type === 'done') return true
    if (call !== undefined && answer === undefined && life?.dead === false) return false
    const member = where()
    life = member?.host.life
    call = member && clients.ask(member, kind, 0)
    return false
  }
}

/** In µs. Within this time two members connect again after they gave up their connection. */
const DIAL = 200_000

/**
 * A member that lacks many entries may take longer as long as it makes progress. An election or a commit may
 * not.
 */
async function waitFor(
  world: RaftWorld,
  patience: number,
  missing: () => string | undefined,
  doneAll: () => number = () => 0,
): Promise<void> {
  const { time, options } = world
  const step = (options.member.electionTimeout * 1000) / 4
  let deadline = time.now + patience
  const last = time.now + patience * LONGEST
  for (let done = doneAll(); ; ) {
    const what = missing()
    if (what === undefined) return
    const more = doneAll()
    if (more > done) deadline = Math.min(last, Math.max(deadline, time.now + patience / 4))
    done = more
    if (time.now >= deadline) throw new NoProgress('progress', what)
    await world.run(Math.min(deadline, time.now + step))
  }
}

/** Repairs a majority or all members. Returns undefined if the remaining members cannot form a majority. */
function heal(world: RaftWorld): readonly RaftMember[] | undefined {
  world.calm()
  const keep = chooseMajority(world)
  for (const member of world.members) {
    member.heal()
    if (keep === undefined || keep.includes(member.id)) member.boot()
    else world.crash(member, true)
  }
  return keep === undefined ? allThatCan(world) : world.members.filter(({ id }) => keep.includes(id))
}

/** Chooses a majority, if all members agree on the membership. The other members die for good. */
function chooseMajority({ members, options, random, laws }: RaftWorld): readonly MemberId[] | undefined {
  const views = members.map(({ view }) => view?.membership)
  const [membership] = views
  const chance = random.fork('majority')
  if (membership === undefined || new Set(views.map((one) => JSON.stringify(one?.voters))).size !== 1)
    return undefined
  if (membership.outgoing.length > 0 || membership.learners.length > 0 || chance.chance(0.5)) return undefined
  if (options.members < 3) return undefined
  // A configuration in the log of a single member could become valid again.
  const all = [...laws.observed.members.values()].map(({ live }) => live.membership)
  const keep = [...membership.voters]
  while (keep.length > membership.voters.length / 2 + 1) keep.splice(chance.between(0, keep.length), 1)
  const has = (id: MemberId) => keep.includes(id)
  return all.every((other) => other.voters.length === 0 || isQuorum(other, has)) ? keep : undefined
}

/**
 * Repairs every member that can work. The leader's configuration says which members must agree, so
 * `unsettled` checks this later.
 */
function allThatCan({ members, laws }: RaftWorld): readonly RaftMember[] | undefined {
  const whole = members.filter(({ ruined, rotten }) => !ruined && !rotten)
  const has = (id: MemberId) => whole.some((member) => member.id === id)
  const possible = ({ voters, outgoing }: Membership) =>
    voters.length === 0 || (isMajority(voters, has) && (outgoing.length === 0 || isMajority(outgoing, has)))
  for (const { live, disk } of laws.observed.members.values()) {
    if (!possible(live.membership) || !possible(disk.membership)) return undefined
  }
  return whole
}

function unsettled(world: RaftWorld, healed: readonly RaftMember[]): string | undefined {
  const leader = world.leader()
  const view = leader?.view
  if (leader === undefined || view === undefined) return 'nobody leads'
  const { membership } = view
  if (membership.outgoing.length > 0) return `${leader.id} leads a joint configuration`
  if (view.commit !== view.lastIndex) return `${leader.id} has committed ${view.commit} of ${view.lastIndex}`
  if (view.pending !== undefined) return `${leader.id} has pending: ${view.pending}`
  // A member that stays dead cannot receive its snapshot (seed 2007222679).
  const receiver = healed.find(({ id }) => view.snapshotReceivers.includes(id))
  if (receiver !== undefined) return `${leader.id} has a snapshot to send to ${receiver.id}`
  const agreed = [...membership.voters, ...membership.learners]
  for (const member of healed) {
    const other = member.view
    if (member === leader || !agreed.includes(member.id)) continue
    if (other === undefined) return `${member.id} is down`
    if (other.term !== view.term || other.leader !== leader.id)
      return `${member.id} does not follow ${leader.id}`
    if (other.applied !== view.applied) return `${member.id} has applied ${other.applied} of ${view.applied}`
    if (other.stateHash !== view.stateHash) return `${member.id} holds another state than ${leader.id}`
    if (other.pending !== undefined) return `${member.id} has pending: ${other.pending}`
  }
  return undefined
}

/** An idle cluster sends only heartbeats: no storm of messages, no election, and cluster time advances. */
async function demandQuiet(world: RaftWorld, leader: RaftMember): Promise<void> {
  const { electionTimeout, heartbeat } = world.options.member
  const { sent } = world
  world.time.print.add(leader.view?.commit ?? 0)
  const { term, clusterTime } = leader.view ?? { term: 0, clusterTime: 0 }
  const span = 4 * electionTimeout
  await world.run(world.time.now + span * 1000)
  const beats = world.members.length * 2 * (span / heartbeat + 2)
  const count = world.sent - sent
  if (count > beats * 2)
    throw new NoProgress('quiet', `${count} messages of an idle cluster in ${span} ms, not ${beats}`)
  if (leader.view?.role !== 'leader' || leader.view.term !== term) {
    throw new NoProgress('quiet', `${leader.id} lost its lead of term ${term} in a healed cluster`)
  }
  const passed = (leader.view?.clusterTime ?? 0) - clusterTime
  if (passed < span / 2)
    throw new NoProgress('cluster-time', `cluster time went on by ${passed} of ${span} ms`)
}
