// Driver: the loads that every system is put under: locks taken and released, puts, linearizable gets.

import {
  type Call,
  figuresOf,
  type MeasureOptions,
  round,
  type Samples,
  samplesOf,
  steadily,
} from '../measure.js'
import { cpuByProcess, spentSince } from '../processes.js'
import { inSteps } from '../steps.js'
import type { LoadProcess, System, SystemClient } from '../systems/system.js'
import type { LoadRow, Stage, SystemScene } from './scene.js'

const SIZE = 256
const VALUE = new Uint8Array(SIZE).fill(120)
/** Keys that puts and gets go over. */
const KEYS = 1_000

export const loads: SystemScene = {
  name: 'loads',
  about: 'locks taken and released, puts and linearizable gets, over callers',
  on: 'any',
  run: runLoads,
}

type Kind = Parameters<LoadProcess['closed']>[0]

const KINDS = ['pair', 'put', 'get'] as const
const LOADS = { pair: 'lock pair', put: 'put 256 B', get: 'get' } as const

async function runLoads(system: System, stage: Stage): Promise<void> {
  const client = await system.connect()
  try {
    await fill(client)
    await warmUp(client, stage)
    for (const kind of KINDS) {
      const call = callOf(client, kind)
      if (call === undefined) continue
      for (const callers of stage.callers) {
        const options = { ...stage, callers }
        const samples = () => samplesWith(client, kind, call, options)
        stage.row(await steadily(() => measured(system, LOADS[kind], samples, options)))
      }
    }
  } finally {
    await client.close()
  }
}

/** A system with a load process of its own makes the calls there. */
const samplesWith = ({ loadProcess }: SystemClient, kind: Kind, call: Call, options: MeasureOptions) =>
  loadProcess?.closed(kind, options) ?? samplesOf(call, options)

/** With what the servers spent meanwhile. */
async function measured(
  system: System,
  load: string,
  samplesOnce: () => Promise<Samples>,
  { callers, seconds }: MeasureOptions,
): Promise<LoadRow> {
  const before = cpuByProcess(system.pids())
  const samples = await samplesOnce()
  const spent = spentSince(before, cpuByProcess(system.pids()))
  const serverMicros = round((spent * 1e6) / samples.calls)
  return { system: system.name, load, ...figuresOf(samples, callers, seconds), serverMicros }
}

const keyOf = (caller: number, turn: number) => `key/${(caller * 31 + turn) % KEYS}`

/** undefined: the system has no such call. */
function callOf({ take, put, get }: SystemClient, kind: Kind): Call | undefined {
  if (kind === 'pair')
    return (
      take &&
      (async (caller) => {
        const release = await take(`lock/${caller}`)
        return release === undefined ? false : release()
      })
    )
  if (kind === 'put') return put && ((caller, turn) => put(keyOf(caller, turn), VALUE))
  return get && (async (caller, turn) => (await get(keyOf(caller, turn)))?.length === SIZE)
}

/** The keys that are read. */
async function fill({ put }: SystemClient): Promise<void> {
  const keys = Array.from({ length: KEYS }, (_, i) => keyOf(0, i))
  if (put !== undefined) await inSteps(keys, WARM_CALLERS, (key) => put(key, VALUE))
}

const WARM_CALLERS = 64
const WARM_SECONDS = 5

/** What is compiled while it runs has to be compiled first, here and in servers of Java or JavaScript. */
async function warmUp(client: SystemClient, { quick }: Stage): Promise<void> {
  const options = { callers: WARM_CALLERS, seconds: quick ? 1 : WARM_SECONDS, warmUpSeconds: 0 }
  for (const kind of KINDS) {
    const call = callOf(client, kind)
    if (call !== undefined) await samplesWith(client, kind, call, options)
  }
}
