// Driver: the loads that every system is put under: locks taken and released, puts, linearizable gets.

import { type Call, measure, round } from '../measure.js'
import { cpuByProcess, spentSince } from '../processes.js'
import type { System, SystemClient } from '../systems/system.js'
import type { Stage, SystemScene } from './scene.js'

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

async function runLoads(system: System, stage: Stage): Promise<void> {
  const client = await system.connect()
  const run = async (load: string, callers: number, call: Call) => {
    let calls = 0
    const counted: Call = (caller, turn) => {
      calls++
      return call(caller, turn)
    }
    const before = cpuByProcess(system.pids())
    const figures = await measure(counted, { ...stage, callers })
    const seconds = spentSince(before, cpuByProcess(system.pids()))
    stage.row({ system: system.name, load, ...figures, serverMicros: round((seconds * 1e6) / calls) })
  }
  try {
    const { take, put, get } = client
    await warmUp(client, stage)
    if (take) {
      const pair = async (caller: number) => {
        const release = await take(`lock/${caller}`)
        return release === undefined ? false : release()
      }
      for (const callers of stage.callers) await run('lock pair', callers, pair)
    }
    const most = Math.max(...stage.callers)
    const keyOf = (caller: number, turn: number) => `key/${(caller * 31 + turn) % KEYS}`
    if (put) await run('put 256 B', most, (caller, turn) => put(keyOf(caller, turn), VALUE))
    if (put && get) {
      await Promise.all(Array.from({ length: KEYS }, (_, i) => put(keyOf(0, i), VALUE)))
      await run('get', most, async (caller, turn) => (await get(keyOf(caller, turn)))?.length === SIZE)
    }
  } finally {
    await client.close()
  }
}

const WARM_CALLERS = 64

/** What is compiled while it runs has to be compiled first, here and in servers of Java or JavaScript. */
async function warmUp({ take, put }: SystemClient, { quick }: Stage): Promise<void> {
  const options = { callers: WARM_CALLERS, seconds: quick ? 1 : 5, warmUpSeconds: 0 }
  await measure(async (caller) => {
    const release = await take?.(`warm/${caller}`)
    if (put) await put(`warm/${caller}`, VALUE)
    return release === undefined || release()
  }, options)
}
