// Driver: many locks held by one client and renewed by one watchdog: what that costs each member.

import { connect } from '@latchkey/client'
import { Watchdog } from '@latchkey/lock'
import type { Cluster } from '@latchkey/test-chaos/cluster'
import { usage } from '../processes.js'

export interface HeldLocks {
  readonly locks: number
  readonly held: number
  readonly entriesPerSecond: number
  /** Part of one core, a member. */
  readonly cpu: readonly number[]
  readonly clientCpu: number
}

export async function heldLocks(
  cluster: Cluster,
  count: number,
  lease: string,
  seconds: number,
): Promise<HeldLocks> {
  const store = await connect(cluster.urls)
  const watchdog = new Watchdog()
  const locks = Array.from({ length: count }, (_, i) =>
    store.getDistributedLock(`held/${i}`, lease, watchdog),
  )
  for (let i = 0; i < count; i += 500)
    await Promise.all(locks.slice(i, i + 500).map((lock) => lock.tryLock()))
  // Let the renewals find their rhythm.
  await new Promise((resolve) => setTimeout(resolve, 10_000))
  const pids = cluster.members.map((member) => member.pid as number)
  const before = {
    entries: (await store.status()).commit,
    members: pids.map(usage),
    own: process.cpuUsage(),
    at: performance.now(),
  }
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const took = (performance.now() - before.at) / 1000
  const own = process.cpuUsage(before.own)
  const cpu = pids.map((pid, i) =>
    round((usage(pid).cpuSeconds - (before.members[i]?.cpuSeconds ?? 0)) / took),
  )
  const entriesPerSecond = round(((await store.status()).commit - before.entries) / took)
  const held = locks.filter((lock) => lock.held).length
  for (let i = 0; i < count; i += 500) await Promise.all(locks.slice(i, i + 500).map((lock) => lock.unlock()))
  watchdog.close()
  await store.close()
  return { locks: count, held, entriesPerSecond, cpu, clientCpu: round((own.user + own.system) / 1e6 / took) }
}

const round = (value: number) => Math.round(value * 1000) / 1000
