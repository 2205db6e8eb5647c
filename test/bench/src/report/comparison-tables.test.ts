// Test: the tables that compare systems show the figures of the table of loads, also in README.md and docs/performance.md.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readmeWith, withRheakv } from './comparison-tables.js'
import { benchMarks, withPart } from './marked-part.js'
import type { LoadRow } from './report.js'
import { loadTable } from './table.js'

const row = (system: string, load: string, callers: number, more: Partial<LoadRow>): LoadRow => ({
  ...{ system, load, callers, perSecond: 0, p50: 0, p99: 0, samples: 20, errors: 0 },
  ...more,
})

const README = `before\n${benchMarks('comparison').join('stale')}\nafter\n`
const RHEAKV = `before\n${benchMarks('comparison with RheaKV').join('stale')}\nafter\n`

const ROWS = [
  row('Latchkey', 'lock pair', 1, { perSecond: 694, p50: 1.333 }),
  row('Latchkey', 'lock pair', 256, { perSecond: 26_368, p50: 9 }),
  row('Latchkey', 'hand-over', 8, { perSecond: 907 }),
  row('Latchkey', 'hand-over of a lock', 8, { perSecond: 1_058 }),
  row('Latchkey', 'leader killed: gap', 1, { p50: 41.65 }),
  row('etcd', 'hand-over', 64, { perSecond: 292 }),
  row('ZooKeeper', 'hand-over', 8, { samples: 0 }),
  row('ZooKeeper', 'hand-over of a lock', 8, { perSecond: 575 }),
  row('ZooKeeper', 'hand-over', 64, { samples: 0 }),
  row('RheaKV', 'lock pair', 256, { perSecond: 6_357 }),
]

test('the table of README.md: a load that was not measured, or counted no call, has a dash', () => {
  const page = readmeWith(README, ROWS)
  expect(page).toMatch(/^before\n<!-- bench comparison: [^]* -->\nafter\n$/)
  expect(page).not.toContain('stale')
  expect(page).toContain('| lock acquired and released | 26,368 | — | — | — | — |')
  expect(page).toContain('| one lock changes hands, 8 waiters | 907 | — | — | 575 | — |')
  expect(page).toContain('| one lock changes hands, 64 waiters | — | — | 292 | — | — |')
  expect(page).toContain(
    '| lock acquired and released by one caller, median time | 1.33 ms | — | — | — | — |',
  )
  expect(page).toContain('succeeded after 42 ms (median)')
  expect(readmeWith(page, ROWS)).toBe(page)
  expect(readmeWith(README, [])).toContain('succeeded after — (median)')
})

test('the table about RheaKV', () => {
  const page = withRheakv(RHEAKV, ROWS)
  expect(page).not.toContain('stale')
  expect(page).toContain('| lock acquired and released | 26,368 | 6,357 | — |')
  expect(withRheakv(page, ROWS)).toBe(page)
})

test('a page without the part: a README is refused, and another page stays as it is', () => {
  expect(() => readmeWith('no marks', ROWS)).toThrow('no part between the marks')
  expect(withRheakv('no marks', ROWS)).toBe('no marks')
})

/** The rows of the table of loads that stands in this page. */
function rowsOf(page: string): LoadRow[] {
  const [, table = ''] = /\n### Loads\n\n([^]*?)\n\n/.exec(page) ?? []
  const cells = table.split('\n').map((line) => line.slice(2, -2).split(' | '))
  expect(cells[0]).toEqual(loadTable([])[0])
  const number = (cell = '') => Number(cell.replaceAll(',', ''))
  return cells.slice(2).map(([system = '', load = '', callers, perSecond, p50, p99, samples, errors]) => ({
    ...{ system, load, callers: number(callers), perSecond: number(perSecond), p50: number(p50) },
    ...{ p99: number(p99), samples: number(samples), errors: number(errors) },
  }))
}

const document = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')

test('README.md and the comparison with RheaKV show the figures of the table of loads in docs/performance.md', () => {
  const page = document('docs/performance.md')
  const rows = rowsOf(page)
  expect(rows.some(({ system }) => system === 'Latchkey')).toBe(true)
  expect(withRheakv(page, rows)).toBe(page)
  expect(withPart(page, benchMarks('comparison with RheaKV'), '')).toBeDefined()
  expect(readmeWith(document('README.md'), rows)).toBe(document('README.md'))
})
