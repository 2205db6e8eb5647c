// Driver: how long nobody is served when the leader is killed, when it stops gracefully, and when it falls silent.

import { connect } from '@latchkey/client'
import type { Cluster } from '@latchkey/test-chaos/cluster'
import { leaderStops } from '@latchkey/test-chaos/leader-stops'
import { quantiles } from '../measure.js'
import { pause } from '../pause.js'
import type { Leader, System } from '../systems/system.js'
import type { LatchkeyScene, LoadRow, Stage, SystemScene } from './scene.js'

export const failover: SystemScene = {
  name: 'failover',
  about: 'from kill -9 of the leader to the next acknowledged write',
  on: 'any',
  async run(system, stage) {
    if (system.leader === undefined) return
    const rounds = stage.quick ? 3 : system.name === 'Latchkey' ? 20 : 5
    stage.row(await killLeader(system, () => (system.leader as () => Promise<Leader>)(), rounds))
  },
}

/** Settled: all three back, their connections up. */
const SETTLE_MILLIS = 1_200

async function killLeader(system: System, leaderOf: () => Promise<Leader>, rounds: number): Promise<LoadRow> {
  const client = await system.connect()
  const gaps: number[] = []
  const faults: string[] = []
  const put = (value: Uint8Array) => async () => (await client.put?.('failover', value)) === true
  try {
    for (let round = 0; round < rounds; round++) {
      await untilDone(put(Buffer.from('before')), [])
      const leader = await leaderOf()
      const value = Buffer.from(String(round))
      leader.kill()
      gaps.push(await untilDone(put(value), faults))
      let seen: Uint8Array | undefined
      await untilDone(async () => {
        seen = await client.get?.('failover')
        return true
      }, [])
      if (seen === undefined || !value.equals(seen)) faults.push('what was acknowledged was not seen')
      await leader.startAgain()
      await pause(SETTLE_MILLIS)
    }
  } finally {
    await client.close()
  }
  return rowOf(system.name, 'leader killed: gap', 1, gaps, faults)
}

/** A client that gives up, or waits for a dead server, does not keep the next attempt from being made. */
const ATTEMPT_MILLIS = 20
const LIMIT_MILLIS = 30_000

/**
 * Begins attempts until one of them is done, and tells after how many ms that was. Those that fail before are added
 * to the faults. It resolves when all have ended, so that none of them does anything later.
 */
async function untilDone(call: () => Promise<boolean>, faults: string[]): Promise<number> {
  const began = performance.now()
  const attempts: Promise<void>[] = []
  let millis: number | undefined
  const attempt = async () => {
    try {
      if (await call()) millis ??= performance.now() - began
    } catch (error) {
      if (millis === undefined) faults.push(String(error))
    }
  }
  for (; millis === undefined; await pause(ATTEMPT_MILLIS)) {
    if (performance.now() - began > LIMIT_MILLIS)
      throw new Error(`nothing was done for ${LIMIT_MILLIS / 1000} s`)
    attempts.push(attempt())
  }
  await Promise.all(attempts)
  return millis
}

export const stopped: LatchkeyScene = {
  name: 'stop',
  about: 'the longest gap of a graceful stop of the leader',
  on: 'latchkey',
  fresh: true,
  run: async ({ cluster }, stage) => stage.row(await stopGracefully(cluster, stage.quick ? 1 : 3)),
}

export const silent: LatchkeyScene = {
  name: 'silent',
  about: 'a leader whose process stands still: how long puts wait once there is a next leader',
  on: 'latchkey',
  fresh: true,
  run: ({ cluster }, stage) => fallSilent(cluster, stage),
}

async function fallSilent(cluster: Cluster, stage: Stage): Promise<void> {
  const { rounds, elections, waits, afterLeader, errors } = await leaderStops(cluster, {
    rounds: stage.quick ? 2 : 6,
  })
  stage.fact('silent.rounds', 'times that the leader stood still', rounds, '')
  stage.fact('silent.election', 'then the next leader starts after, median', elections.p50, 'ms')
  stage.fact('silent.wait', 'the longest wait of a put', waits.most, 'ms')
  stage.fact('silent.after', "of which behind the next leader's start at the most", afterLeader.most, 'ms')
  stage.fact('silent.failed', 'puts that failed meanwhile', errors.length, '')
}

/** The longest time between two acknowledged writes of anybody, while the leader stops. */
async function stopGracefully(cluster: Cluster, rounds: number): Promise<LoadRow> {
  const store = await connect(cluster.urls)
  let going = true
  const faults: string[] = []
  let last = performance.now()
  let longest = 0
  const writing = Array.from({ length: 8 }, async (_, i) => {
    for (let n = 0; going; n++) {
      await store.put(`graceful/${i}`, String(n)).catch((error: unknown) => faults.push(String(error)))
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
  return rowOf('Latchkey', 'leader stopped: longest gap', 8, gaps, faults)
}

function rowOf(
  system: string,
  load: string,
  callers: number,
  gaps: readonly number[],
  faults: readonly string[],
): LoadRow {
  const [firstError] = faults
  return {
    ...{ system, load, callers, samples: gaps.length, errors: faults.length, perSecond: 0 },
    ...{ ...quantiles(gaps), ...(firstError === undefined ? {} : { firstError }) },
  }
}
