// Driver: how long one command keeps a member from everything else: the commands that take longest, one at a time.
// In each member a timer of a millisecond tells how late it was at the most, with and without its wait for a core.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Store } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { until } from '@latchkey/test-chaos/until'
import { quantiles, round } from '../measure.js'
import { pause } from '../pause.js'
import { inSteps } from '../steps.js'
import type { OwnScene, Stage } from './scene.js'

const PRELOAD = new URL('../turns-preload.js', import.meta.url).href

export const turns: OwnScene = {
  name: 'turns',
  about: 'the longest turn that single large commands cause on a member',
  on: 'own',
  async run(stage) {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-turns-'))
    try {
      const env = { BENCH_TURNS_FOLDER: folder, NODE_OPTIONS: `--import ${PRELOAD}` }
      const cluster = await Cluster.start({ env })
      await measureTurns(cluster, folder, stage).finally(() => cluster.destroy())
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

/** What the machine adds is not the same each time: the median of so many. */
const ROUNDS = 3

async function measureTurns(cluster: Cluster, folder: string, stage: Stage): Promise<void> {
  const { rows, locks } = stage.quick ? { rows: 5_000, locks: 1_000 } : { rows: 100_000, locks: 10_000 }
  const store = await connect(cluster.urls)
  const found = new Map<string, { readonly what: string; readonly rounds: Longest[] }>()
  for (let round = 0; round < ROUNDS; round++) {
    const holder = await connect(cluster.urls)
    await fill(store, rows)
    await inSteps([...Array(locks).keys()], 500, (i) =>
      holder.locks.acquire(`turns/${i}`, { lease: '5m', renew: false }),
    )
    for (const [id, what, command] of commands(store, holder, rows)) {
      const known = found.get(id) ?? { what, rounds: [] }
      known.rounds.push(await longestTurn(cluster, folder, command))
      found.set(id, known)
    }
  }
  await store.close()
  const medians = [...found].map(([id, { what, rounds }]) => {
    const [turn, late] = [rounds.map((one) => one.turn), rounds.map((one) => one.late)]
    return { id, what, turn: round(quantiles(turn).p50), late: round(quantiles(late).p50) }
  })
  for (const { id, what, turn } of medians) stage.fact(`turns.${id}`, `longest turn, ${what}`, turn, 'ms')
  const ofCommands = medians.filter(({ id }) => id !== 'idle')
  const most = (each: readonly number[]) => Math.max(...each)
  const [turn, late] = [most(ofCommands.map((one) => one.turn)), most(ofCommands.map((one) => one.late))]
  stage.fact('turns.longest', 'longest turn of all these commands', turn, 'ms')
  stage.fact('turns.late', 'longest delay of a timer, with the wait for a free core', late, 'ms')
}

const keyOf = (i: number) => `turns/${String(i).padStart(8, '0')}`
const VALUE = new Uint8Array(100).fill(120)
const LARGE = new Uint8Array(1024 * 1024).fill(120)
const AT_ONCE = 20_000
const LARGE_ONES = [...Array(15).keys()].map((i) => `large/${i}`)

async function fill(store: Store, count: number): Promise<void> {
  const step = 1_000
  await inSteps([...Array(count / step).keys()], 4, (part) => putRows(store, part * step, step))
}

const putRows = (store: Store, from: number, count: number) =>
  store.putAll(
    Array.from({ length: count }, (_, i) => ({ key: keyOf(from + i), value: VALUE })),
    { timeout: '30s' },
  )

type Command = readonly [id: string, what: string, run: () => Promise<unknown>]

/** In an order in which each finds what it needs; `holder` is closed by the last. */
function commands(store: Store, holder: Store, rows: number): readonly Command[] {
  const some = Array.from({ length: 4_096 }, (_, i) => keyOf((i * 7919) % rows))
  return [
    ['idle', 'without a command', () => pause(500)],
    ['putAll', `putAll of ${AT_ONCE} rows`, () => putRows(store, 0, AT_ONCE)],
    ['multiGet', 'multiGet of 4096 keys', () => store.multiGet(some)],
    ['put', 'put of 1 MiB', () => store.put('large/0', LARGE)],
    ['puts', '15 puts of 1 MiB at once', () => Promise.all(LARGE_ONES.map((key) => store.put(key, LARGE)))],
    ['deleteAll', 'deleteAll of these 15', () => store.deleteAll(LARGE_ONES)],
    ['query', 'a query of all held locks', () => store.locks.query()],
    ['deleteRange', 'deleteRange of all rows', () => store.deleteRange('turns/', 'turns0')],
    ['end', 'the end of a session with all held locks', () => holder.close()],
  ]
}

/** What a command leaves to be done in later turns is done. */
const SETTLE_MILLIS = 200

/** In ms: the longest turn, and how late a timer was at the most. */
interface Longest {
  readonly turn: number
  readonly late: number
}

/** The largest values of the three members. */
async function longestTurn(
  cluster: Cluster,
  folder: string,
  command: () => Promise<unknown>,
): Promise<Longest> {
  await longestSinceAsked(cluster, folder)
  await command()
  await pause(SETTLE_MILLIS)
  return longestSinceAsked(cluster, folder)
}

async function longestSinceAsked({ members }: Cluster, folder: string): Promise<Longest> {
  const each = members.map(async (member) => {
    member.signal('SIGUSR2')
    const file = join(folder, String(member.pid))
    const told = await until('a member tells its longest turn', () => readFile(file, 'utf8'))
    await rm(file)
    return JSON.parse(told) as Longest
  })
  const all = await Promise.all(each)
  return { turn: Math.max(...all.map(({ turn }) => turn)), late: Math.max(...all.map(({ late }) => late)) }
}
