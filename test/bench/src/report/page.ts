// Rule: a run as a page, or as the marked part of a page that people write the rest of.

import { judge } from './goals.js'
import type { Report } from './report.js'
import { factTable, forPage, goalTable, loadTable } from './table.js'

const BEGIN = '<!-- bench: from here on made by the bench -->'
const END = '<!-- bench: up to here -->'

/**
 * The old page with this run in its marked part; without such a part, the run alone.
 * `picture`: where the chart is, as seen from the page.
 */
export function pageWith(old: string | undefined, report: Report, picture?: string): string {
  const drawn = picture === undefined ? '' : `![Locks a second and their p99 over callers](${picture})\n\n`
  const part = `${BEGIN}\n\n${drawn}${asPage(report)}\n${END}`
  const begin = old?.indexOf(BEGIN) ?? -1
  const end = old?.indexOf(END) ?? -1
  if (old === undefined || begin < 0 || end < begin) return `${part}\n`
  return old.slice(0, begin) + part + old.slice(end + END.length)
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
  parts.push('### What ran\n', `${report.systems.map((one) => `- ${one.name}: ${one.setting}`).join('\n')}\n`)
  if (report.failures.length > 0)
    parts.push('### What failed\n', `${report.failures.map((line) => `- ${line}`).join('\n')}\n`)
  return parts.join('\n')
}

export function machineLine({ machine, settings }: Report): string {
  const { cores, cpu, memoryGiB, node, system, syncMillis, loadAverage } = machine
  return [
    `${cores} cores (${cpu}), ${memoryGiB} GiB, ${system}, Node ${node}; 256 bytes and their sync take ${syncMillis} ms;`,
    `load average ${loadAverage} before the run. Each load: ${settings.warmUpSeconds} s to warm up, ${settings.seconds} s counted.\n`,
  ].join('\n')
}
