// Driver: one contended lock, permit or leadership, handed from waiter to waiter in the order of their coming. Each waiter queues
// again behind the others as soon as it was served.

import { quantiles } from '../measure.js'
import type { System, SystemClient } from '../systems/system.js'
import type { Stage, SystemScene } from './scene.js'

const WAITERS = [8, 64]

export const handOver: SystemScene = {
  name: 'hand-over',
  about: 'one contended lock handed from waiter to waiter, 8 and 64 of them',
  on: 'any',
  async run(system, stage) {
    for (const waiters of WAITERS) await passAround(system, waiters, stage, 'hand-over', (one) => one.passOn)
  },
}

export const handOverOfKinds: SystemScene = {
  name: 'hand-over-kinds',
  about: 'a lock, a permit and leadership handed from waiter to waiter, 8 of them',
  on: 'any',
  async run(system, stage) {
    await passAround(system, 8, stage, 'hand-over of a lock', (one) => one.passOn)
    await passAround(system, 8, stage, 'hand-over of a permit', (one) => one.passPermit)
    await passAround(system, 8, stage, 'hand-over of leadership', (one) => one.passLeadership)
  },
}

async function passAround(
  system: System,
  waiters: number,
  stage: Stage,
  load: string,
  passOf: (client: SystemClient) => SystemClient['passOn'],
): Promise<void> {
  const client = await system.connect()
  const passOn = passOf(client)
  if (passOn === undefined) return client.close()
  const gaps: number[] = []
  const lastTurn: number[] = []
  let turns = 0
  let errors = 0
  const start = performance.now() + stage.warmUpSeconds * 1000
  const end = start + stage.seconds * 1000
  let last = start
  const served = (waiter: number) => {
    const now = performance.now()
    // Strict order: whoever is served again must have let everybody else be served in between. Not in the
    // warm-up, while they come in, nor at the end, while they leave.
    const before = lastTurn[waiter]
    lastTurn[waiter] = ++turns
    if (now < start || now > end) return
    if (before !== undefined && turns - before !== waiters) errors++
    gaps.push(now - last)
    last = now
  }
  const wait = async (waiter: number): Promise<void> => {
    while (performance.now() < end) {
      await passOn('contended', waiter, () => served(waiter)).catch(() => {
        errors++
      })
    }
  }
  await Promise.all(Array.from({ length: waiters }, (_, waiter) => wait(waiter)))
  await client.close()
  stage.row({
    ...{ system: system.name, load, callers: waiters, samples: gaps.length, errors },
    perSecond: Math.round(gaps.length / stage.seconds),
    ...quantiles(gaps.slice(1)),
  })
}
