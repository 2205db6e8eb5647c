// Driver: after the faults: heals a majority and demands progress. The rest may stay dead for ever.
//
// Within 20 election timeouts there is one leader, its members hold the same committed log and state, nothing
// is pending, a write and a read succeed, and the traffic goes back to that of an idle cluster whose time
// goes on.

import type { MemberId, Membership } from '@latchkey/raft/core'
import { NoProgress } from '../laws/broken.js'
import { isMajority, isQuorum } from '../laws/ledger.js'
import type { ClientConnection } from '../world/seat.js'
import type { MemberView } from '../member/port.js'
import type { Simulation } from './simulation.js'

const TIMEOUTS = 20
/** How many times that a member may catch up that gets on all the while. */
const LONGEST = 10

export function demandProgress(simulation: Simulation): void {
  const core = heal(simulation)
  if (core === undefined) return
  const { world, options } = simulation
  const timeout = options.member.electionTimeout * 1000
  const deadline = world.now + TIMEOUTS * timeout + 60 * options.network.base + 40 * options.disk.syncBase
  // Of two members both have to have an entry of the term before anything commits: the one that is behind
  // gets on by its log alone (seed 1840841478, where it is sent one entry at a time).
  const doneBy = ({ applied, lastIndex, role }: MemberView) => applied + (role === 'leader' ? 0 : lastIndex)
  const doneAll = () =>
    core.reduce((sum, { member }) => sum + (member === undefined ? 0 : doneBy(member.view)), 0)
  waitFor(simulation, deadline, () => unsettled(simulation, core), doneAll)
  const leader = core.find(leads) as ClientConnection
  const write = simulation.clients.ask(leader, 'write', 0)
  const read = simulation.clients.ask(core[core.length - 1] as ClientConnection, 'read', 0)
  const open = () => [write, read].find((id) => simulation.clients.isPending(id))
  waitFor(simulation, world.now + 4 * timeout, () =>
    open() === undefined ? undefined : `call ${open()} of a healed cluster`,
  )
  waitFor(simulation, world.now + 4 * timeout, () => unsettled(simulation, core))
  demandQuiet(simulation, core)
}

const leads = (seat: ClientConnection): boolean => seat.member?.view.role === 'leader'

/** A member that lags far behind may take longer, as long as it gets on; to lead and to commit may not. */
function waitFor(
  { world, options }: Simulation,
  until: number,
  missing: () => string | undefined,
  doneAll: () => number = () => 0,
): void {
  const step = (options.member.electionTimeout * 1000) / 4
  const patience = until - world.now
  let deadline = until
  const last = world.now + patience * LONGEST
  for (let done = doneAll(); ; ) {
    const what = missing()
    if (what === undefined) return
    const more = doneAll()
    if (more > done) deadline = Math.min(last, Math.max(deadline, world.now + patience / 4))
    done = more
    if (world.now >= deadline) throw new NoProgress('progress', what)
    if (world.runUntil(Math.min(deadline, world.now + step), 400_000) === 'storm') {
      throw new NoProgress('storm', `a healed cluster does not come to rest; ${what}`)
    }
  }
}

/**
 * Everything works again, for a majority or for all. Undefined when the faults have left no majority that
 * could work.
 */
function heal(simulation: Simulation): readonly ClientConnection[] | undefined {
  const { world } = simulation
  world.network.heal()
  const tail = simulation.options.member.electionTimeout * 100
  const calm = world.network.options
  world.network.options = { ...calm, tail: Math.min(calm.tail, tail), base: Math.min(calm.base, tail) }
  const core = chooseCore(simulation)
  for (const seat of world.seats) {
    seat.disk.slowness = 1
    seat.disk.failing = false
    seat.disk.disarm()
    seat.wake()
    if (core === undefined || core.includes(seat.id)) world.start(seat)
    else world.crash(seat, 'power')
  }
  if (core === undefined) return waitForAll(simulation)
  return world.seats.filter(({ id }) => core.includes(id))
}

