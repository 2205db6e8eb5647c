// Driver: what one caller meets who takes a lock now and then, as most do: on members that have just started, and
// on members that have worked for some time.

import { type Call, paced, pacedCount, pacedFigures } from '../measure.js'
import { pause } from '../pause.js'
import type { System } from '../systems/system.js'
import type { Stage, SystemScene } from './scene.js'

/** Its members have only just started when it is the first scene on them, as it is in the plan. */
export const everyday: SystemScene = {
  name: 'everyday',
  about: 'locks taken and released at 1, 10 and 50 a second by one caller, on members that have just started',
  on: 'any',
  run: (system, stage) => run(system, stage, 'fresh'),
}

export const everydayLater: SystemScene = {
  name: 'everyday-later',
  about: 'the same on members that have done the scenes before it, and then nothing for five seconds',
  on: 'any',
  run: (system, stage) => run(system, stage, 'old'),
}

/**
 * The calls of a second, and for how many times the usual seconds they are counted. Ten a second come first,
 * because the goals are for those on fresh members.
 */
const PACES = [
  [10, 2],
  [50, 1],
  [1, 2],
] as const

async function run(system: System, stage: Stage, members: 'fresh' | 'old'): Promise<void> {
  const client = await system.connect()
  try {
    const { take, loadProcess } = client
    if (take === undefined) return
    if (members === 'old') await pause(IDLE_MILLIS)
    const pair: Call = async (_, turn) => {
      const release = await take(`everyday/${turn % KEYS}`)
      return release === undefined ? false : release()
    }
    for (const [perSecond, times] of PACES) {
      const seconds = stage.seconds * times
      const figures = loadProcess
        ? pacedFigures(await loadProcess.paced(perSecond, pacedCount(perSecond, seconds)), seconds)
        : await paced(pair, perSecond, seconds)
      stage.row({ system: system.name, load: loadOf(perSecond, members), ...figures })
    }
  } finally {
    await client.close()
  }
}

/** Old members have had nothing to do for so long, which is how a caller who comes now and then finds them. */
const IDLE_MILLIS = 5_000

/** A call that is late does not find its key taken by a call before it. */
const KEYS = 100

const loadOf = (perSecond: number, members: string) => `lock pair, ${perSecond} a second, ${members} members`
