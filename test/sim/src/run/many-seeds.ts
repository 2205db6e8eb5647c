// Driver: runs many seeds one after the other, adds up what happened, and reports a seed that failed.

import type { Args } from './args.js'
import type { LoadedProfile, SeedOptions, Setting } from './profile.js'
import type { NumberedFault, RunResult } from './run-seed.js'
import { setOption, shrink } from './shrink.js'

export type Print = (line: string) => void

export class Totals {
  #seeds = 0
  #time = 0
  #events = 0
  readonly #counts = new Map<string, number>()
  readonly #faults = new Map<string, number>()

  add({ time, events, counts, faults }: RunResult): void {
    this.#seeds++
    this.#time += time
    this.#events += events
    for (const [name, count] of Object.entries(counts)) add(this.#counts, name, count)
    for (const { kind } of faults) add(this.#faults, kind, 1)
  }

  /** `seconds` is the passed time. `busy` is the processor time of this process. */
  lines(seconds: number, busy: number): readonly string[] {
    const perSecond = busy > 0 ? Math.round(this.#events / busy) : 0
    return [
      `seeds ${this.#seeds} · simulated ${(this.#time / 3.6e9).toFixed(2)} h · ${seconds.toFixed(1)} s, ${busy.toFixed(1)} s on a core`,
      `events ${text(this.#events)} · ${text(perSecond)} a second of one core`,
      [...this.#counts].map(([name, count]) => `${name} ${text(count)}`).join(' · '),
      `faults planned: ${[...this.#faults]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([kind, count]) => `${kind} ${count}`)
        .join(' · ')}`,
    ]
  }
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count)
}

const text = (value: number): string => value.toLocaleString('en-US')

export const optionsOf = (seed: number, { profile, workload, settings }: Args): SeedOptions =>
  settings.reduce((options, setting) => setOption(options, setting), profile.draw(seed, workload))

/** The options may have other values than the seed draws. The faults stay the same. */
export function faultsOf(seed: number, { profile, workload, only }: Args): readonly NumberedFault[] {
  const all = profile.drawFaults(profile.draw(seed, workload))
  return only === undefined ? all : all.filter(({ number }) => only.includes(number))
}

export function seedWords({ profile, workload, outerOnly, settings }: Args): readonly string[] {
  return [
    `--profile ${profile.name}`,
    ...(workload === undefined ? [] : [`--workload ${workload}`]),
    ...(outerOnly ? ['--outer'] : []),
    ...settings.map(settingWord),
  ]
}

/** JSON has no `undefined`, so the text has `null` instead. */
const settingWord = ([path, value]: Setting): string => `--set '${path}=${JSON.stringify(value ?? null)}'`

export function replayCommand(
  seed: number,
  args: Args,
  only?: readonly number[],
  settings: readonly Setting[] = [],
): string {
  const words = ['npm run sim --', `--seed ${seed}`, ...seedWords(args), ...settings.map(settingWord)]
  if (only !== undefined) words.push(`--only ${only.length === 0 ? 'none' : only.join(',')}`)
  return words.join(' ')
}

export async function reportFailure(
  result: RunResult,
  args: Args,
  loaded: LoadedProfile,
  print: Print,
): Promise<void> {
  const options = optionsOf(result.seed, args)
  print('')
  print(`seed ${result.seed} (${options.workload}): ${result.verdict}: ${result.law}`)
  print(`  ${result.message}`)
  print(`  at ${(result.time / 1000).toFixed(3)} ms, event ${result.events}, hash ${result.hash}`)
  print(`  replay: ${replayCommand(result.seed, args, args.only)} --trace`)
  if (!args.shrink) return
  const mode = { outerOnly: args.outerOnly }
  const { simpler } = args.profile
  const small = await shrink({ options, faults: result.faults }, simpler, async (candidate) => {
    const again = await loaded.run(candidate.options, { ...mode, faults: candidate.faults })
    return again.verdict === result.verdict && again.law === result.law
  })
  print(`  shrunk from ${result.faults.length} to ${small.faults.length} faults in ${small.runs} runs:`)
  for (const fault of small.faults) print(`    ${JSON.stringify(fault)}`)
  const numbers = small.faults.map(({ number }) => number)
  print(`  replay: ${replayCommand(result.seed, args, numbers, small.settings)} --trace`)
  print(`  options: ${JSON.stringify(small.options)}`)
}
