// Driver: runs one load of `latchkey bench` on a store. Several callers run for a given time, and each caller
// makes one call after another.

import type { Clock } from '@latchkey/base'
import type { CommandStore } from './command-io-interface.js'

interface Load {
  readonly name: string
  run(store: CommandStore, caller: number, turn: number): Promise<unknown>
}

export interface LoadResult {
  readonly name: string
  readonly callers: number
  readonly samples: number
  readonly errors: number
  readonly perSecond: number
  /** In ms, like p99 and max. */
  readonly p50: number
  readonly p99: number
  readonly max: number
}

const VALUE = new Uint8Array(256).fill(120)

/** Each caller has its own keys, so no call waits for the lock of another caller. */
export const loadsUnder = (prefix: string): readonly Load[] => [
  {
    name: 'lock and release',
    async run(store, caller) {
      const id = `bench-${caller}`
      const key = `${prefix}lock/${caller}`
      const owner = await store.tryLockWith(key, undefined, false, { id, lease: '10s' })
      if (!owner.success) throw new Error(`the lock ${key} is taken`)
      return store.releaseLockWith(key, { id, lease: '10s', fencingToken: owner.fencingToken })
    },
  },
  { name: 'put 256 B', run: (store, caller, turn) => store.put(`${prefix}${caller}/${turn % 100}`, VALUE) },
  { name: 'get', run: (store, caller, turn) => store.get(`${prefix}${caller}/${turn % 100}`) },
]

export async function measure(
  load: Load,
  store: CommandStore,
  callers: number,
  seconds: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<LoadResult> {
  const warm = clock.now() + Math.min(1, seconds / 5) * 1000
  const end = clock.now() + seconds * 1000
  const millis: number[] = []
  let errors = 0
  const caller = async (number: number): Promise<void> => {
    for (let turn = 0; clock.now() < end && !signal.aborted; turn++) {
      const started = clock.now()
      try {
        await load.run(store, number, turn)
        if (started >= warm) millis.push(clock.now() - started)
      } catch {
        errors++
        await new Promise<void>((resolve) => clock.after(10, resolve))
      }
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, number) => caller(number)))
  return { ...summary(millis, (end - warm) / 1000), name: load.name, callers, errors }
}

function summary(millis: number[], seconds: number) {
  const sorted = Float64Array.from(millis).sort()
  const at = (part: number) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)
  return {
    samples: sorted.length,
    perSecond: Math.round(sorted.length / seconds),
    p50: at(0.5),
    p99: at(0.99),
    max: at(1),
  }
}

const round = (value: number) => Math.round(value * 100) / 100
