// Driver: where the time of a lone put goes: each event in the client, the leader and the followers, on members that have
// just started, on those that have worked, and in a closed loop.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Store } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { measure, round } from '../measure.js'
import { pause } from '../pause.js'
import { type Note, nanosNow, trace as traceThis } from '../trace/hooks.js'
import { spent, type Threads, threadsOf } from '../trace/threads.js'
import { type CallTimes, median, mostCommon, Paths, type Traced } from '../trace/path.js'
import type { OwnScene, Stage } from './scene.js'

const PRELOAD = new URL('../trace/preload.js', import.meta.url).href
const VALUE = new Uint8Array(256).fill(120)

export const trace: OwnScene = {
  name: 'trace',
  about:
    'where the time of a lone put goes, event by event through all processes, on fresh and on old members',
  on: 'own',
  run,
}

interface Phase {
  readonly name: string
  readonly count: number
  /** Between the beginnings of two calls, in ms. 0: each begins behind the one before it. */
  readonly every: number
}

const FRESH: Phase = { name: 'fresh members, 10 a second', count: 50, every: 100 }
const OLD: readonly Phase[] = [
  { name: 'old members, 10 a second', count: 50, every: 100 },
  { name: 'old members, closed loop', count: 1_000, every: 0 },
]

interface Found {
  readonly phase: Phase
  readonly calls: readonly CallTimes[]
  readonly threads: ReadonlyMap<string, Threads>
}

async function run(stage: Stage): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-trace-'))
  const own = traceThis()
  try {
    const env = { BENCH_TRACE_FOLDER: folder, NODE_OPTIONS: `--import ${PRELOAD}` }
    const cluster = await Cluster.start({ env })
    try {
      await onCluster(cluster, folder, own.notes, stage)
    } finally {
      await cluster.destroy()
    }
  } finally {
    own.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function onCluster(
  cluster: Cluster,
  folder: string,
  own: readonly Note[],
  stage: Stage,
): Promise<void> {
  const { id: leader } = await cluster.leader()
  const pids = new Map([['client', process.pid]])
  for (const { id, pid } of cluster.members)
    pids.set(id === leader ? 'leader' : `follower ${id}`, pid as number)
  const store = await connect(cluster.urls)
  const found = [await callsOf(FRESH, store, pids)]
  await warmUp(store)
  for (const phase of OLD) found.push(await callsOf(phase, store, pids))
  const same = (await cluster.leader()).id === leader
  await store.close()
  if (!same) throw new Error('another member leads now: the machine is too busy for a trace')
  await Promise.all(cluster.members.map((member) => member.stop()))
  const traced: Traced[] = [{ name: 'client', notes: own }]
  for (const member of cluster.members) {
    const name = member.id === leader ? 'leader' : `follower ${member.id}`
    traced.push({ name, port: member.options.port, notes: await notesOf(folder, pids.get(name) as number) })
  }
  for (const one of found) tell(one, traced, stage)
}

/** Compiled code is what a member runs that has worked for some time. */
async function warmUp(store: Store): Promise<void> {
  const put = async (caller: number) => (await store.put(`trace/${caller}`, VALUE)).revision > 0
  await measure(put, { callers: 64, seconds: 3, warmUpSeconds: 0 })
  await measure(put, { callers: 1, seconds: 3, warmUpSeconds: 0 })
}

async function callsOf(phase: Phase, store: Store, pids: ReadonlyMap<string, number>): Promise<Found> {
  const before = new Map([...pids].map(([name, pid]) => [name, threadsOf(pid)]))
  const calls: CallTimes[] = []
  const start = performance.now()
  for (let turn = 0; turn < phase.count; turn++) {
    if (phase.every > 0) await pause(Math.max(0, start + turn * phase.every - performance.now()))
    const began = nanosNow()
    await store.put('trace/lone', VALUE)
    calls.push({ began, ended: nanosNow() })
  }
  const threads = new Map(
    [...pids].map(([name, pid]) => [name, spent(before.get(name) as Threads, threadsOf(pid))]),
  )
  return { phase, calls, threads }
}

const notesOf = async (folder: string, pid: number): Promise<Note[]> =>
  JSON.parse(await readFile(join(folder, `${pid}.json`), 'utf8')) as Note[]

function tell({ phase, calls, threads }: Found, [client, ...members]: readonly Traced[], stage: Stage): void {
  const { name, count } = phase
  const id = `trace.${name}`
  const whole = median(calls.map(({ began, ended }) => (ended - began) / 1000))
  stage.fact(`${id}.whole`, `${name}: from the call to its answer`, Math.round(whole), 'µs')
  const paths = new Paths(client as Traced, members)
  const known = calls.map((call) => paths.of(call)).filter((path) => path !== undefined)
  const most = mostCommon(known)
  if (most === undefined)
    throw new Error(`${name}: no call could be followed from its answer to its beginning`)
  stage.fact(`${id}.share`, `${name}: calls that went this way`, round((100 * most.calls) / count), '%')
  for (const { what, micros } of most.hops)
    stage.fact(`${id}.${what}`, `${name}: ${what}`, Math.round(micros), 'µs')
  tellThreads(phase, threads, stage)
}

function tellThreads({ name, count }: Phase, threads: ReadonlyMap<string, Threads>, stage: Stage): void {
  for (const [who, { mainSleeps, otherSleeps, onCore, mainWaited }] of threads) {
    const facts = [
      ['wakes', 'wake-ups of its main thread a call', round(mainSleeps / count, 1), ''],
      ['others', 'wake-ups of its other threads a call', round(otherSleeps / count, 1), ''],
      ['cpu', 'on the cores a call', Math.round(onCore / count), 'µs'],
      ['waited', 'its main thread was ready and had no core, a call', Math.round(mainWaited / count), 'µs'],
    ] as const
    for (const [key, what, value, unit] of facts)
      stage.fact(`trace.${name}.${who}.${key}`, `${name}: ${who}, ${what}`, value, unit)
  }
}
