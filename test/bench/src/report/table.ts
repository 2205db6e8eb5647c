// Rule: tables, for a terminal and for a page.

import type { LoadRow, Report, Verdict } from './report.js'

export type Table = readonly (readonly string[])[]

const LOAD_HEAD = [
  'system',
  'load',
  'callers',
  'per second',
  'p50 ms',
  'p99 ms',
  'samples',
  'errors',
  'server CPU µs',
  'halves differ',
]

export const loadTable = (rows: readonly LoadRow[]): Table => [LOAD_HEAD, ...rows.map(loadLine)]

export function loadLine(row: LoadRow): string[] {
  const rate = row.perSecond === 0 ? '' : whole(row.perSecond)
  const counts = [whole(row.callers), rate, row.p50.toFixed(2), row.p99.toFixed(2), whole(row.samples)]
  const micros = row.serverMicros === undefined ? '' : whole(row.serverMicros)
  return [row.system, row.load, ...counts, whole(row.errors), micros, halves(row)]
}

const halves = ({ halvesDiffer, second }: LoadRow): string =>
  halvesDiffer === undefined ? '' : `${Math.round(halvesDiffer * 100)} %${second ? ', measured twice' : ''}`

export const factTable = ({ facts }: Pick<Report, 'facts'>): Table => [
  ['what', 'found'],
  ...facts.map(({ what, value, unit }) => [what, `${value >= 1000 ? whole(value) : value} ${unit}`.trim()]),
]

export const goalTable = (verdicts: readonly Verdict[]): Table => [
  ['goal', 'wanted', 'found', 'met'],
  ...verdicts.map(({ goal, wanted, found, met, aim }) => [
    ...[goal, aim ? `aim: ${wanted}` : wanted, found],
    met === undefined ? '?' : met ? 'yes' : aim ? 'not yet' : 'NO',
  ]),
]

/** The goals that the run measured, and the number of the other goals. */
export function goalsForTerminal(verdicts: readonly Verdict[]): string {
  const measured = verdicts.filter(({ met }) => met !== undefined)
  const others = verdicts.length - measured.length
  const parts = measured.length === 0 ? [] : [forTerminal(goalTable(measured))]
  if (others > 0)
    parts.push(
      `This run did not measure ${others} other goals and aims. To measure all of them, run \`npm run bench -- --peers\` on a machine with all peers.`,
    )
  return parts.join('\n\n')
}

export const whole = (value: number) => value.toLocaleString('en')

/** Columns in line; numbers to the right. */
export function forTerminal(table: Table): string {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((line) => line[column]?.length ?? 0)),
  )
  return table.map((line) => forTerminalLine(line, widths)).join('\n')
}

export const forTerminalLine = (line: readonly string[], widths: readonly number[]): string =>
  line
    .map((cell, i) => (isNumber(cell) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
    .join('  ')
    .trimEnd()

const isNumber = (cell: string) => /^[\d,.]+$/.test(cell)

/** `isRight`: whether a column is aligned to the right. */
export function forPage(table: Table, isRight = (column: number) => isNumeric(table, column)): string {
  const [head = [], ...lines] = table
  const rule = head.map((_, column) => (isRight(column) ? '---:' : '---'))
  return [head, rule, ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

const isNumeric = ([, ...lines]: Table, column: number) =>
  lines.length > 0 && lines.every((line) => isNumber(line[column] || '0'))
