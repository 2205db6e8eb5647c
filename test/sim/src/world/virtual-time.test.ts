// Test: a process that was paused receives everything in the right order.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { VirtualTime } from './virtual-time.js'
import { Host } from '@latchkey/raft/memory'

const TRUE_CLOCK = { rate: 1, uptime: 1_000, wallAhead: 0, lateness: () => 0 }

test.each([1, 2, 3, 4])(
  'T2: what comes at the moment of waking overtakes nothing that waited, seed %i',
  async (seed) => {
    const time = new VirtualTime()
    const host = new Host(time, 0, 'a', seededRandom(`wake/${seed}`), TRUE_CLOCK)
    const life = host.start()
    const heard: string[] = []
    const hear = (word: string) => life.deliver(() => heard.push(word))
    time.at(10, () => host.stop(false))
    time.at(20, () => hear('first'))
    time.at(30, () => hear('second'))
    time.at(40, () => {
      host.resume(false)
      hear('third')
    })
    // It stands still again before it has heard them.
    time.at(40, () => host.stop(false))
    time.at(40, () => hear('fourth'))
    time.at(50, () => host.resume(false))
    await time.run(100, () => {})
    expect(heard).toEqual(['first', 'second', 'third', 'fourth'])
  },
)

test('CT2: a process that stalls behind a reading of its clock handles what comes next with the old reading', async () => {
  const time = new VirtualTime()
  const life = new Host(time, 0, 'a', seededRandom('stall'), TRUE_CLOCK).start()
  const { host } = life
  const seen: unknown[] = []
  const handle = (what: string) =>
    life.deliver(() => {
      const reading = life.clock.now()
      seen.push([what, time.now, reading - TRUE_CLOCK.uptime, life.takenAt(reading)])
      seen.push(life.clock.now() - TRUE_CLOCK.uptime)
    })
  time.at(1_000, () => {
    host.stall = 5_000
    handle('first')
  })
  time.at(2_000, () => handle('second'))
  await time.run(10_000, () => {})
  expect(seen).toEqual([['first', 6_000, 1, 1_000], 6, ['second', 6_000, 6, 6_000], 6])
})
