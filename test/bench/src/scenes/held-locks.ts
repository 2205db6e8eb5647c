// Driver: many locks held by one client and renewed by one watchdog: what that costs each member.

import { connect, type Store } from '@latchkey/client'
import { Watchdog } from '@latchkey/lock'
import { round } from '../measure.js'
import { pause } from '../pause.js'
import { inSteps } from '../steps.js'
import { cpuOf } from '../processes.js'
import type { LatchkeyScene } from './scene.js'

const LEASE = '10s'
/** Renewals come at two thirds of the lease; here they find their rhythm. */
const SETTLE_MILLIS = 8_000

export const heldLocks: LatchkeyScene = {
  name: 'held',
  about: '10,000 locks held by one client, renewed by one watchdog: the cost a member',
  on: 'latchkey',
  fresh: true,
  async run({ cluster }, stage) {
    const count = stage.quick ? 1_000 : 10_000
    const store = await connect(cluster.urls)
    const watchdog = new Watchdog()
    const locks = Array.from({ length: count }, (_, i) =>
      store.getDistributedLock(`held/${i}`, LEASE, watchdog),
    )
    const taken = await inSteps(locks, 500, (lock) => lock.tryLock())
    await pause(stage.quick ? 1_000 : SETTLE_MILLIS)
    const pids = cluster.members.map((member) => member.pid as number)
    const before = await commitOf(store)
    const cpu = await cpuOf([...pids, process.pid], stage.quick ? 3 : 14)
    const entries = (await commitOf(store)) - before
    const held = locks.filter((lock) => lock.held).length
    await inSteps(locks, 500, (lock) => lock.unlock())
    watchdog.close()
    await store.close()
    stage.fact('held.locks', 'locks held at once', taken.filter(Boolean).length, '')
    stage.fact('held.still', 'of these still held at the end', held, '')
    stage.fact('held.cpu', 'busiest member, part of a core', round(Math.max(...cpu.slice(0, 3)), 3), 'cores')
    stage.fact('held.client', 'the client that holds them, part of a core', round(cpu[3] ?? 0, 3), 'cores')
    stage.fact('held.entries', 'entries meanwhile', entries, '')
  },
}

const commitOf = async (store: Store) => (await store.status()).commit
