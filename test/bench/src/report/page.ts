// Rule: a run as a page, or as the marked part of a page that people write the rest of.

import { judge } from './goals.js'
import { benchMarks, withPart } from './marked-part.js'
import type { Report } from './report.js'
import { factTable, forPage, goalTable, loadTable } from './table.js'

/**
 * The old page with this run in its marked part; without such a part, the run alone. A page may have a part for a
 * run of some scenes alone, which has no goals.
 * `only`: the scenes that ran. `picture`: where the chart is, as seen from the page.
 */
export function pageWith(
  old: string | undefined,
  report: Report,
  only: readonly string[] = [],
  picture?: string,
): string {
  const drawn = picture === undefined ? '' : `![Locks a second and their p99 over callers](${picture})\n\n`
  const own = benchMarks(only.join(' '))
  const isOwn = only.length > 0 && old?.includes(own[0]) === true
  const marks = isOwn ? own : benchMarks()
  const text = `${drawn}${isOwn ? shortPage(report) : asPage(report)}`
  return withPart(old ?? '', marks, text) ?? `${withPart(marks.join(''), marks, text)}\n`
}

function asPage(report: Report): string {
  const verdicts = judge(report)
  const parts = [
    machineLine(report),
    '### Goals\n',
    `${forPage(goalTable(verdicts))}\n`,
    '### Loads\n',
    `${forPage(loadTable(report.rows))}\n`,
  ]
  if (report.facts.length > 0) parts.push('### Sizes, times and counts\n', `${forPage(factTable(report))}\n`)
  parts.push('### What ran\n', whatRan(report))
  if (report.failures.length > 0) parts.push('### What failed\n', whatFailed(report))
  return parts.join('\n')
}

function shortPage(report: Report): string {
  const parts = [machineLine(report)]
  if (report.rows.length > 0) parts.push(`${forPage(loadTable(report.rows))}\n`)
  if (report.facts.length > 0) parts.push(`${forPage(factTable(report))}\n`)
  const measured = report.systems.filter(({ name }) => report.rows.some(({ system }) => system === name))
  parts.push(whatRan({ systems: measured }))
  if (report.failures.length > 0) parts.push('What failed:\n', whatFailed(report))
  return parts.join('\n')
}

const whatRan = ({ systems }: Pick<Report, 'systems'>) =>
  `${systems.map((one) => `- ${one.name}: ${one.setting}`).join('\n')}\n`

const whatFailed = ({ failures }: Report) => `${failures.map((line) => `- ${line}`).join('\n')}\n`

export function machineLine({ machine, settings }: Report): string {
  const { cores, cpu, memoryGiB, node, system, syncMillis, loadAverage } = machine
  return [
    `The machine has ${cores} cores (${cpu}), ${memoryGiB} GiB, ${system} and Node ${node}. A synced write of 256 bytes takes ${syncMillis} ms.`,
    `The load average was ${loadAverage} before the run. After a warm-up of ${settings.warmUpSeconds} s, the calls of each load were counted for ${settings.seconds} s.\n`,
  ].join('\n')
}
