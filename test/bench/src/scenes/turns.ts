// Driver: how long one command keeps a member from everything else: the commands that take longest, one at a time.
// Each member's own timer of ten milliseconds tells how late it was at the most.

import { connect, type Store } from '@latchkey/client'
import { ask } from '@latchkey/test-chaos/ask'
import type { Cluster } from '@latchkey/test-chaos/cluster'
import { quantiles, round } from '../measure.js'
import { pause } from '../pause.js'
import { inSteps } from '../steps.js'
import type { LatchkeyScene, Stage } from './scene.js'

export const turns: LatchkeyScene = {
  name: 'turns',
  about: 'the longest turn that single large commands cause on a member',
  on: 'latchkey',
  fresh: true,
  run: ({ cluster }, stage) => run(cluster, stage),
}

/** What the machine adds is not the same each time: the median of so many. */
const ROUNDS = 3

async function run(cluster: Cluster, stage: Stage): Promise<void> {
  const { rows, locks } = stage.quick ? { rows: 5_000, locks: 1_000 } : { rows: 100_000, locks: 10_000 }
  const store = await connect(cluster.urls)
  const found = new Map<string, { readonly what: string; readonly millis: number[] }>()
  for (let round = 0; round < ROUNDS; round++) {
    const holder = await connect(cluster.urls)
    await fill(store, rows)
    await inSteps([...Array(locks).keys()], 500, (i) =>
      holder.locks.acquire(`turns/${i}`, { lease: '5m', renew: false }),
    )
    for (const [id, what, command] of commands(store, holder, rows)) {
      const known = found.get(id) ?? { what, millis: [] }
      known.millis.push(await longestTurn(cluster, command))
      found.set(id, known)
    }
  }
  await store.close()
  const medians = [...found].map(([id, { what, millis }]) => ({ id, what, median: quantiles(millis).p50 }))
  for (const { id, what, median } of medians)
    stage.fact(`turns.${id}`, `longest turn, ${what}`, round(median), 'ms')
  const ofCommands = medians.filter(({ id }) => id !== 'idle').map(({ median }) => round(median))
  stage.fact('turns.longest', 'longest turn of all these commands', Math.max(...ofCommands), 'ms')
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

/** A member computes its figures once for all who ask within a moment. */
const FIGURES_ANEW_MILLIS = 300
/** The interval of the member's timer is part of what it tells. */
const TIMER_MILLIS = 10

/** Of the member whose turn was longest. */
async function longestTurn(cluster: Cluster, command: () => Promise<unknown>): Promise<number> {
  await latest(cluster)
  await command()
  await pause(FIGURES_ANEW_MILLIS)
  return Math.max(...(await latest(cluster)).map((seconds) => seconds * 1000 - TIMER_MILLIS), 0)
}

/** How late each member's timer was at the most since it was asked last, in seconds. */
const latest = (cluster: Cluster): Promise<number[]> =>
  Promise.all(
    cluster.members.map(async ({ http }) => {
      const answer = await ask(`${http}/metrics`, { timeout: 5_000 })
      const found = /^nodejs_eventloop_lag_max_seconds ([\d.e-]+)/m.exec(answer?.body ?? '')
      if (found === null) throw new Error('a member does not tell how late its timer was')
      return Number(found[1])
    }),
  )
