// Driver: how long a start takes: the command's, one member's, that of a new cluster, and Node's own for comparison.

import { once } from 'node:events'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { LATCHKEY, nodeProcess } from '@latchkey/test-chaos/command'
import { quantiles } from '../measure.js'
import { pause } from '../pause.js'
import { residentMiB } from '../processes.js'
import type { OwnScene, Stage } from './scene.js'

export const start: OwnScene = {
  name: 'start',
  about:
    'from the start of a process: Node alone, --version, put; a member alone and three new ones until all are ready',
  on: 'own',
  run,
}

const WHAT = {
  node: 'node -e 0, from its start to its end',
  version: 'latchkey --version, from its start to its end',
  put: 'latchkey put, from its start to its end',
  one: 'a new member alone: ready after',
  three: 'three new members with their leader: all ready after',
  memory: 'memory of the biggest of these, idle for two seconds',
} as const

/** Each round measures everything once, so that a slow minute of the machine meets all of them. */
async function run(stage: Stage): Promise<void> {
  const rounds: Record<keyof typeof WHAT, number>[] = []
  for (let round = 0; round < (stage.quick ? 3 : 7); round++) rounds.push(await measureAll())
  for (const name of Object.keys(WHAT) as (keyof typeof WHAT)[]) {
    const median = quantiles(rounds.map((round) => round[name])).p50
    stage.fact(`start.${name}`, WHAT[name], Math.round(median), name === 'memory' ? 'MB' : 'ms')
  }
}

async function measureAll() {
  const node = await processMillis(['-e', '0'])
  const version = await processMillis([LATCHKEY, '--version'])
  const { millis: one, result: put } = await clusterMillis(1, ({ urls }) =>
    processMillis([LATCHKEY, 'put', 'start', 'x', '--endpoint', urls.join(',')]),
  )
  const { millis: three, result: memory } = await clusterMillis(3, idleMegabytes)
  return { node, version, put, one, three, memory }
}

const IDLE_MILLIS = 2_000

async function idleMegabytes({ members }: Cluster): Promise<number> {
  await pause(IDLE_MILLIS)
  return Math.max(...members.map((member) => residentMiB(member.pid as number))) * (1024 ** 2 / 1e6)
}

async function processMillis(args: readonly string[]): Promise<number> {
  const began = performance.now()
  const run = nodeProcess(args)
  run.child.stdin?.end()
  const ended = once(run.child, 'exit').then(() => performance.now() - began)
  const { code, err } = await run.ended
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`)
  return ended
}

/** The time until a new cluster is ready, and the result of what is done with it then. */
async function clusterMillis<Result>(size: number, use: (cluster: Cluster) => Promise<Result>) {
  const began = performance.now()
  const cluster = await Cluster.start({ size })
  const millis = performance.now() - began
  try {
    return { millis, result: await use(cluster) }
  } finally {
    await cluster.destroy()
  }
}
