// Test: a failing run becomes small, and stays failing in the same way.

import { expect, test } from 'vitest'
import { drawPlan } from '../swarm/faults.js'
import { drawOptions } from '../swarm/options.js'
import { fewer, setOption, shrink } from './shrink.js'

test('keeps exactly what is needed', () => {
  const items = Array.from({ length: 100 }, (_, i) => i)
  const kept = fewer(items, (some) => some.includes(13) && some.includes(77))
  expect(kept).toEqual([13, 77])
})

test('finds that nothing is needed', () => {
  expect(fewer([1, 2, 3], () => true)).toEqual([])
})

test('everything stays when everything is needed', () => {
  const items = [1, 2, 3, 4, 5]
  expect(fewer(items, (some) => some.length === 5)).toEqual(items)
})

test('a run: only the two guilty faults stay, and the world becomes simple', () => {
  const options = { ...drawOptions(7), clients: 5, goneAfter: 5_000 }
  const faults = drawPlan(drawOptions(7))
  const [first, last] = [faults[1]?.number, faults[faults.length - 1]?.number]
  const small = shrink({ options, faults }, (candidate) => {
    const numbers = candidate.faults.map(({ number }) => number)
    return (
      numbers.includes(first as number) && numbers.includes(last as number) && candidate.options.goneAfter > 0
    )
  })
  expect(small.faults.map(({ number }) => number)).toEqual([first, last])
  expect(small.options.clients).toBe(1)
  expect(small.options.goneAfter).toBe(5_000)
  expect(small.settings).toContain('clients=1')
  expect(small.runs).toBeLessThan(300)
})

test('an option by its path; an unknown path is an error', () => {
  const options = drawOptions(1)
  expect(setOption(options, 'network.loss', 0.5).network.loss).toBe(0.5)
  expect(options.network.loss).not.toBe(0.5)
  expect(() => setOption(options, 'network.los', 1)).toThrow('there is no option network.los')
  expect(() => setOption(options, 'net.loss', 1)).toThrow(TypeError)
})
