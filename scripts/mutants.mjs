// Driver: `npm run mutants -- --count N --seed S`: draws small faults in the sources of the product, puts one
// at a time into a copy of the repository, and runs the tests that import the changed file, and the simulator. A fault that no test notices is a hole in the tests, or a line that changes nothing: a person has
// to look. Not a part of the gate. Exits with 1 when a fault was not noticed.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isProduct } from './check/files.mjs'
import { MAY } from './check/floors.mjs'
import { ChangedCopy, missingFor } from './mutants/changed-copy.mjs'
import { drawn, faultsOf } from './mutants/mutations.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PACKAGES = Object.keys(MAY)
const USAGE = `Usage: npm run mutants -- [options]

  --package P     only the sources of this package: ${PACKAGES.join(', ')}
  --count N       how many faults are drawn, 10 by default
  --seed S        another seed draws others; 1 by default
  --first K       begins with the draw's fault K, so that an interrupted command can go on; 1 by default
  --under FOLDER  only sources below that folder of the package's src; needs --package
  --processes     also the slow tests that start processes, after all others

Faults in the lock engines need their servers, and faults in the console need a browser:
  scripts/browser.sh scripts/servers.sh -- npm run mutants
`

const { package: of, seed, count, first, under, processes } = read()
const folder = of === undefined ? 'packages' : `packages/${of}/src/${under}`
const tracked = execFileSync('git', ['ls-files', folder], { cwd: ROOT, encoding: 'utf8' })
const places = tracked
  .split('\n')
  .filter(isProduct)
  .flatMap((path) =>
    readFileSync(join(ROOT, path), 'utf8')
      .split('\n')
      .flatMap((line, at) => faultsOf(line).map((fault) => ({ path, at, was: line, ...fault }))),
  )
if (places.length === 0) usage(`there is nothing to change in ${folder}`)
const faults = drawn(places, count, seed).slice(first - 1)
const missing = new Set(faults.flatMap(({ path }) => missingFor(path)))
if (missing.size > 0) fail(`tests of the drawn faults need ${[...missing].join(' and ')}`)

const copy = new ChangedCopy(ROOT)
let unnoticed = 0
for (const [i, fault] of faults.entries()) {
  const by = await copy.noticedBy(fault, processes).catch((error) => fail(error.message))
  const { path, at, name, was, line } = fault
  const where = `${first + i}. ${path}:${at + 1}: ${name}`
  if (by !== undefined) console.log(`${where}: noticed by ${by}`)
  else console.log(`${where}: NOT NOTICED\n  was:  ${was.trim()}\n  now:  ${line.trim() || '(nothing)'}`)
  if (by === undefined) unnoticed++
}
console.log(`${unnoticed} of ${faults.length} faults were not noticed`)
process.exitCode = unnoticed === 0 ? 0 : 1

function read() {
  try {
    const options = Object.fromEntries(
      ['package', 'count', 'seed', 'first', 'under'].map((name) => [name, { type: 'string' }]),
    )
    const flags = { processes: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } }
    const { values } = parseArgs({ options: { ...options, ...flags } })
    if (values.help) {
      process.stdout.write(USAGE)
      process.exit(0)
    }
    const { package: of } = values
    if (of !== undefined && !PACKAGES.includes(of)) usage(`there is no package ${of}`)
    if (of === undefined && values.under !== undefined) usage('--under needs --package')
    const numbers = { count: '10', seed: '1', first: '1', ...values }
    for (const name of ['count', 'seed', 'first'])
      if (!/^[1-9]\d*$/.test(numbers[name])) usage(`--${name} must be a positive whole number`)
    const [count, seed, first] = [numbers.count, numbers.seed, numbers.first].map(Number)
    return { under: '', ...values, count, seed, first }
  } catch (error) {
    return usage(error.message)
  }
}

function fail(reason) {
  process.stderr.write(`mutants: ${reason}\n`)
  process.exit(2)
}

function usage(reason) {
  process.stderr.write(`mutants: ${reason}\n\n${USAGE}`)
  process.exit(2)
}
