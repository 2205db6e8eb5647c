// Driver: a copy of the repository, in which one fault at a time is built and tested.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

/**
 * After so many milliseconds without a finished test, the tests are ended, and the fault is noticed. No test
 * may take longer than 120 s by itself, so only a fault that makes a loop endless brings such a silence.
 */
const SILENCE_MS = 180_000

/** How often a run begins again at most, after tests that failed by chance. */
const MOST_TRIES = 3

/** Tests that start processes or measure are slow, and tests of the scripts import no product. */
const SLOW = ['e2e', 'chaos', 'bench', 'scripts']

/** Tests beside `npm test`: whose faults they notice, their configuration, and what they need to run. */
const OUTSIDE = [
  { of: /^packages\/postgres\//, config: 'servers', needs: 'POSTGRES_URL' },
  { of: /^packages\/redis\//, config: 'servers', needs: 'REDIS_URLS' },
  { of: /^packages\/etcd\//, config: 'servers', needs: 'ETCD_URLS' },
  { of: /^packages\/daemon\/src\/page\//, config: 'browser', needs: 'LATCHKEY_BROWSER', bundle: true },
]
const outsideOf = (path) => OUTSIDE.filter(({ of }) => of.test(path))

/** The environment variables without which not all tests of that source can run. */
export const missingFor = (path) =>
  outsideOf(path).flatMap(({ needs }) => (process.env[needs] === undefined ? [needs] : []))

/** The simulator runs the product of these packages. */
const SIMULATED = ['base', 'protocol', 'raft', 'lock', 'kv', 'client', 'latchkey']

/**
 * The runs of vitest for one fault. The first run has the tests that most likely notice the fault: tests of
 * its own package that import the changed file. The simulator's known bugs do not run. They replace lines of
 * the product by their text, so they would notice that a line changed, and not what the line does.
 */
function runsFor(path, processes) {
  const of = packageOf(path)
  const simulated = [
    'run',
    ...['run', 'raft', 'scenarios', 'whole/whole.test'].map((part) => `test/sim/src/${part}`),
    ...['--project', 'sim', '--testNamePattern', '^(?!.*known bugs)'],
  ]
  const outside = ({ config, bundle }) => [
    ...(bundle ? ['run'] : ['related', path, '--run']),
    ...['--config', `vitest.${config}.config.ts`],
  ]
  return [
    ['related', path, '--run', '--project', of],
    ...outsideOf(path).map(outside),
    ['related', path, '--run', ...[of, 'sim', ...SLOW].flatMap((name) => ['--project', `!${name}`])],
    ...(SIMULATED.includes(of) ? [simulated] : []),
    ...(processes ? [['run', '--project', 'e2e', '--project', 'chaos']] : []),
  ]
}

const packageOf = (path) => path.split('/')[1]

/** Without the configuration of the run, vitest would not find tests of servers or of the browser again. */
function configOf(run) {
  const at = run.indexOf('--config')
  return at < 0 ? [] : run.slice(at, at + 2)
}

export class ChangedCopy {
  #root = mkdtempSync(join(tmpdir(), 'latchkey-mutants-'))
  #report = join(this.#root, 'mutants-report.json')

  constructor(from) {
    // The copy goes at every end of this process, also after an interruption.
    process.once('exit', () => rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 }))
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
    const filter = (path) => !/\/(\.git|coverage)$/.test(path)
    cpSync(from, this.#root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true, filter })
  }

  /** What notices the fault: 'the compiler' or names of tests; undefined if nothing does. */
  async noticedBy({ path, at, line }, processes) {
    const bundle = processes || outsideOf(path).some((tests) => tests.bundle)
    const file = join(this.#root, path)
    const whole = readFileSync(file, 'utf8')
    const lines = whole.split('\n')
    lines[at] = line
    writeFileSync(file, lines.join('\n'))
    if (!this.#builds(bundle)) return this.#restored(file, whole, 'the compiler')
    for (const run of runsFor(path, processes)) {
      const failed = await this.#failedTwice(run)
      if (failed === undefined) continue
      this.#restored(file, whole)
      // A test that fails without the fault, too, has not noticed it.
      if (!this.#builds(bundle) || (await this.#failed(failed.again)) !== undefined)
        throw new Error(`fails without any fault: ${failed.names.join(', ')}`)
      return failed.names.join(', ')
    }
    return this.#restored(file, whole)
  }

  #restored(file, whole, by) {
    writeFileSync(file, whole)
    return by
  }

  /** The simulator runs the compiled output. Tests of processes and of the console start the bundle. */
  #builds(bundle) {
    const commands = [['node_modules/.bin/tsc', '-b'], ...(bundle ? [['node', 'scripts/bundle.mjs']] : [])]
    return commands.every(
      ([command, ...rest]) => spawnSync(command, rest, { cwd: this.#root, stdio: 'ignore' }).status === 0,
    )
  }

  /** A test that fails once and then passes has failed by chance, and the run begins again. */
  async #failedTwice(run) {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const failed = await this.#failed(run)
      if (failed === undefined) return undefined
      if ((await this.#failed(failed.again)) !== undefined) return failed
    }
    throw new Error(`fails now and then: vitest ${run.join(' ')}`)
  }

  /** Undefined if all tests pass. Otherwise the names of the tests that fail, and the run of their files. */
  async #failed(run) {
    rmSync(this.#report, { force: true })
    const status = await this.#vitest([...run, '--bail', '1', '--passWithNoTests'])
    if (status === 0) return undefined
    const { testResults = [] } = existsSync(this.#report)
      ? JSON.parse(readFileSync(this.#report, 'utf8'))
      : {}
    const failed = testResults.filter((file) => file.status === 'failed')
    const files = failed.map((file) => relative(this.#root, file.name))
    const names = failed.flatMap((file, i) => {
      const tests = file.assertionResults.filter((test) => test.status === 'failed')
      return tests.length === 0 ? [files[i]] : tests.map((test) => `${files[i]}: ${test.fullName}`)
    })
    return {
      again: files.length === 0 ? run : ['run', ...files, ...configOf(run)],
      names: names.length === 0 ? [`an endless loop or an error in vitest ${run.join(' ')}`] : names,
    }
  }

  /**
   * The tests are a group of processes of their own, and the group is ended as a whole. Otherwise an endless
   * loop in a test's process would go on after the end of this command, and would use a core for ever.
   */
  async #vitest(run) {
    const reports = ['--reporter', 'verbose', '--reporter', 'json', '--outputFile', this.#report]
    const vitest = join(this.#root, 'node_modules', 'vitest', 'vitest.mjs')
    const child = spawn(process.execPath, [vitest, ...run, ...reports], {
      cwd: this.#root,
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    const endGroup = () => {
      try {
        process.kill(-Number(child.pid), 'SIGKILL')
      } catch {
        // The group has no process any more.
      }
    }
    process.prependOnceListener('exit', endGroup)
    const silence = setTimeout(endGroup, SILENCE_MS)
    child.stdout.on('data', () => silence.refresh())
    const [status] = await once(child, 'exit')
    clearTimeout(silence)
    endGroup()
    process.off('exit', endGroup)
    return status
  }
}
