// Driver: puts one lock engine under three loads, one after the other.

import { newId, systemClock } from '@latchkey/base'
import type { EngineLocks } from '@latchkey/lock'
import { uptime } from 'node:os'

type Engine = Pick<EngineLocks<'bytes' | 'string'>, 'locks'>

export interface Speed {
  /** Locks taken and released a second. */
  readonly perSecond: number
  /** In ms: of one lock, taken and released. */
  readonly p50: number
  readonly p99: number
}

export interface Speeds {
  readonly alone: Speed
  readonly crowd: Speed
  readonly handOver: Speed
}

export const CROWD = 32
export const WAITERS = 8
const WARM_UP = 0.25
const clock = systemClock(uptime)

export async function measure(engine: Engine, seconds: number): Promise<Speeds> {
  const space = `bench/${newId()}`
  const load = (callers: number, keyOf: (caller: number) => string) =>
    run(engine, { callers, keyOf, millis: seconds * 1000 })
  return {
    alone: await load(1, () => `${space}/alone`),
    crowd: await load(CROWD, (caller) => `${space}/${caller}`),
    handOver: await load(WAITERS, () => `${space}/one`),
  }
}

interface Load {
  readonly callers: number
  readonly keyOf: (caller: number) => string
  readonly millis: number
}

async function run({ locks }: Engine, { callers, keyOf, millis }: Load): Promise<Speed> {
  const counted: number[] = []
  const from = clock.now() + millis * WARM_UP
  const until = from + millis
  const work = async (caller: number) => {
    const key = keyOf(caller)
    for (;;) {
      const begun = clock.now()
      if (begun >= until) return
      const hold = await locks.acquire(key, { lease: '30s', wait: '60s', renew: false })
      await hold.release()
      const ended = clock.now()
      if (begun >= from && ended < until) counted.push(ended - begun)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)))
  counted.sort((a, b) => a - b)
  const at = (part: number) => counted[Math.min(counted.length - 1, Math.floor(counted.length * part))] ?? 0
  return { perSecond: (counted.length * 1000) / millis, p50: at(0.5), p99: at(0.99) }
}
