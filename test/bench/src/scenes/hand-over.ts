// Driver: one contended lock, handed from waiter to waiter. Each waiter queues again behind the others as soon as it was served.

import { quantiles } from '../measure.js'
import type { System } from '../systems/system.js'
import type { LoadRow } from './loads.js'

export async function handOver(
  system: System,
  waiters: number,
  seconds: number,
): Promise<LoadRow | undefined> {
  const client = await system.connect()
  const { passOn } = client
  if (passOn === undefined) {
    await client.close()
    return undefined
  }
  const gaps: number[] = []
  let last = performance.now()
  let errors = 0
  let holders = 0
  const end = performance.now() + seconds * 1000
  const waiter = async (): Promise<void> => {
    while (performance.now() < end) {
      await passOn('contended', () => {
        // Two at once would be no lock.
        if (++holders > 1) errors++
        const now = performance.now()
        gaps.push(now - last)
        last = now
        holders--
      }).catch(() => errors++)
    }
  }
  await Promise.all(Array.from({ length: waiters }, waiter))
  await client.close()
  return {
    system: system.name,
    load: 'hand-over',
    callers: waiters,
    samples: gaps.length,
    errors,
    perSecond: Math.round(gaps.length / seconds),
    ...quantiles(gaps.slice(1)),
  }
}
