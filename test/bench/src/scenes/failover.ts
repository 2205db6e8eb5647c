// Driver: how long nobody is served when the leader is killed, and when it stops gracefully.

import { connect } from '@latchkey/client'
import type { Cluster } from '@latchkey/test-chaos/cluster'
import { quantiles } from '../measure.js'
import { pause } from '../pause.js'
import type { LatchkeyScene, LoadRow } from './scene.js'

export const failover: LatchkeyScene = {
  name: 'failover',
  about: 'from kill -9 of the leader to the next acknowledged write; the longest gap of a graceful stop',
  on: 'latchkey',
  fresh: true,
  async run({ cluster }, stage) {
    stage.row(await killLeader(cluster, stage.quick ? 3 : 20))
    stage.row(await stopGracefully(cluster, stage.quick ? 1 : 3))
  },
}

/** Settled: all three back, their connections up. */
const SETTLE_MILLIS = 1_200

async function killLeader(cluster: Cluster, rounds: number): Promise<LoadRow> {
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
    if ((await store.get('failover', { as: 'string' })) !== String(round)) errors++
    await leader.exited()
    leader.start()
    await leader.ready()
    await pause(SETTLE_MILLIS)
  }
  await store.close()
  return rowOf('leader killed: gap', 1, gaps, errors)
}

/** The longest time between two acknowledged writes of anybody, while the leader stops. */
async function stopGracefully(cluster: Cluster, rounds: number): Promise<LoadRow> {
  const store = await connect(cluster.urls)
  let going = true
  let errors = 0
  let last = performance.now()
  let longest = 0
  const writing = Array.from({ length: 8 }, async (_, i) => {
    for (let n = 0; going; n++) {
      await store.put(`graceful/${i}`, String(n)).catch(() => errors++)
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
    }
  })
  const gaps: number[] = []
  for (let round = 0; round < rounds; round++) {
    await pause(300)
    const leader = await cluster.leader()
    longest = 0
    await leader.stop()
    await pause(300)
    gaps.push(longest)
    leader.start()
    await leader.ready()
    await pause(SETTLE_MILLIS)
  }
  going = false
  await Promise.all(writing)
  await store.close()
  return rowOf('leader stopped: longest gap', 8, gaps, errors)
}

function rowOf(load: string, callers: number, gaps: readonly number[], errors: number): LoadRow {
  return {
    ...{ system: 'Latchkey', load, callers, samples: gaps.length, errors, perSecond: 0 },
    ...quantiles(gaps),
  }
}
