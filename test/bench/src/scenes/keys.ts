// Driver: a store that grows to a million keys: latency on the way, then memory of a member, a scan of all,
// restarts, and a member that comes new while writes go on.

import { connect, type Store } from '@latchkey/client'
import { isLatchkeyError } from '@latchkey/protocol'
import type { Cluster } from '@latchkey/test-chaos/cluster'
import { measure, quantiles, round, steadily } from '../measure.js'
import { pause } from '../pause.js'
import { cpuOf, ownMiB, residentMiB } from '../processes.js'
import type { LatchkeyScene, Stage } from './scene.js'

const BYTES = 100
const CALLERS = 16
/** A lone caller meets latency alone; sixteen keep two cores full and wait for each other as well. */
const LOOKERS = [1, CALLERS]
const LOADERS = 8
const A_WRITE = 500
const name = (i: number) => `big/${String(i).padStart(8, '0')}`
/**
 * What apps keep: fields with a name, half of it the same in each. Tables of one letter would compress as
 * nothing real does.
 */
const value = (i: number): Uint8Array => {
  const noise = Math.imul(i + 1, 0x9e3779b1) >>> 0
  const [id, user, at] = [noise.toString(16), noise % 1_000_003, 1_700_000_000_000 + (noise % 999_999_937)]
  const state = ['active', 'idle', 'gone'][noise % 3]
  const text = JSON.stringify({ id, state, at, n: noise % 997, mail: `user-${user}@example.org` })
  return Buffer.from(text.padEnd(BYTES))
}

export const keys: LatchkeyScene = {
  name: 'keys',
  about:
    'latency from 1,000 to 1,000,000 keys of 100 B; then memory, a scan, a restart and a new member with all of them',
  on: 'latchkey',
  fresh: true,
  async run({ cluster }, stage) {
    const sizes = stage.quick ? [1_000, 20_000] : [1_000, 10_000, 100_000, 1_000_000]
    let size = 0
    for (const next of sizes) {
      await grow(cluster, size, next)
      await settled(cluster)
      await look(cluster, next, stage)
      size = next
    }
    const most = (read: (pid: number) => number) =>
      Math.max(...cluster.members.map((member) => read(member.pid as number)))
    const before = most(ownMiB)
    await scanAll(cluster, size, stage)
    stage.fact(
      `keys.scan.grown.${size}`,
      "growth of a member's memory by the iteration, without mapped files",
      most(ownMiB) - before,
      'MiB',
    )
    const what = `memory of the biggest member with ${thousands(size)} keys`
    stage.fact(`keys.rss.${size}`, what, most(residentMiB), 'MiB')
    stage.fact(`keys.own.${size}`, 'part of this memory that is not mapped files', most(ownMiB), 'MiB')
    const ready = await restartMillis(cluster)
    stage.fact(
      `keys.restart.${size}`,
      `kill -9 and start with ${thousands(size)} keys: ready after`,
      ready,
      'ms',
    )
    await join(cluster, size, stage)
    stage.fact(`keys.rss.joined.${size}`, 'memory of the largest member after this', most(residentMiB), 'MiB')
  },
}

/**
 * What comes in at full speed leaves LevelDB some merging to do: latency is that of a store that is used, not
 * of one being filled.
 */
async function settled(cluster: Cluster): Promise<void> {
  const pids = cluster.members.map((member) => member.pid as number)
  for (let i = 0; i < 60 && Math.max(...(await cpuOf(pids, 0.5))) > 0.2; i++);
}

/** A fourth member, from nothing to a voter that is ready, while a client writes all the time. */
async function join(cluster: Cluster, size: number, stage: Stage): Promise<void> {
  const store = await connect(cluster.urls)
  const state = { going: true, puts: 0, slowest: 0 }
  const writer = async () => {
    for (; state.going; await pause(1)) {
      const began = performance.now()
      const i = state.puts++
      await store.put(name(i % size), value(i), { timeout: '30s' })
      state.slowest = Math.max(state.slowest, performance.now() - began)
    }
  }
  const writing = Promise.all(Array.from({ length: CALLERS }, writer))
  const began = performance.now()
  const member = await cluster.join('d')
  await store.members.add('d', member.url)
  await promoted(store)
  await member.ready()
  const seconds = (performance.now() - began) / 1000
  state.going = false
  await writing
  await store.close()
  stage.fact(`keys.join.${size}`, 'a new member is a voter and ready after', round(seconds, 1), 's')
  stage.fact(
    `keys.join.puts.${size}`,
    'puts per second during this time',
    Math.round(state.puts / seconds),
    '',
  )
  stage.fact(`keys.join.slowest.${size}`, 'the slowest of these puts', Math.round(state.slowest), 'ms')
}

async function grow(cluster: Cluster, from: number, to: number): Promise<void> {
  const store = await connect(cluster.urls)
  const starts = Array.from({ length: Math.ceil((to - from) / A_WRITE) }, (_, i) => from + i * A_WRITE)
  const loader = async () => {
    for (let at = starts.shift(); at !== undefined; at = starts.shift()) {
      const first = at
      const entries = Array.from({ length: Math.min(A_WRITE, to - first) }, (_, i) => ({
        ...{ key: name(first + i), value: value(first + i) },
      }))
      await store.putAll(entries, { timeout: '30s' })
    }
  }
  await Promise.all(Array.from({ length: LOADERS }, loader))
  await store.close()
}

async function look(cluster: Cluster, size: number, stage: Stage): Promise<void> {
  const store = await connect(cluster.urls)
  const pick = (caller: number, turn: number) => name((caller * 7919 + turn * 104_729) % size)
  const row = async (load: string, call: (caller: number, turn: number) => Promise<boolean>) => {
    for (const callers of LOOKERS) {
      stage.row({
        ...{ system: 'Latchkey', load: `${load}, ${thousands(size)} keys` },
        ...(await steadily(() => measure(call, { ...stage, callers }))),
      })
    }
  }
  await row('put 100 B', async (c, t) => (await store.put(pick(c, t), value(c * 7919 + t))).revision > 0)
  await row('get', async (c, t) => (await store.get(pick(c, t)))?.length === BYTES)
  await store.close()
}

async function scanAll(cluster: Cluster, size: number, stage: Stage): Promise<void> {
  const store: Store = await connect(cluster.urls)
  const began = performance.now()
  let count = 0
  for await (const _ of store.keys({ prefix: 'big/' })) count++
  const seconds = (performance.now() - began) / 1000
  await store.close()
  if (count !== size) throw new Error(`a scan found ${count} keys of ${size}`)
  stage.fact('keys.scan', `all ${thousands(size)} keys through an iterator`, round(seconds, 2), 's')
}

/** kill -9 of each member in turn, and how long until it is ready again: the slowest. */
async function restartMillis(cluster: Cluster): Promise<number> {
  const millis: number[] = []
  for (const member of cluster.members) {
    await member.kill()
    const began = performance.now()
    member.start()
    await member.ready(60_000)
    millis.push(performance.now() - began)
  }
  return Math.round(quantiles(millis).p99)
}

/**
 * As soon as it has caught up, and its leader has written down which process it is; it is asked again until
 * then.
 */
async function promoted(store: Store): Promise<void> {
  for (const deadline = performance.now() + 120_000; ; await pause(100)) {
    try {
      return await store.members.promote('d')
    } catch (error) {
      if (!isLatchkeyError(error) || !error.retryable || performance.now() > deadline) throw error
    }
  }
}

const thousands = (n: number) => n.toLocaleString('en')
