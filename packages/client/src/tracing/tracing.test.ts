// Test: how a store finds out whether tracing is on, and how it names spans, without an SDK. The tests of
// whole traces are in packages/latchkey/src/contract.

import { silentLogger } from '@latchkey/base'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { OpenTelemetry } from './open-telemetry.js'
import { Tracing, tracingOption } from './tracing.js'

afterEach(() => vi.restoreAllMocks())

test('OB1: to ask whether somebody listens allocates nothing', () => {
  const tracing = new Tracing('latchkey', silentLogger)
  const ask = (times: number) => {
    let listening = 0
    for (let i = 0; i < times; i++) if (tracing.followsCalls || tracing.isOn) listening++
    return listening
  }
  ask(20_000)
  const grown = Array.from({ length: 9 }, () => {
    const before = process.memoryUsage().heapUsed
    expect(ask(20_000)).toBe(0)
    return process.memoryUsage().heapUsed - before
  }).sort((a, b) => a - b)
  // One object for each question would be 20,000 times at least 16 bytes.
  expect(grown[4]).toBeLessThan(60_000)
})

test('a name that is no text is shown in hex, and a long one is cut', async () => {
  const tracing = new Tracing('latchkey', silentLogger)
  const shown: unknown[] = []
  vi.spyOn(OpenTelemetry.prototype, 'start').mockImplementation(({ attributes }) => {
    shown.push(attributes['latchkey.keys'])
    return undefined
  })
  const keys = [Uint8Array.of(0xfe, 1), Buffer.from('x'.repeat(4_000))]
  const done = await tracing.wait(
    'lock',
    keys,
    () => true,
    async () => 'done',
  )
  expect([done, shown]).toEqual(['done', [['fe01', 'x'.repeat(256)]]])
})

test('the option: true, false or left out', () => {
  expect([undefined, true, false].map(tracingOption)).toEqual([true, true, false])
  for (const wrong of ['yes', null, 1, {}])
    expect(() => tracingOption(wrong)).toThrow('tracing must be true or false')
})

test('only tracing: true needs the API of OpenTelemetry', async () => {
  vi.resetModules()
  vi.doMock('node:module', () => ({
    createRequire: () => () => {
      throw new Error('Cannot find module')
    },
  }))
  onTestFinished(() => vi.doUnmock('node:module'))
  const { tracingOption } = await import('./tracing.js')
  expect([undefined, false].map(tracingOption)).toEqual([true, false])
  expect(() => tracingOption(true)).toThrow(
    /^tracing: true needs the package @opentelemetry\/api.*Cannot find module.*Install the package/,
  )
})
