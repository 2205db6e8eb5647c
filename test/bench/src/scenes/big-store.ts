// Driver: a store with many keys: memory of a member, scanning, restarting, and latency as it grows.

import { connect } from '@latchkey/client'
import type { Cluster } from '@latchkey/test-chaos/cluster'
import { measure, quantiles } from '../measure.js'
import { usage } from '../processes.js'

export interface BigStore {
  readonly keys: number
  readonly loadSeconds: number
  readonly putP50: number
  readonly getP50: number
  readonly scanSeconds: number
  readonly scanned: number
  readonly rssMiB: readonly number[]
  readonly restartMillis: number
}

const VALUE = new Uint8Array(100).fill(120)
const name = (i: number) => `big/${String(i).padStart(8, '0')}`

/** Grows the store from `from` to `keys`, then looks at it. */
export async function bigStore(cluster: Cluster, from: number, keys: number): Promise<BigStore> {
  const store = await connect(cluster.urls)
  const began = performance.now()
  const batches = Array.from({ length: Math.ceil((keys - from) / 500) }, (_, i) => from + i * 500)
  const loader = async () => {
    for (let at = batches.shift(); at !== undefined; at = batches.shift()) {
      const entries = Array.from({ length: Math.min(500, keys - at) }, (_, i) => ({
        key: name((at as number) + i),
        value: VALUE,
      }))
      await store.putAll(entries, { timeout: '30s' })
    }
  }
  await Promise.all(Array.from({ length: 8 }, loader))
  const loadSeconds = (performance.now() - began) / 1000
  const pick = (caller: number, turn: number) => name((caller * 7919 + turn * 104_729) % keys)
  const put = await measure(async (c, t) => (await store.put(pick(c, t), VALUE)).revision > 0, {
    callers: 16,
    seconds: 2,
  })
  const get = await measure(async (c, t) => (await store.get(pick(c, t))) !== undefined, {
    callers: 16,
    seconds: 2,
  })
  const scanBegan = performance.now()
  let scanned = 0
  for await (const _ of store.keys({ prefix: 'big/' })) scanned++
  const scanSeconds = (performance.now() - scanBegan) / 1000
  await store.close()
  const rssMiB = cluster.members.map((member) => usage(member.pid as number).rssMiB)
  return {
    keys,
    loadSeconds: round(loadSeconds),
    putP50: put.p50,
    getP50: get.p50,
    scanSeconds: round(scanSeconds),
    scanned,
    rssMiB,
    restartMillis: await restartMillis(cluster),
  }
}

/** kill -9 of each member in turn, and how long until it is ready again. */
async function restartMillis(cluster: Cluster): Promise<number> {
  const millis: number[] = []
  for (const member of cluster.members) {
    await member.kill()
    const began = performance.now()
    member.start()
    await member.ready(60_000)
    millis.push(performance.now() - began)
  }
  return quantiles(millis).p50
}

const round = (value: number) => Math.round(value * 100) / 100
