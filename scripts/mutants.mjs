// Driver: `npm run mutants -- --package P --count N --seed S`: draws small faults in a package's sources, puts one at a time into a copy
// of the repository, and runs the package's tests there. A fault that no test notices is a hole in the tests, or a line that
// changes nothing: a person has to look. Not a part of the gate. Exits with 1 when a fault was not noticed.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { drawn, faultsOf } from './mutants/mutations.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const USAGE = `Usage: npm run mutants -- --package P [--count N] [--seed S] [--under FOLDER] [--tests P,Q]

  --package P     whose sources get the faults: base, protocol, raft, lock, kv, client, level or latchkey
  --count N       how many faults, 10 by default
  --seed S        another seed draws others; 1 by default
  --under FOLDER  only sources below that folder of the package's src
  --tests P,Q     the projects whose tests run; the package's own by default
`
/** A fault may make a test wait for ever: that is noticed, too. */
const MOST_MS = 180_000

const { values } = read()
const { package: of, seed = '1', count = '10', under = '', tests = of } = values
const PRODUCT = /^packages\/[^/]+\/src\/.*\.ts$/
const NO_PRODUCT = /\.test\.ts$|\/testing\/|index\.ts$/

const tracked = execFileSync('git', ['ls-files', `packages/${of}/src/${under}`], {
  cwd: ROOT,
  encoding: 'utf8',
})
const places = tracked
  .split('\n')
  .filter((path) => PRODUCT.test(path) && !NO_PRODUCT.test(path))
  .flatMap((path) =>
    readFileSync(join(ROOT, path), 'utf8')
      .split('\n')
      .flatMap((line, at) => faultsOf(line).map((fault) => ({ path, at, was: line, ...fault }))),
  )
if (places.length === 0) usage(`there is nothing to change in packages/${of}/src/${under}`)

const copy = mkdtempSync(join(tmpdir(), 'latchkey-mutants-'))
let unnoticed = 0
try {
  cpSync(ROOT, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !/\/(\.git|coverage)$/.test(path),
  })
  for (const fault of drawn(places, Number(count), Number(seed))) if (!isNoticed(fault)) unnoticed++
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${unnoticed} of ${count} faults were not noticed`)
process.exitCode = unnoticed === 0 ? 0 : 1

function isNoticed({ path, at, was, line, name }) {
  const file = join(copy, path)
  const whole = readFileSync(file, 'utf8')
  const lines = whole.split('\n')
  lines[at] = line
  writeFileSync(file, lines.join('\n'))
  try {
    const by = types() ? 'the compiler' : runs() ? 'a test' : undefined
    console.log(`${by === undefined ? 'NOT NOTICED' : `noticed by ${by}`}: ${path}:${at + 1}: ${name}`)
    if (by === undefined) console.log(`  was:  ${was.trim()}\n  now:  ${line.trim() || '(nothing)'}`)
    return by !== undefined
  } finally {
    writeFileSync(file, whole)
  }
}

/** Built too, since some tests start the command. */
function types() {
  return spawnSync('npx', ['tsc', '-b'], { cwd: copy, stdio: 'ignore' }).status !== 0
}

function runs() {
  const projects = tests.split(',').flatMap((name) => ['--project', name])
  const { status } = spawnSync('npx', ['vitest', 'run', '--bail', '1', ...projects], {
    cwd: copy,
    stdio: 'ignore',
    timeout: MOST_MS,
    killSignal: 'SIGKILL',
  })
  return status !== 0
}

function read() {
  try {
    const options = Object.fromEntries(
      ['package', 'count', 'seed', 'under', 'tests'].map((name) => [name, { type: 'string' }]),
    )
    const line = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } })
    if (line.values.help) {
      process.stdout.write(USAGE)
      process.exit(0)
    }
    if (!/^[a-z]+$/.test(line.values.package ?? '')) usage('--package names whose sources get the faults')
    for (const name of ['count', 'seed'])
      if (!/^[1-9]\d*$/.test(line.values[name] ?? '1')) usage(`--${name} must be a positive whole number`)
    return line
  } catch (error) {
    return usage(error.message)
  }
}

function usage(reason) {
  process.stderr.write(`mutants: ${reason}\n\n${USAGE}`)
  process.exit(2)
}
