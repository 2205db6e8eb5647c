// Test: the holds of withLock around a call, in a process with several stores.

import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test, vi } from 'vitest'
import { Around, flowArg } from './flow-for-deadlock-detection.js'

/** Calls `work` inside a hold of the lock `k`. */
const inside = <T>(around: Around, id: string, flow: string | null, work: () => T): T =>
  around.run(around.inside({ key: 'k', id, flow }), work)
const idsAround = (around: Around) => around.holds().map(({ id }) => id)

test('a store sees only its own holds, the innermost hold first', () => {
  const [store, other] = [new Around(), new Around()]
  inside(store, 'outer', 'flow of store', () =>
    inside(other, 'of other', null, () =>
      inside(store, 'inner', null, () => {
        expect(idsAround(store)).toEqual(['inner', 'outer'])
        expect(flowArg(store, undefined)).toEqual(['flow of store', ['inner', 'outer']])
        expect(idsAround(other)).toEqual(['of other'])
        expect(flowArg(other, undefined)).toEqual([null, ['of other']])
        expect(flowArg(new Around(), undefined)).toBeUndefined()
      }),
    ),
  )
  expect(idsAround(store)).toEqual([])
})

test('all stores share one AsyncLocalStorage, so closed stores make no later promise slower', () => {
  const run = vi.spyOn(AsyncLocalStorage.prototype, 'run')
  for (let store = 0; store < 5; store++) inside(new Around(), 'hold', null, () => {})
  expect(run.mock.calls).toHaveLength(5)
  expect(new Set(run.mock.contexts).size).toBe(1)
  run.mockRestore()
})
