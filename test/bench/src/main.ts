// Driver: `npm run bench`: says what it finds as it goes, then all of it in tables and files.

import { readFile, writeFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { runEngines } from './engines/run-engines.js'
import { HELP, type Options, readOptions } from './options.js'
import { chart } from './report/chart.js'
import { judge } from './report/goals.js'
import { machineLine, pageWith } from './report/page.js'
import type { Report } from './report/report.js'
import { factTable, forTerminal, forTerminalLine, goalTable, loadLine, loadTable } from './report/table.js'
import { Run, type Teller } from './run.js'

/** Columns of the lines that come while it goes. */
const WIDTHS = [22, 40, 7, 10, 9, 9, 9, 6, 7]

const teller: Teller = {
  scene: (text) => console.log(`\n> ${text}`),
  row: (row) => {
    console.log(forTerminalLine(loadLine(row), WIDTHS))
    if (row.firstError !== undefined) console.log(`  the first error: ${row.firstError}`)
  },
  fact: ({ what, value, unit }) => console.log(`${what}: ${value} ${unit}`.trimEnd()),
  failure: (text) => console.error(`FAILED ${text}`),
}

async function writeFiles({ json, markdown, only, chart: picture }: Options, report: Report): Promise<void> {
  if (json !== undefined)
    await writeFile(json, `${JSON.stringify({ ...report, goals: judge(report) }, null, 2)}\n`)
  const drawn = chart(report.rows)
  const hasPicture = picture !== undefined && drawn !== undefined
  if (hasPicture) await writeFile(picture, drawn)
  if (markdown !== undefined) {
    const old = await readFile(markdown, 'utf8').catch(() => undefined)
    const seen = hasPicture ? relative(dirname(markdown), picture) : undefined
    await writeFile(markdown, pageWith(old, report, only, seen))
  }
}

function tellAll(report: Report): void {
  console.log(`\n${machineLine(report)}`)
  console.log(forTerminal(loadTable(report.rows)))
  if (report.facts.length > 0) console.log(`\n${forTerminal(factTable(report))}`)
  console.log(`\n${forTerminal(goalTable(judge(report)))}`)
  if (report.failures.length > 0) console.log(`\nfailed:\n${report.failures.join('\n')}`)
}

const isGood = (report: Report) =>
  report.failures.length === 0 &&
  judge(report).every(({ met, aim }) => met !== false || aim) &&
  report.rows.every(({ system, errors }) => !system.startsWith('Latchkey') || errors === 0)

async function run(options: Options): Promise<number> {
  const one = await Run.prepare(options, teller)
  const end = (code: number) => () => {
    void one.stop().finally(() => process.exit(code))
  }
  process.once('SIGINT', end(130))
  process.once('SIGTERM', end(143))
  await one.all()
  tellAll(one.report)
  await writeFiles(options, one.report)
  return isGood(one.report) ? 0 : 1
}

const options = readOptions(process.argv.slice(2))
if (options === 'help') {
  console.log(HELP)
} else if ('wrong' in options) {
  console.error(`${options.wrong}\n\n${HELP}`)
  process.exitCode = 2
} else {
  // Whatever a peer's client left open shall not keep the process.
  process.exit(await (options.engines ? runEngines(options) : run(options)))
}
