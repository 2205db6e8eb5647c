// Test: the list of faults of a failing run becomes shorter, and the run still fails in the same way.

import { expect, test } from 'vitest'
import { drawPlan } from '../raft/draw-faults.js'
import { drawOptions, type Options } from '../raft/options.js'
import { raftProfile } from '../raft/raft-profile.js'
import { fewer, setOption, shrink } from './shrink.js'

test('keeps exactly what is needed', async () => {
  const items = Array.from({ length: 100 }, (_, i) => i)
  const kept = await fewer(items, async (some) => some.includes(13) && some.includes(77))
  expect(kept).toEqual([13, 77])
})

test('finds that nothing is needed', async () => {
  expect(await fewer([1, 2, 3], async () => true)).toEqual([])
})

test('everything stays when everything is needed', async () => {
  const items = [1, 2, 3, 4, 5]
  expect(await fewer(items, async (some) => some.length === 5)).toEqual(items)
})

test('a run: only the two guilty faults stay, and the world becomes simple', async () => {
  const options = { ...drawOptions(7), clients: 5, drift: 0.05 }
  const faults = drawPlan(drawOptions(7))
  const [first, last] = [faults[1]?.number, faults[faults.length - 1]?.number]
  const small = await shrink({ options, faults }, raftProfile.simpler, async (candidate) => {
    const numbers = candidate.faults.map(({ number }) => number)
    return (
      numbers.includes(first as number) &&
      numbers.includes(last as number) &&
      (candidate.options as Options).drift > 0
    )
  })
  expect(small.faults.map(({ number }) => number)).toEqual([first, last])
  expect((small.options as Options).clients).toBe(1)
  expect((small.options as Options).drift).toBe(0.05)
  expect(small.settings).toContainEqual(['clients', 1])
  expect(small.runs).toBeLessThan(300)
})

test('an option by its path; an unknown path is an error', () => {
  const options = drawOptions(1)
  expect(setOption(options, ['network.tail', 0.5]).network.tail).toBe(0.5)
  expect(options.network.tail).not.toBe(0.5)
  expect(() => setOption(options, ['network.tal', 1])).toThrow('there is no option network.tal')
  expect(() => setOption(options, ['net.tail', 1])).toThrow(TypeError)
})
