// Driver: runs the command line. The exit code says whether the code crashed, a law was broken, or progress
// was missing.

import { randomInt } from 'node:crypto'
import type { Verdict } from '../laws/verdict.js'
import { scenarios } from '../scenarios/all.js'
import { play } from '../scenarios/scenario.js'
import { type Args, HELP, parseArgs, UsageError } from './args.js'
import { runBugs } from './bug-hunt.js'
import {
  faultsOf,
  optionsOf,
  type Print,
  replayCommand,
  reportFailure,
  seedWords,
  Totals,
} from './many-seeds.js'
import { realModules } from '../raft/raft-modules.js'
import type { LoadedProfile } from './profile.js'
import type { RunResult } from './run-seed.js'

export type Outcome = Verdict | 'usage' | 'missed'

const CODES: Readonly<Record<Outcome, number>> = {
  pass: 0,
  missed: 1,
  usage: 2,
  crash: 101,
  safety: 102,
  liveness: 103,
}

export const exitCode = (outcome: Outcome): number => CODES[outcome]

export async function runCli(words: readonly string[], print: Print): Promise<Outcome> {
  let args: Args
  try {
    args = parseArgs(words)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    print(error.message)
    return 'usage'
  }
  if (args.help) {
    print(HELP)
    return 'pass'
  }
  if (args.bugs !== undefined) {
    const { bugs, profile, outerOnly } = args
    return (await runBugs(profile, bugs, { outerOnly }, print)) ? 'pass' : 'missed'
  }
  if (args.scenarios) return runScenarios(print)
  const loaded = await args.profile.load()
  try {
    return await runSeeds(args, loaded, print)
  } finally {
    loaded.remove()
  }
}

async function runScenarios(print: Print): Promise<Outcome> {
  let outcome: Outcome = 'pass'
  for (const scenario of scenarios) {
    const { verdict, law, message } = await play(scenario, realModules)
    if (verdict !== 'pass') outcome = verdict
    print(verdict === 'pass' ? `ok      ${scenario.title}` : `FAILED  ${scenario.title}: ${law}: ${message}`)
  }
  return outcome
}

async function runSeeds(given: Args, loaded: LoadedProfile, print: Print): Promise<Outcome> {
  const args = given.from === -1 ? { ...given, from: randomInt(1, 2 ** 31) } : given
  const first = args.seed ?? args.from
  const last = args.seed ?? args.from + args.seeds - 1
  const totals = new Totals()
  const began = process.hrtime.bigint()
  const before = process.cpuUsage()
  let outcome: Outcome = 'pass'
  for (let seed = first; seed <= last; seed++) {
    const result = await runSeed(seed, args, loaded)
    totals.add(result)
    if (args.seed !== undefined) printRun(result, args, print)
    if (args.twice && (await runSeed(seed, args, loaded)).hash !== result.hash) {
      print(`seed ${seed}: two runs, two hashes`)
      outcome = 'missed'
    }
    if (result.verdict === 'pass') continue
    outcome = result.verdict
    await reportFailure(result, args, loaded, print)
    if (!args.keepGoing) break
  }
  const { user, system } = process.cpuUsage(before)
  const seconds = Number(process.hrtime.bigint() - began) / 1e9
  print('')
  if (args.seed === undefined)
    print(
      `seeds ${first} to ${last}; again: npm run sim -- --from ${first} --seeds ${args.seeds} ${seedWords(args).join(' ')}`,
    )
  for (const line of totals.lines(seconds, (user + system) / 1e6)) print(line)
  print(outcome === 'pass' ? 'no violation' : `FAILED: ${outcome}`)
  return outcome
}

function runSeed(seed: number, args: Args, loaded: LoadedProfile): Promise<RunResult> {
  const options = optionsOf(seed, args)
  const faults = faultsOf(seed, args)
  return loaded.run(options, { trace: args.trace > 0, outerOnly: args.outerOnly, faults })
}

function printRun(result: RunResult, args: Args, print: Print): void {
  print(`options ${JSON.stringify(optionsOf(result.seed, args))}`)
  for (const line of result.trace.slice(-args.trace)) print(line)
  print(`seed ${result.seed}: ${result.verdict} · hash ${result.hash}`)
  print(`replay: ${replayCommand(result.seed, args, args.only)}`)
}
