// Rule: the speeds of lock engines as a table, and as the marked part of a page that people write the rest of.

import { type Marks, withPart } from '../report/marked-part.js'
import { CROWD, type Speeds, WAITERS } from './measure.js'

export interface Row {
  readonly name: string
  readonly setting: string
  /** A text says why it was not measured. */
  readonly speeds: Speeds | string
}

const MARKS: Marks = [
  '<!-- engines: from here on made by npm run bench -- --engines -->',
  '<!-- engines: up to here -->',
]

const HEADS = [
  'engine',
  'one caller: locks/s',
  'p50 ms',
  'p99 ms',
  `${CROWD} callers, a lock each: locks/s`,
  'p99 ms',
  `${WAITERS} callers, one lock: locks/s`,
  'p99 ms',
  'what ran',
]

export function engineTable(rows: readonly Row[]): string {
  const lines = rows.map(({ name, setting, speeds }) => {
    if (typeof speeds === 'string') return [name, 'not measured', '', '', '', '', '', '', speeds]
    const { alone, crowd, handOver } = speeds
    return [
      name,
      rate(alone.perSecond),
      millis(alone.p50),
      millis(alone.p99),
      rate(crowd.perSecond),
      millis(crowd.p99),
      rate(handOver.perSecond),
      millis(handOver.p99),
      setting,
    ]
  })
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(HEADS), line(HEADS.map(() => '---')), ...lines.map(line)].join('\n')
}

/** The old page with the table in its marked part; undefined: it has none. */
export const pageWithSpeeds = (old: string, text: string): string | undefined => withPart(old, MARKS, text)

const rate = (perSecond: number): string => String(Math.round(perSecond))
const millis = (ms: number): string => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0))
