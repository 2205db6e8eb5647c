// Driver: how long nobody is served when the leader's process is killed: from the signal to the next
// acknowledged write.

import { connect } from '@latchkey/client'
import type { Cluster } from './cluster.js'

export async function leaderGaps(cluster: Cluster, rounds: number): Promise<number[]> {
  const store = await connect(cluster.urls)
  const gaps: number[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      const leader = await cluster.leader()
      await store.put('gap', 'before')
      const killed = performance.now()
      leader.signal('SIGKILL')
      await store.put('gap', String(round))
      gaps.push(Math.round(performance.now() - killed))
      await leader.exited()
      leader.start()
      await leader.ready()
    }
    return gaps
  } finally {
    await store.close()
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
