// Test: a run replaces its own marked part of a page, and leaves the rest unchanged.

import { expect, test } from 'vitest'
import { pageWith } from './page.js'
import type { Report } from './report.js'

const report = {
  machine: { cores: 2, cpu: 'x', memoryGiB: 1, node: '20', system: 'linux', syncMillis: 1, loadAverage: 0 },
  settings: { warmUpSeconds: 1, seconds: 4, quick: false, scenes: [] },
  systems: [
    { name: 'Latchkey', setting: 'three members', tookPart: true },
    { name: 'Redis', setting: 'one server', tookPart: true },
  ],
  rows: [
    {
      system: 'Latchkey',
      load: 'hand-over',
      callers: 8,
      perSecond: 1_000,
      p50: 1,
      p99: 2,
      samples: 9,
      errors: 3,
    },
  ],
  facts: [],
  failures: [],
} satisfies Report

const part = (scenes: string, text: string) =>
  `<!-- bench${scenes}: from here on made by the bench -->${text}<!-- bench${scenes}: up to here -->`

test('a run of all scenes, or of scenes that have no part, goes into the part of whole runs, with all goals', () => {
  const page = `before\n${part('', 'stale')}\nbetween\n${part(' hand-over-kinds', 'kept')}\nafter`
  for (const only of [[], ['keys']]) {
    const next = pageWith(page, report, only)
    expect(next).not.toContain('stale')
    expect(next).toContain('### Goals')
    expect(next).toContain('| lock pairs, 256 callers | 14 x etcd | not measured | ? |')
    expect(next).toMatch(/^before\n[^]*\nbetween\n[^]*>kept<[^]*\nafter$/)
  }
})

test('a run of scenes that have a part of their own goes there: its rows with their errors, and what was measured', () => {
  const page = `before\n${part('', 'kept')}\nbetween\n${part(' hand-over-kinds', 'stale')}\nafter`
  const next = pageWith(page, report, ['hand-over-kinds'])
  expect(next).toMatch(/^before\n[^]*>kept<[^]*\nbetween\n[^]*\nafter$/)
  expect(next).not.toContain('stale')
  expect(next).not.toContain('### Goals')
  expect(next).toMatch(/\| Latchkey \| hand-over \| 8 \| 1,000 \| 1.00 \| 2.00 \| 9 \| 3 \|/)
  expect(next).toContain('The load average was 0 before the run')
  expect(next).not.toContain('Redis')
  expect(pageWith(next, report, ['hand-over-kinds'])).toBe(next)
})
