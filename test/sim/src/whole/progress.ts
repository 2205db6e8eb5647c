// Driver: demands after the faults that every call ends, and checks the history of the run.

import type { Client } from './clients/client.js'
import { KEY_PREFIX, keyNames, mergedNames } from './clients/kv-workers.js'
import { fencingKeyOf, lockNames } from './clients/lock-workers.js'
import { LawBroken, NoProgress } from '../laws/verdict.js'
import type { WatchHistory } from './laws/sequences-and-watches.js'
import type { MirrorHistory } from './laws/mirrors.js'
import { ELECTION, PERMITS, SEMAPHORE, sharedNames } from './clients/shared-lock-worker.js'
import { isSharedKey } from './laws/shared-locks.js'
import { endBarriers } from './clients/barrier-worker.js'
import { endIdempotency } from './clients/idempotency-worker.js'
import type { WholeWorld } from './whole-world.js'

/** In simulated ms. After the faults, the cluster must finish each task within this time. */
const PATIENCE = 60_000

export async function demandProgress(world: WholeWorld): Promise<void> {
  const { time, records } = world
  const repairedAt = time.now
  await world.run(time.now + 1_500_000)
  records.stopping = true
  world.reach.end()
  // In this time, the workers finish their last calls.
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
      time.fail(new NoProgress('last calls', `a call after the faults ended with ${error.message}`)),
  )
  await world.run(time.now + PATIENCE * 1000, () => over)
  demandTime(world, before, repairedAt)
  if (!over)
    throw new NoProgress('last calls', `${client.name} is not done within ${PATIENCE} ms after the faults`)
  await world.run(time.now + PATIENCE * 1000, () => same(world))
  if (!same(world))
    throw new NoProgress('equal members', `the members have not applied the same log: ${positions(world)}`)
  await world.run(time.now + 5_000_000, () => deafWatches(world).length === 0)
  const [deaf] = deafWatches(world)
  if (deaf !== undefined) throw new NoProgress('watches', `${deaf.name} did not receive the last changes`)
  await world.run(time.now + 5_000_000, () => staleMirrors(world).length === 0)
  const [stale] = staleMirrors(world)
  if (stale !== undefined) throw new NoProgress('mirrors', `${stale.name} does not show the final state`)
}

/**
 * True if no operator changes the members, the leader has committed an entry of its term, and all members
 * follow the leader. An operator may remove the leader and switch it off. The other members then wait for an
 * election timeout, and cluster time stands still.
 */
function isCalm(world: WholeWorld): boolean {
  const leader = world.leader()?.member?.replica.node.raft
  const works = [...world.operators].some(({ life }) => !life.dead)
  if (works || leader === undefined || world.log.last.term !== leader.term) return false
  // A member that was cut off may have a later term. It ends the leader's term when its connection comes
  // back.
  return world.membersNow().every(({ member }) => {
    const raft = member?.replica.node.raft
    return raft?.term === leader.term && raft.leader === leader.leader
  })
}

/** CT2: without faults, cluster time advances nearly as fast as real time, so leases end. */
function demandTime(
  { log }: WholeWorld,
  before: { readonly time: number; readonly at: number },
  repairedAt: number,
): void {
  // Cluster time need not count time without a leader, so `before` must be an entry from after the faults.
  if (before.at < repairedAt) return
  const truth = (log.last.at - before.at) / 1000
  const told = log.last.time - before.time
  if (truth > 1_000 && told < truth * 0.9 - 500)
    throw new NoProgress('cluster time', `in ${truth} ms cluster time went on by ${told}`)
}

/**
 * Writes and reads each key, and acquires and releases each lock. Without faults these calls must succeed.
 */
async function lastCalls(world: WholeWorld, client: Client): Promise<void> {
  const { store, records, name, life } = client
  if (records.options.workload === 'barriers') await endBarriers(world, client)
  const options = { timeout: PATIENCE }
  if (records.options.workload === 'idempotency') await endIdempotency(world, client, options)
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

/** Returns the watches that lack the last changes and have no error. */
function deafWatches({ records, finals }: WholeWorld): readonly WatchHistory[] {
  return records.watches.filter(
    (watch) => !watch.isOver && ![...finals].every(([key, value]) => watch.endsWith(key, value)),
  )
}

function staleMirrors({ records, finals }: WholeWorld): readonly MirrorHistory[] {
  return records.mirrors.filter((mirror) => !mirror.isOver && !mirror.endsWith(finals))
}

export function judgeHistory(world: WholeWorld): void {
  const { records, locks, holds, idempotency } = world
  const clusters = new Set(world.membersNow().map(({ member }) => member?.replica.clusterId))
  if (clusters.size !== 1) throw new LawBroken('one cluster', `the members name ${[...clusters].join(', ')}`)
  records.history.judge(world.finals)
  idempotency.judge(records.sequences)
  records.sequences.judge()
  for (const mirror of records.mirrors) mirror.judge(records.states)
  for (const promise of holds.promises()) {
    if (promise.kind !== 'promise' || isSharedKey(promise.key)) continue
    if (!locks.forced.has(`${promise.key}/${promise.token}`)) locks.events.push(promise)
  }
  locks.judge()
}
