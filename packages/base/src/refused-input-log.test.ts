// Test: refusals are counted by door and reason, and the log gets one short line of each kind in ten seconds.

import { expect, test } from 'vitest'
import { RefusalLog } from './refused-input-log.js'

function scene() {
  let now = 0
  const lines: Record<string, unknown>[] = []
  const nothing = () => {}
  const refusals = new RefusalLog({
    clock: { now: () => now },
    logger: { debug: nothing, info: nothing, error: nothing, warn: (_, fields) => lines.push(fields ?? {}) },
  })
  return { refusals, lines, pass: (ms: number) => (now += ms) }
}

test('C21: a thousand refusals of one kind have one line in ten seconds; the next line reports their number', () => {
  const { refusals, lines, pass } = scene()
  for (let i = 0; i < 1000; i++)
    refusals.note('clients', 'frame', 'a frame was refused', { reason: `no ${i}` })
  expect(lines).toEqual([{ door: 'clients', kind: 'frame', times: 1, reason: 'no 0' }])
  refusals.note('clients', 'hello', 'a client was refused')
  expect(lines).toHaveLength(2)
  pass(10_000)
  refusals.note('clients', 'frame', 'a frame was refused', { reason: 'late' })
  expect(lines[2]).toEqual({ door: 'clients', kind: 'frame', times: 1000, reason: 'late' })
  expect(refusals.counts()).toEqual([
    { door: 'clients', reason: 'frame', count: 1001 },
    { door: 'clients', reason: 'hello', count: 1 },
  ])
})

test("C21: a client's text has at most 200 characters of a line, and cannot make a second line", () => {
  const { refusals, lines } = scene()
  refusals.note('members', 'frame', 'a frame was refused', { reason: `a\n${'b'.repeat(16_000_000)}`, at: 7 })
  const [line] = lines
  expect(line).toMatchObject({ at: 7 })
  const reason = String(line?.['reason'])
  expect(reason.length).toBe(200)
  expect(reason).toMatch(/^a b+…$/)
})
