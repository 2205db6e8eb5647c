// Test: effects are executed in the order in which the core returned them, and none is executed after the
// node has stopped.

import { expect, test } from 'vitest'
import type { Effect } from '../core/index.js'
import { EffectQueue } from './effect-queue.js'

const effect = (to: number): Effect => ({ type: 'commit', from: to - 1, to })

/** Records each effect instead of carrying it out; `then` may add more effects. */
function scene(then: (to: number, queue: EffectQueue) => void = () => {}) {
  const done: number[] = []
  const queue: EffectQueue = new EffectQueue((one) => {
    const { to } = one as { readonly to: number }
    done.push(to)
    then(to, queue)
  })
  return { queue, done, run: (...all: number[]) => queue.run(all.map(effect)) }
}

test('N1: effects of a call that is made while effects are carried out come after these', () => {
  const { run, done } = scene((to, queue) => {
    if (to === 1) queue.run([effect(10), effect(11)])
    if (to === 10) queue.run([effect(100)])
  })
  run(1, 2, 3)
  run()
  run(4)
  expect(done).toEqual([1, 2, 3, 10, 11, 100, 4])
})

// Without this law: the log fails during a call of the core, and the votes and acknowledgements of the same
// call are sent all the same.
test("A5: after a stop no effect is carried out, neither the rest of that call nor a later call's", () => {
  const { queue, run, done } = scene((to, all) => {
    if (to !== 2) return
    all.run([effect(20)])
    all.stop()
    all.run([effect(21)])
  })
  run(1, 2, 3)
  run(4)
  expect(done).toEqual([1, 2])
  queue.stop()
  run(5)
  expect(done).toEqual([1, 2])
})

test('an effect that throws drops the other effects of its call, and no effect of a later call', () => {
  const { run, done } = scene((to) => {
    if (to === 2) throw new Error('no effect like that')
  })
  expect(() => run(1, 2, 3)).toThrow('no effect like that')
  run(4)
  expect(done).toEqual([1, 2, 4])
})
