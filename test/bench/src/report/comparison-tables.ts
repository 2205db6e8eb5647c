// Rule: two tables for readers who choose a system: the table of README.md, and the table about RheaKV in
// docs/performance.md. Both tables repeat figures of a whole run.

import { benchMarks, withPart } from './marked-part.js'
import type { LoadRow } from './report.js'
import { forPage, type Table, whole } from './table.js'

const NO_FIGURE = '—'

const rate = ({ perSecond }: LoadRow) => whole(perSecond)
const median = ({ p50 }: LoadRow) => `${p50.toFixed(2)} ms`

/** The lines of both tables. If a line has two loads, both measure the same, and it shows the first that counted a call. */
const LINES = [
  { label: 'lock acquired and released', loads: ['lock pair'], callers: 256, figure: rate },
  {
    label: 'one lock changes hands, 8 waiters',
    loads: ['hand-over', 'hand-over of a lock'],
    callers: 8,
    figure: rate,
  },
  { label: 'one lock changes hands, 64 waiters', loads: ['hand-over'], callers: 64, figure: rate },
  { label: 'put of 256 bytes', loads: ['put 256 B'], callers: 256, figure: rate },
  { label: 'linearizable get', loads: ['get'], callers: 256, figure: rate },
  {
    label: 'lock acquired and released by one caller, median time',
    loads: ['lock pair'],
    callers: 1,
    figure: median,
  },
] as const

/** The columns of README.md: the system, the head of the column, and whether the system refuses writes of a former holder. */
const README_COLUMNS = [
  ['Latchkey', 'Latchkey', 'yes'],
  ['Redlock', 'Redlock, 3 servers', 'no'],
  ['etcd', 'etcd', 'by your code'],
  ['ZooKeeper', 'ZooKeeper', 'by your code'],
  ['PostgreSQL', 'PostgreSQL, 1 server', 'by your code'],
] as const

const RHEAKV_COLUMNS = ['Latchkey', 'RheaKV', 'etcd']

const README = benchMarks('comparison')
const RHEAKV = benchMarks('comparison with RheaKV')

/** README.md with the figures of these rows. */
export function readmeWith(old: string, rows: readonly LoadRow[]): string {
  const table = [
    ['', ...README_COLUMNS.map(([, head]) => head)],
    [
      'the store refuses writes of a holder whose lease has ended',
      ...README_COLUMNS.map(([, , refuses]) => refuses),
    ],
    ...figures(
      rows,
      README_COLUMNS.map(([system]) => system),
    ),
  ]
  const kill = figureOf(rows, 'Latchkey', ['leader killed: gap'], 1, ({ p50 }) => `${Math.round(p50)} ms`)
  const text = `${onPage(table)}\n\nAfter \`kill -9\` of the leader, the next write succeeded after ${kill} (median).`
  const page = withPart(old, README, text)
  if (page === undefined)
    throw new Error(`the page of --readme has no part between the marks ${README[0]} and ${README[1]}`)
  return page
}

/** The page with the figures of these rows in its part about RheaKV; the same page if it has no such part. */
export const withRheakv = (page: string, rows: readonly LoadRow[]): string =>
  withPart(page, RHEAKV, onPage([['', ...RHEAKV_COLUMNS], ...figures(rows, RHEAKV_COLUMNS)])) ?? page

const onPage = (table: Table) => forPage(table, (column) => column > 0)

const figures = (rows: readonly LoadRow[], systems: readonly string[]): Table =>
  LINES.map(({ label, loads, callers, figure }) => [
    label,
    ...systems.map((system) => figureOf(rows, system, loads, callers, figure)),
  ])

function figureOf(
  rows: readonly LoadRow[],
  system: string,
  loads: readonly string[],
  callers: number,
  figure: (row: LoadRow) => string,
): string {
  const counted = rows.filter((row) => row.system === system && row.callers === callers && row.samples > 0)
  const row = loads.map((load) => counted.find((one) => one.load === load)).find((one) => one !== undefined)
  return row === undefined ? NO_FIGURE : figure(row)
}
