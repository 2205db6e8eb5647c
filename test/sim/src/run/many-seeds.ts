// Driver: many seeds in a row, and the sum of what they met.

import { describeFault, drawPlan, type Fault } from '../raft/draw-faults.js'
import { drawOptions, type Options } from '../raft/options.js'
import type { Args } from './args.js'
import { type RaftModules } from '../raft/raft-modules.js'
import { run, type RunResult } from '../raft/run-seed.js'
import { setOption, shrink } from './shrink.js'

export type Print = (line: string) => void

export class Totals {
  seeds = 0
  time = 0
  events = 0
  elections = 0
  crashes = 0
  snapshots = 0
  changes = 0
  entries = 0
  operations = 0
  readonly faults = new Map<string, number>()

  add(result: RunResult): void {
    this.seeds++
    for (const name of [
      'time',
      'events',
      'elections',
      'crashes',
      'snapshots',
      'changes',
      'entries',
      'operations',
    ] as const) {
      this[name] += result[name]
    }
    for (const { kind } of result.faults) this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1)
  }

  /** `seconds` that passed, and of them those that this process had a core. */
  lines(seconds: number, busy: number): readonly string[] {
    const perSecond = busy > 0 ? Math.round(this.events / busy) : 0
    return [
      `seeds ${this.seeds} · simulated ${(this.time / 3.6e9).toFixed(2)} h · ${seconds.toFixed(1)} s, ${busy.toFixed(1)} s on a core`,
      `events ${count(this.events)} · ${count(perSecond)} a second of one core`,
      `elections ${count(this.elections)} · crashes ${count(this.crashes)} · snapshots installed ${count(this.snapshots)} · membership entries ${count(this.changes)}`,
      `entries committed ${count(this.entries)} · client operations judged ${count(this.operations)}`,
      `faults planned: ${[...this.faults]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([kind, number]) => `${kind} ${number}`)
        .join(' · ')}`,
    ]
  }
}

const count = (value: number): string => value.toLocaleString('en-US')

export function optionsOf(seed: number, args: Args): Options {
  let options = drawOptions(seed, args.profile)
  for (const [path, value] of args.settings) options = setOption(options, path, value)
  return options
}

/** The faults that the seed draws, also when an option is set otherwise than the seed draws it. */
export function faultsOf(seed: number, { profile, only }: Args): readonly Fault[] {
  const all = drawPlan(drawOptions(seed, profile))
  return only === undefined ? all : all.filter(({ number }) => only.includes(number))
}

/** What to type to see it again. */
export function replayCommand(
  seed: number,
  args: Args,
  only?: readonly number[],
  settings?: readonly string[],
): string {
  const words = [`npm run sim -- --seed ${seed}`]
  if (args.profile !== undefined) words.push(`--profile ${args.profile}`)
  if (args.outerOnly) words.push('--outer')
  for (const [path, value] of args.settings) words.push(`--set '${path}=${JSON.stringify(value)}'`)
  for (const setting of settings ?? []) words.push(`--set '${setting}'`)
  if (only !== undefined) words.push(`--only ${only.length === 0 ? '999999' : only.join(',')}`)
  return words.join(' ')
}

export async function reportFailure(
  result: RunResult,
  args: Args,
  modules: RaftModules,
  print: Print,
): Promise<void> {
  print('')
  print(`seed ${result.seed}: ${result.verdict}: ${result.law}`)
  print(`  ${result.message}`)
  print(`  at ${(result.time / 1000).toFixed(3)} ms, event ${result.events}, hash ${result.hash}`)
  print(`  replay: ${replayCommand(result.seed, args, args.only)} --trace`)
  if (!args.shrink) return
  const options = optionsOf(result.seed, args)
  const mode = { outerOnly: args.outerOnly }
  const small = await shrink({ options, faults: result.faults }, async (candidate) => {
    const again = await run(candidate.options, modules, { ...mode, faults: candidate.faults })
    return again.verdict === result.verdict && again.law === result.law
  })
  print(`  shrunk from ${result.faults.length} to ${small.faults.length} faults in ${small.runs} runs:`)
  for (const fault of small.faults) print(`    ${describeFault(fault)}`)
  const numbers = small.faults.map(({ number }) => number)
  print(`  replay: ${replayCommand(result.seed, args, numbers, small.settings)} --trace`)
  print(`  options: ${JSON.stringify(small.options)}`)
}
