// Test: a process that stood still hears everything in its order.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { Ground } from './ground.js'
import { Host } from '@latchkey/raft/memory'

const TRUE_CLOCK = { rate: 1, uptime: 1_000, wallAhead: 0, lateness: () => 0 }

test.each([1, 2, 3, 4])(
  'T2: what comes at the moment of waking overtakes nothing that waited, seed %i',
  async (seed) => {
    const ground = new Ground()
    const host = new Host(ground, 0, 'a', seededRandom(`wake/${seed}`), TRUE_CLOCK)
    const life = host.start()
    const heard: string[] = []
    const hear = (word: string) => life.deliver(() => heard.push(word))
    ground.at(10, () => host.stop(false))
    ground.at(20, () => hear('first'))
    ground.at(30, () => hear('second'))
    ground.at(40, () => {
      host.resume(false)
      hear('third')
    })
    // It stands still again before it has heard them.
    ground.at(40, () => host.stop(false))
    ground.at(40, () => hear('fourth'))
    ground.at(50, () => host.resume(false))
    await ground.run(100, () => {})
    expect(heard).toEqual(['first', 'second', 'third', 'fourth'])
  },
)
