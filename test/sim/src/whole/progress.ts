// Driver: after the faults, demands that everything comes to its end, and judges the whole history.

import type { Client } from './clients/client.js'
import { KEY_PREFIX, keyNames, mergedNames } from './clients/kv-workers.js'
import { fencingKeyOf, lockNames } from './clients/lock-workers.js'
import { LawBroken, NoProgress } from '../laws/verdict.js'
import type { WatchHistory } from './laws/sequences-and-watches.js'
import type { MirrorHistory } from './laws/mirrors.js'
import { ELECTION, PERMITS, SEMAPHORE, sharedNames } from './clients/shared-lock-worker.js'
import { isSharedKey } from './laws/shared-locks.js'
import { endBarriers } from './clients/barrier-worker.js'
import type { WholeWorld } from './whole-world.js'

/** Virtual ms within which a healed world must do what it is asked. */
const PATIENCE = 60_000

export async function demandProgress(world: WholeWorld): Promise<void> {
  const { time, records } = world
  const healedAt = time.now
  await world.run(time.now + 1_500_000)
  records.stopping = true
  world.reach.end()
  // What is under way comes to its end, and what was given up is cancelled.
  await world.run(time.now + 1_000_000)
  await world.run(time.now + PATIENCE * 1000, () => isCalm(world))
  if (!isCalm(world)) throw new NoProgress('calm', `no calm within ${PATIENCE} ms: ${positions(world)}`)
  const before = world.log.last
  await world.run(time.now + 7_000_000)
  world.findMembersAgain()
  const client = world.clients.filter(({ life, findsMembers }) => !life.dead && findsMembers).at(-1) as Client
  const asked = lastCalls(world, client)
  let over = false
  asked.then(
    () => {
      over = true
    },
    (error: Error) =>
      time.fail(new NoProgress('last calls', `a call on a healed world ended with ${error.message}`)),
  )
  await world.run(time.now + PATIENCE * 1000, () => over)
  demandTime(world, before, healedAt)
  if (!over)
    throw new NoProgress('last calls', `${client.name} is not done within ${PATIENCE} ms of a healed world`)
  await world.run(time.now + PATIENCE * 1000, () => same(world))
  if (!same(world))
    throw new NoProgress('equal members', `the members do not come together: ${positions(world)}`)
  await world.run(time.now + 5_000_000, () => deafWatches(world).length === 0)
  const [deaf] = deafWatches(world)
  if (deaf !== undefined) throw new NoProgress('watches', `${deaf.name} did not hear of the last changes`)
  await world.run(time.now + 5_000_000, () => staleMirrors(world).length === 0)
  const [stale] = staleMirrors(world)
  if (stale !== undefined) throw new NoProgress('mirrors', `${stale.name} does not show what is there`)
}

/**
 * No change of members is under way, and the one who leads has brought an entry of its own to its end. An
 * operator who removes the leader ends its term, and switches it off at once: the others may have to wait for
 * a timeout, and none of that gap counts.
 */
function isCalm(world: WholeWorld): boolean {
  const leader = world.leader()?.member?.replica.node.raft
  const works = [...world.operators].some(({ life }) => !life.dead)
  if (works || leader === undefined || world.log.last.term !== leader.term) return false
  // One that was away in a later term, and whose connection comes back late, ends this leader's term when it
  // is heard.
  return world.membersNow().every(({ member }) => {
    const raft = member?.replica.node.raft
    return raft?.term === leader.term && raft.leader === leader.leader
  })
}

/** A calm cluster's time goes on with true time: what runs out there runs out here (CT2). */
function demandTime(
  { log }: WholeWorld,
  before: { readonly time: number; readonly at: number },
  healedAt: number,
): void {
  // A leader elected behind `before` did not count the gap, and need not.
  if (before.at < healedAt) return
  const truth = (log.last.at - before.at) / 1000
  const told = log.last.time - before.time
  if (truth > 1_000 && told < truth * 0.9 - 500)
    throw new NoProgress('cluster time', `in ${truth} calm ms the cluster's time went on by ${told}`)
}

/**
 * What every client may ask for once nothing is in the way: write and read each key, take and leave each
 * lock.
 */
async function lastCalls(world: WholeWorld, client: Client): Promise<void> {
  const { store, records, name, life } = client
  if (records.options.workload === 'barriers') await endBarriers(world, client)
  const options = { timeout: PATIENCE }
  await store.put(`${KEY_PREFIX}end`, 'over', options)
  for (const key of [...keyNames(records.options.keys), ...mergedNames]) {
    const op = await records.record(name, key, 'get', {}, () => store.get(key, options))
    if (op.end === Number.POSITIVE_INFINITY) throw new Error(`${key} cannot be read`)
    world.finals.set(key, op.result as string | undefined)
  }
  for (const key of lockNames(records.options.locks)) {
    const hold = await store.locks.acquire(key, {
      lease: 5_000,
      wait: PATIENCE,
      fencingKey: fencingKeyOf(key),
    })
    world.holds.began(name, life, key, hold.token, () => hold.held)
    await hold.release()
  }
  for (const key of sharedNames(records.options.locks)) {
    const hold = await store.locks.acquire(key, { lease: 5_000, wait: PATIENCE })
    await hold.release()
  }
  const all = await store.semaphores.acquire(SEMAPHORE, { of: PERMITS, permits: PERMITS, wait: PATIENCE })
  await all.release()
  const leadership = await store.elections.campaign(ELECTION, { wait: PATIENCE })
  await leadership.resign()
}

function positions({ members }: WholeWorld): string {
  return members
    .map(
      ({ id, member }) =>
        `${id} applied ${member?.replica.node.applied.position.index} of ${member?.replica.node.raft.commit} ${member?.replica.node.role}`,
    )
    .join(', ')
}

function same(world: WholeWorld): boolean {
  const places = world.membersNow().map(({ member }) => member?.replica.node.applied.position.index)
  return places.every((place) => place !== undefined && place === places[0])
}

/** Who neither heard of the last changes nor was told that nothing more will be heard. */
function deafWatches({ records, finals }: WholeWorld): readonly WatchHistory[] {
  return records.watches.filter(
    (watch) => !watch.isOver && ![...finals].every(([key, value]) => watch.endsWith(key, value)),
  )
}

function staleMirrors({ records, finals }: WholeWorld): readonly MirrorHistory[] {
  return records.mirrors.filter((mirror) => !mirror.isOver && !mirror.endsWith(finals))
}

export function judgeHistory(world: WholeWorld): void {
  const { records, locks, holds } = world
  const clusters = new Set(world.membersNow().map(({ member }) => member?.replica.clusterId))
  if (clusters.size !== 1) throw new LawBroken('one cluster', `the members name ${[...clusters].join(', ')}`)
  records.history.judge(world.finals)
  records.sequences.judge()
  for (const mirror of records.mirrors) mirror.judge(records.states)
  for (const promise of holds.promises()) {
    if (promise.kind !== 'promise' || isSharedKey(promise.key)) continue
    if (!locks.forced.has(`${promise.key}/${promise.token}`)) locks.events.push(promise)
  }
  locks.judge()
}