/** A majority is enough where all agree on who belongs to the cluster; then the others die for good. */
function chooseCore({ world, options }: Simulation): readonly MemberId[] | undefined {
  const up = world.seats.filter(({ ruined, member }) => !ruined && member !== undefined)
  const spellings = new Set(up.map(({ member }) => JSON.stringify(member?.view.membership.voters)))
  const membership = up[0]?.member?.view.membership
  const random = world.random.fork('core')
  if (membership === undefined || up.length !== world.seats.length || spellings.size !== 1) return undefined
  if (membership.outgoing.length > 0 || membership.learners.length > 0 || random.chance(0.5)) return undefined
  if (options.members < 3) return undefined
  // Configurations that are only in somebody's log could come into force again.
  const all = [...world.watch.ledger.members.values()].map(({ live }) => live.membership)
  const keep = [...membership.voters]
  while (keep.length > membership.voters.length / 2 + 1) keep.splice(random.between(0, keep.length), 1)
  const has = (id: MemberId) => keep.includes(id)
  return all.every((other) => other.voters.length === 0 || isQuorum(other, has)) ? keep : undefined
}

/**
 * Everybody who can is healed. Who must agree is known once there is a leader; so it is asked for in
 * `unsettled`.
 */
function waitForAll({ world }: Simulation): readonly ClientConnection[] | undefined {
  const whole = world.seats.filter(({ ruined }) => !ruined)
  const has = (id: MemberId) => whole.some((seat) => seat.id === id)
  const possible = (membership: Membership) =>
    membership.voters.length === 0 ||
    (isMajority(membership.voters, has) &&
      (membership.outgoing.length === 0 || isMajority(membership.outgoing, has)))
  for (const { live, disk } of world.watch.ledger.members.values()) {
    if (!possible(live.membership) || !possible(disk.membership)) return undefined
  }
  return whole
}

/** What is missing, or undefined. */
function unsettled({ world }: Simulation, core: readonly ClientConnection[]): string | undefined {
  const leader = core.filter(leads).sort((a, b) => (b.member?.view.term ?? 0) - (a.member?.view.term ?? 0))[0]
  const view = leader?.member?.view
  if (leader === undefined || view === undefined) return 'nobody leads'
  const { membership } = view
  if (membership.outgoing.length > 0) return `${leader.id} leads a joint configuration`
  if (view.commit !== view.lastIndex) return `${leader.id} has committed ${view.commit} of ${view.lastIndex}`
  if (view.pending !== undefined) return `${leader.id} has pending: ${view.pending}`
  const agreed = [...membership.voters, ...membership.learners]
  for (const seat of core) {
    const other = seat.member?.view
    if (seat === leader || !agreed.includes(seat.id)) continue
    if (other === undefined) return `${seat.id} is down`
    if (other.term !== view.term || other.leader !== leader.id)
      return `${seat.id} does not follow ${leader.id}`
    if (other.applied !== view.applied) return `${seat.id} has applied ${other.applied} of ${view.applied}`
    if (other.stateHash !== view.stateHash) return `${seat.id} holds another state than ${leader.id}`
    if (other.pending !== undefined) return `${seat.id} has pending: ${other.pending}`
  }
  world.fingerprint.add(view.commit)
  return undefined
}

/** An idle cluster only beats: no storm, no election, and its time goes on. */
function demandQuiet(simulation: Simulation, core: readonly ClientConnection[]): void {
  const { world, options } = simulation
  const { electionTimeout, heartbeat } = options.member
  const leader = core.find(leads) as ClientConnection
  const sent = world.network.sent
  const term = leader.member?.view.term
  const time = leader.member?.view.clusterTime ?? 0
  const span = 4 * electionTimeout
  world.runUntil(world.now + span * 1000, 400_000)
  const beats = world.seats.length * 2 * (span / heartbeat + 2)
  const count = world.network.sent - sent
  if (count > beats * 2)
    throw new NoProgress('quiet', `${count} messages of an idle cluster in ${span} ms, not ${beats}`)
  if (!leads(leader) || leader.member?.view.term !== term) {
    throw new NoProgress('quiet', `${leader.id} lost its lead of term ${term} in a healed cluster`)
  }
  const passed = (leader.member?.view.clusterTime ?? 0) - time
  if (passed < span / 2)
    throw new NoProgress('cluster-time', `cluster time went on by ${passed} of ${span} ms`)
}
