// Driver: the loads that every system is put under.

import { type Figures, measure } from '../measure.js'
import type { System } from '../systems/system.js'

export interface LoadRow extends Figures {
  readonly system: string
  readonly load: string
}

const VALUE = new Uint8Array(256).fill(120)
/** Keys that puts and gets go over. */
const KEYS = 1_000

export interface LoadOptions {
  readonly seconds: number
  readonly callers: readonly number[]
  tell(row: LoadRow): void
}

export async function runLoads(system: System, options: LoadOptions): Promise<LoadRow[]> {
  const rows: LoadRow[] = []
  const client = await system.connect()
  const run = async (
    load: string,
    callers: number,
    call: (caller: number, turn: number) => Promise<boolean>,
  ) => {
    const figures = await measure(call, { callers, seconds: options.seconds })
    const row = { system: system.name, load, ...figures }
    rows.push(row)
    options.tell(row)
  }
  try {
    const { lockPair, put, get } = client
    for (const callers of options.callers) {
      if (lockPair) await run('lock pair', callers, (caller) => lockPair(`lock/${caller}`))
    }
    const most = Math.max(...options.callers)
    if (put) await run('put 256 B', most, (caller, turn) => put(`key/${(caller * 31 + turn) % KEYS}`, VALUE))
    if (put && get) {
      for (let i = 0; i < KEYS; i++) await put(`key/${i}`, VALUE)
      await run('get', most, (caller, turn) => get(`key/${(caller * 31 + turn) % KEYS}`))
    }
  } finally {
    await client.close()
  }
  return rows
}
