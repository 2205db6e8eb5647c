// Driver: how long nobody is served when the leader is killed, and when it stops gracefully.

import { connect } from '@latchkey/client'
import type { Cluster } from '@latchkey/test-chaos/cluster'
import { quantiles } from '../measure.js'
import type { LoadRow } from './loads.js'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** From `kill -9` of the leader to the first write acknowledged by a survivor. */
export async function killLeader(cluster: Cluster, rounds: number): Promise<LoadRow> {
  const store = await connect(cluster.urls)
  const gaps: number[] = []
  let errors = 0
  for (let round = 0; round < rounds; round++) {
    await store.put('failover', 'before')
    const leader = await cluster.leader()
    const killed = performance.now()
    leader.signal('SIGKILL')
    await store.put('failover', String(round)).then(
      () => gaps.push(performance.now() - killed),
      () => errors++,
    )
    await leader.exited()
    leader.start()
    await leader.ready()
    await pause(1_200)
  }
  await store.close()
  return {
    system: 'Latchkey',
    load: 'leader killed: gap',
    callers: 1,
    samples: gaps.length,
    errors,
    perSecond: 0,
    ...quantiles(gaps),
  }
}

/** The longest time between two acknowledged writes while each member is stopped gracefully and started again. */
export async function stopGracefully(cluster: Cluster): Promise<LoadRow> {
  const store = await connect(cluster.urls)
  let going = true
  let errors = 0
  let last = performance.now()
  const gaps: number[] = []
  const writing = Array.from({ length: 8 }, async (_, i) => {
    for (let n = 0; going; n++) {
      await store.put(`graceful/${i}`, String(n)).catch(() => errors++)
      gaps.push(performance.now() - last)
      last = performance.now()
    }
  })
  const longest: number[] = []
  for (let round = 0; round < 3; round++) {
    await pause(300)
    const leader = await cluster.leader()
    gaps.length = 0
    await leader.stop()
    await pause(300)
    longest.push(Math.max(...gaps))
    leader.start()
    await leader.ready()
    await pause(1_000)
  }
  going = false
  await Promise.all(writing)
  await store.close()
  return {
    system: 'Latchkey',
    load: 'leader stopped: longest gap',
    callers: 8,
    samples: longest.length,
    errors,
    perSecond: 0,
    ...quantiles(longest),
  }
}
