// Driver: `npm run mutants -- --package P --count N --seed S`: draws small faults in a package's sources, puts one at a time into a copy
// of the repository, and runs the package's tests there. A fault that no test notices is a hole in the tests, or a line that
// changes nothing: a person has to look. Not a part of the gate. Exits with 1 when a fault was not noticed.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
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
/** A fault may make a test wait for ever: that is noticed, too, after so many times of what the tests take without one. */
const PATIENCE = 4
const LEAST_PATIENCE_MS = 180_000
/** The tests end by themselves where there is no fault. */
const FIRST_MS = 3_600_000

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
// However it ends, by an interruption too, the tests that run end and the copy goes.
process.once('exit', () => rmSync(copy, { recursive: true, force: true, maxRetries: 5 }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
cpSync(ROOT, copy, {
  recursive: true,
  verbatimSymlinks: true,
  filter: (path) => !/\/(\.git|coverage)$/.test(path),
})
// A test that fails without a fault, or takes longer than a fault is given, would notice everything.
const began = performance.now()
if (types() || (await runs(FIRST_MS))) fail('the build or the tests fail without any fault: mend them first')
const most = Math.max(LEAST_PATIENCE_MS, PATIENCE * (performance.now() - began))
for (const fault of drawn(places, Number(count), Number(seed))) if (!(await isNoticed(fault))) unnoticed++
console.log(`${unnoticed} of ${count} faults were not noticed`)
process.exitCode = unnoticed === 0 ? 0 : 1

async function isNoticed({ path, at, was, line, name }) {
  const file = join(copy, path)
  const whole = readFileSync(file, 'utf8')
  const lines = whole.split('\n')
  lines[at] = line
  writeFileSync(file, lines.join('\n'))
  try {
    const by = types() ? 'the compiler' : (await runs(most)) ? 'a test' : undefined
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

/**
 * The tests are a group of processes of their own, and it is ended as a group. Otherwise a fault that makes a test loop leaves that
 * test's process behind: it notices neither its signals nor the end of whoever started it, and takes a core for ever.
 */
async function runs(ms) {
  const projects = tests.split(',').flatMap((name) => ['--project', name])
  const vitest = join(copy, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', '--bail', '1', ...projects], {
    cwd: copy,
    stdio: 'ignore',
    detached: true,
  })
  const endGroup = () => {
    try {
      process.kill(-Number(child.pid), 'SIGKILL')
    } catch {
      // Nobody of it is there any more.
    }
  }
  process.prependOnceListener('exit', endGroup)
  const timer = setTimeout(endGroup, ms)
  const [status] = await once(child, 'exit')
  clearTimeout(timer)
  endGroup()
  process.off('exit', endGroup)
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

function fail(reason) {
  process.stderr.write(`mutants: ${reason}\n`)
  process.exit(2)
}

function usage(reason) {
  process.stderr.write(`mutants: ${reason}\n\n${USAGE}`)
  process.exit(2)
}
