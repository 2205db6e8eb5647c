// Rule: the workers of the clients in each workload.

import type { WholeWorkload } from '../options.js'
import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'
import { KEY_PREFIX, keysWorker, mergeWorker, sequenceWorker, watchWorker } from './kv-workers.js'
import { PAIR_PREFIX, pairWorker } from './pair-worker.js'
import { mirrorWorker } from './mirror-worker.js'
import { membersWorker } from './members-worker.js'
import { expiryWorker } from './expiry-worker.js'
import { operatorWorker } from './operator-worker.js'
import { type Habit, lockWorker } from './lock-workers.js'
import { barrierWorker } from './barrier-worker.js'
import { idempotencyWorker } from './idempotency-worker.js'
import { sharedLockWorker } from './shared-lock-worker.js'

const HABITS: Readonly<Record<WholeWorkload, readonly Habit[]>> = {
  kv: [],
  power: ['renewing'],
  snapshots: ['renewing', 'reentrant'],
  members: ['renewing'],
  renewing: ['renewing', 'renewing', 'reentrant', 'forcing'],
  deadline: ['deadline', 'deadline'],
  waiters: ['waiting', 'waiting', 'deadline'],
  idle: ['renewing', 'deadline', 'waiting', 'reentrant'],
  expiry: [],
  sharing: [],
  barriers: [],
  idempotency: [],
}

const WITH_KEYS: ReadonlySet<WholeWorkload> = new Set(['kv', 'power', 'snapshots', 'members', 'idle'])

export function employ(world: WholeWorld, client: Client): void {
  const { records } = client
  const start = (worker: Promise<void>) => void worker.catch((error) => records.time.fail(error))
  const { workload } = world.options
  if (WITH_KEYS.has(workload)) {
    start(keysWorker(client))
    start(mergeWorker(client))
    start(sequenceWorker(client))
    start(watchWorker(client))
    start(pairWorker(client))
    // One remote client and the embedded clients have mirrors. The check of each shown state takes time.
    if (client.name === 'p0' || !client.name.startsWith('p'))
      for (const prefix of [KEY_PREFIX, PAIR_PREFIX]) start(mirrorWorker(client, prefix))
  }
  if (workload === 'expiry') start(expiryWorker(client))
  if (workload === 'sharing') for (let i = 0; i < 3; i++) start(sharedLockWorker(world, client))
  if (workload === 'barriers') for (let i = 0; i < 3; i++) start(barrierWorker(world, client))
  if (workload === 'idempotency') for (let i = 0; i < 2; i++) start(idempotencyWorker(world, client))
  const isOperator = client.name === 'p0' && ['snapshots', 'power', 'expiry'].includes(workload)
  if (isOperator) start(operatorWorker(world, client))
  if (workload === 'members' && client.name === 'p0') {
    world.operators.add(client)
    start(membersWorker(world, client).finally(() => world.operators.delete(client)))
  }
  for (const habit of HABITS[workload]) start(lockWorker(world, client, habit))
}
