// Test: the bench of lock engines runs on locks in memory, and writes its table into a page.

import { memoryLocks } from '@latchkey/locks'
import { expect, test } from 'vitest'
import { engineTable, pageWithSpeeds } from './engines-table.js'
import { measure } from './measure.js'

test('each load counts what was taken and released', async () => {
  await using engine = memoryLocks()
  const speeds = await measure(engine as never, 2)
  for (const { perSecond, p50, p99 } of Object.values(speeds)) {
    expect(perSecond).toBeGreaterThan(0)
    expect(p99).toBeGreaterThanOrEqual(p50)
  }
})

test('the table replaces its part of a page, and a page without one is left alone', () => {
  const speed = { perSecond: 1234.5, p50: 0.123, p99: 45.6 }
  const speeds = { alone: speed, crowd: speed, handOver: speed }
  const table = engineTable([
    { name: 'a', setting: 's', speeds },
    { name: 'b', setting: 't', speeds: 'it was not there' },
  ])
  expect(table).toContain('| a | 1235 | 0.12 | 46 |')
  expect(table).toContain('| b | not measured |')
  const page =
    'x\n<!-- engines: from here on made by npm run bench -- --engines -->\nold\n<!-- engines: up to here -->\ny\n'
  const next = pageWithSpeeds(page, table) ?? ''
  expect(next).toContain('| a | 1235')
  expect(next).not.toContain('old')
  expect([next.startsWith('x\n'), next.endsWith('y\n')]).toEqual([true, true])
  expect(pageWithSpeeds('nothing', table)).toBeUndefined()
})
