// Driver: larger and larger values, and small calls beside large ones.

import { measure, paced, steadily } from '../measure.js'
import type { System } from '../systems/system.js'
import type { Stage, SystemScene } from './scene.js'

const CALLERS = 8
const KIB = [1, 16, 256, 1_024]

export const values: SystemScene = {
  name: 'values',
  about: 'puts and gets of 1 KiB to 1 MiB, and small puts beside puts of 1 MiB',
  on: 'any',
  async run(system, stage) {
    const client = await system.connect()
    try {
      const { put, get, loadProcess } = client
      // Large values would be measured on their way to the load process as well.
      if (put === undefined || get === undefined || loadProcess !== undefined) return
      for (const kib of stage.quick ? [1, 256] : KIB) {
        const value = valueOf(kib)
        const row = async (load: string, call: (caller: number) => Promise<boolean>) => {
          const figures = await steadily(() => measure(call, { ...halfOf(stage), callers: CALLERS }))
          stage.row({ system: system.name, load: `${load} ${kib} KiB`, ...figures })
        }
        await row('put', (caller) => put(`value/${caller}`, value))
        await row('get', async (caller) => (await get(`value/${caller}`))?.length === value.length)
      }
      await smallBesideLarge(system, stage)
    } finally {
      await client.close()
    }
  },
}

const valueOf = (kib: number) => new Uint8Array(kib * 1024).fill(120)

/** There are many sizes, and they are told apart by more than the noise of a short time. */
const halfOf = ({ seconds, warmUpSeconds }: Stage) => ({
  seconds: seconds / 2,
  warmUpSeconds: warmUpSeconds / 2,
})

const SMALL_A_SECOND = 50
const LARGE_A_SECOND = 5

/** What somebody meets who knows nothing of another one's large values: each has a connection. */
async function smallBesideLarge(system: System, stage: Stage): Promise<void> {
  const [small, large] = [await system.connect(), await system.connect()]
  const [little, much] = [valueOf(0.25), valueOf(1_024)]
  const seconds = stage.seconds * 2
  const smallPuts = async (when: string) => {
    const call = async (_: number, turn: number) =>
      (await small.put?.(`small/${turn % 100}`, little)) === true
    const figures = await paced(call, SMALL_A_SECOND, seconds)
    stage.row({ system: system.name, load: `small puts, ${SMALL_A_SECOND} a second, ${when}`, ...figures })
  }
  try {
    await smallPuts('alone')
    const call = async (_: number, turn: number) => (await large.put?.(`large/${turn % 10}`, much)) === true
    const largePuts = paced(call, LARGE_A_SECOND, seconds)
    await smallPuts('beside puts of 1 MiB')
    stage.row({
      ...{ system: system.name, load: `put 1 MiB, ${LARGE_A_SECOND} a second` },
      ...(await largePuts),
    })
  } finally {
    await Promise.all([small.close(), large.close()])
  }
}
