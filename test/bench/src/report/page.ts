// Rule: a run as a page, or as the marked part of a page that people write the rest of.

import { judge } from './goals.js'
import type { Report } from './report.js'
import { factTable, forPage, goalTable, loadTable } from './table.js'

/** `scenes`: of a part for a run of these scenes alone; '': of the part for whole runs. */
const marks = (scenes: string): readonly [begin: string, end: string] => [
  `<!-- bench${scenes}: from here on made by the bench -->`,
  `<!-- bench${scenes}: up to here -->`,
]

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
  const own = marks(` ${only.join(' ')}`)
  const isOwn = old?.includes(own[0]) === true
  const [beginMark, endMark] = isOwn ? own : marks('')
  const part = `${beginMark}\n\n${drawn}${isOwn ? shortPage(report) : asPage(report)}\n${endMark}`
  const begin = old?.indexOf(beginMark) ?? -1
  const end = old?.indexOf(endMark) ?? -1
  if (old === undefined || begin < 0 || end < begin) return `${part}\n`
  return old.slice(0, begin) + part + old.slice(end + endMark.length)
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
