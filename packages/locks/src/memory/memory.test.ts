// Test: the suite of lock engines passes on locks in memory. Also: the features that only locks in memory
// have.

import { newId, systemClock, utf8 } from '@latchkey/base'
import type { EngineHold } from '@latchkey/lock'
import { expect, test } from 'vitest'
import { engineCallTests } from '../suite/engine-call-tests.js'
import { engineHistory, judgeHolds, type RecordedHold } from '../suite/random-concurrent-calls.js'
import { engineSuite } from '../suite/engine-suite.js'
import { LockMemory } from './locks-in-memory.js'
import { memoryEngine, memoryLocks } from './memory-lock-engine.js'

const memory = new LockMemory()
engineSuite(test, async ({ poll, patience }) => {
  const engine = memoryLocks({ memory, poll, patience })
  return { ...engine, guardedWrite: async (hold) => engine.guard(hold) }
})
engineCallTests(test, memoryEngine(memory))

test('an own memory is shared with nobody; an unknown option is a TypeError', async () => {
  await using a = memoryLocks({ as: 'string' })
  await using b = memoryLocks()
  const hold = await a.locks.acquire('k')
  expect(await b.locks.tryAcquire('k')).toMatchObject({ held: true })
  expect((await a.locks.query())[0]).toMatchObject({ key: 'k', fencingToken: hold.token })
  expect(() => memoryLocks({ pol: '1s' } as never)).toThrow(/unknown option "pol" of memoryLocks/)
  expect(() => memoryLocks({ poll: '1s', patience: '1s' })).toThrow(/at least two polls/)
})

test('what this engine has not is refused with a TypeError, and takes nothing', async () => {
  await using a = memoryLocks()
  await expect(a.locks.acquire('k', { mode: 'shared' })).rejects.toThrow(TypeError)
  await expect(a.locks.acquireAll(['k', 'l'])).rejects.toThrow(/one by one/)
  await expect(a.locks.acquire('k', { fencingKey: 'other' })).rejects.toThrow(TypeError)
  const hold = await a.locks.acquire('k')
  await expect(hold.downgrade()).rejects.toThrow(TypeError)
  await expect(hold.kv.put('x', 'y')).rejects.toThrow(/stores no keys/)
  await hold.release()
})

test('EN1: a hold begins at the time by which the one before it was over, also when the clock moves in between', async () => {
  let ms = 1000
  // Each reading is a millisecond later than the one before it.
  const now = () => ms++
  const memory = new LockMemory({ ...systemClock(() => 0), now })
  const engine = memoryEngine(memory)
  const request = { key: utf8('k'), context: null, queues: false, patience: 0, before: 1e9 }
  const holds: RecordedHold[] = []
  while (holds.length < 5) {
    const id = newId()
    const { hold, now: from, code } = await engine.take({ ...request, id, lease: 20 + holds.length })
    if (code === 'NEW_ACQUIRE' || code === 'FIRST_TIME')
      holds.push({ ...(hold as EngineHold), key: 'k', from, endedAt: undefined })
  }
  expect(judgeHolds(holds)).toEqual([])
})

test('EN1, EN2: thousands of random calls never make two holders', async () => {
  const shared = new LockMemory()
  const engines = [memoryEngine(shared), memoryEngine(shared)]
  const report = await engineHistory(engines, { operations: 20_000 })
  expect(report.violations).toEqual([])
  expect(report.holds).toBeGreaterThan(200)
})
