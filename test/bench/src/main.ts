// Driver: `npm run bench`: says what it finds as it goes, then all of it in tables and files.

import { readFile, writeFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { runEngines } from './engines/run-engines.js'
import { HELP, isWhole, type Options, readOptions } from './options.js'
import { chart } from './report/chart.js'
import { readmeWith, withRheakv } from './report/comparison-tables.js'
import { judge } from './report/goals.js'
import { machineLine, pageWith } from './report/page.js'
import type { Report } from './report/report.js'
import {
  factTable,
  forTerminal,
  forTerminalLine,
  goalsForTerminal,
  loadLine,
  loadTable,
} from './report/table.js'
import { Run, type Teller } from './run.js'
import { commandBundle, watchBundle } from './unchanged-bundle.js'

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

async function writeFiles(options: Options, report: Report): Promise<void> {
  const { json, markdown, readme, only, chart: picture } = options
  if (json !== undefined)
    await writeFile(json, `${JSON.stringify({ ...report, goals: judge(report) }, null, 2)}\n`)
  const drawn = chart(report.rows)
  const hasPicture = picture !== undefined && drawn !== undefined
  if (hasPicture) await writeFile(picture, drawn)
  if (markdown !== undefined) {
    const old = await readFile(markdown, 'utf8').catch(() => undefined)
    const seen = hasPicture ? relative(dirname(markdown), picture) : undefined
    const page = pageWith(old, report, only, seen)
    await writeFile(markdown, isWhole(options) ? withRheakv(page, report.rows) : page)
  }
  if (readme !== undefined) await writeFile(readme, readmeWith(await readFile(readme, 'utf8'), report.rows))
}

function tellAll(report: Report): void {
  console.log(`\n${machineLine(report)}`)
  console.log(forTerminal(loadTable(report.rows)))
  if (report.facts.length > 0) console.log(`\n${forTerminal(factTable(report))}`)
  console.log(`\n${goalsForTerminal(judge(report))}`)
  if (report.failures.length > 0) console.log(`\nfailed:\n${report.failures.join('\n')}`)
}

const isGood = (report: Report) =>
  report.failures.length === 0 &&
  judge(report).every(({ met, aim }) => met !== false || aim) &&
  report.rows.every(({ system, errors }) => !system.startsWith('Latchkey') || errors === 0)

async function run(options: Options, checkBundle: () => void): Promise<number> {
  const one = await Run.prepare(options, teller, checkBundle)
  const end = (code: number) => () => {
    void one.stop().finally(() => process.exit(code))
  }
  process.once('SIGINT', end(130))
  process.once('SIGTERM', end(143))
  try {
    await one.all()
  } catch (error) {
    console.error(`\nFAILED ${(error as Error).message}`)
    return 1
  }
  tellAll(one.report)
  await writeFiles(options, one.report)
  return isGood(one.report) ? 0 : 1
}

function refuse(text: string): void {
  console.error(text)
  process.exitCode = 2
}

const options = readOptions(process.argv.slice(2))
if (options === 'help') {
  console.log(HELP)
} else if ('wrong' in options) {
  refuse(`${options.wrong}\n\n${HELP}`)
} else {
  const checkBundle = watchBundle(await commandBundle())
  // Whatever a peer's client left open shall not keep the process.
  if (typeof checkBundle === 'string') refuse(checkBundle)
  else process.exit(await (options.engines ? runEngines(options) : run(options, checkBundle)))
}
