// Driver: one contended lock, permit or leadership, handed from waiter to waiter in the order of their coming. Each waiter queues
// again behind the others as soon as it was served.

import { figuresOf, type Samples, steadily } from '../measure.js'
import type { System, SystemClient, Waiting } from '../systems/system.js'
import type { LoadRow, Stage, SystemScene } from './scene.js'

const WAITERS = [8, 64]
const OF_A_LOCK = 'hand-over'
/** The same where the client has no queue, but a call that waits. */
const WITH_A_TIME = 'hand-over, tryLock with a time'

/** How a load process waits in each of these loads. */
const WAITING: Readonly<Record<string, Waiting>> = { [OF_A_LOCK]: 'loop', [WITH_A_TIME]: 'time' }

export const handOver: SystemScene = {
  name: 'hand-over',
  about: 'one contended lock handed from waiter to waiter, 8 and 64 of them',
  on: 'any',
  async run(system, stage) {
    for (const waiters of WAITERS) {
      await passAround(system, waiters, stage, OF_A_LOCK, (one) => one.passOn)
      await passAround(system, waiters, stage, WITH_A_TIME, () => undefined)
    }
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
  try {
    const passOn = passOf(client)
    const { loadProcess } = client
    const waiting = WAITING[load]
    const samples =
      loadProcess !== undefined && waiting !== undefined
        ? () => loadProcess.passOn(waiting, waiters, stage)
        : passOn && (() => gapsOf(passOn, waiters, stage))
    if (samples === undefined) return
    const once = async (): Promise<LoadRow> => ({
      ...{ system: system.name, load, ...figuresOf(await samples(), waiters, stage.seconds) },
    })
    stage.row(await steadily(once))
  } finally {
    await client.close()
  }
}

/** The times between one waiter that is served and the next. */
async function gapsOf(
  passOn: NonNullable<SystemClient['passOn']>,
  waiters: number,
  stage: Stage,
): Promise<Samples> {
  const millis: number[] = []
  const ends: number[] = []
  const lastTurn: number[] = []
  const faults: string[] = []
  let turns = 0
  const start = performance.now() + stage.warmUpSeconds * 1000
  const end = start + stage.seconds * 1000
  let last: number | undefined
  const served = (waiter: number) => {
    const now = performance.now()
    // Strict order: whoever is served again must have let everybody else be served in between. Not in the
    // warm-up, while they come in, nor at the end, while they leave.
    const before = lastTurn[waiter]
    lastTurn[waiter] = ++turns
    if (now < start || now > end) return
    if (before !== undefined && turns - before !== waiters) faults.push('a waiter was served out of order')
    if (last !== undefined) {
      millis.push(now - last)
      ends.push(now - start)
    }
    last = now
  }
  const wait = async (waiter: number): Promise<void> => {
    while (performance.now() < end) {
      await passOn('contended', waiter, () => served(waiter)).catch((error: unknown) => {
        faults.push(String(error))
      })
    }
  }
  await Promise.all(Array.from({ length: waiters }, (_, waiter) => wait(waiter)))
  const [firstError] = faults
  const told = firstError === undefined ? {} : { firstError }
  return { ...{ calls: turns, millis, ends, errors: faults.length }, ...told }
}
