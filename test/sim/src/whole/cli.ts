// Door: `npm run sim -- --whole`: the production wiring in the simulator, seed by seed, and the known bugs in
// a copy of it.

import { randomInt } from 'node:crypto'
import { drawFaults, type WholeFault } from './draw-faults.js'
import { type ProductModules, loadProduct } from './product-modules.js'
import { drawWhole, isWholeProfile, WHOLE_PROFILES, type WholeOptions, type WholeProfile } from './options.js'
import type { Verdict } from '../laws/verdict.js'
import { runWhole, type WholeResult } from './run-seed.js'

type Print = (line: string) => void
export type WholeOutcome = Verdict | 'usage' | 'missed'

interface Args {
  readonly seeds: number
  readonly from: number
  readonly seed: number | undefined
  readonly profile: WholeProfile | undefined
  readonly only: readonly number[] | undefined
  readonly trace: number
  readonly bugs: string | undefined
  readonly keepGoing: boolean
  readonly twice: boolean
  readonly shrink: boolean
}

export const WHOLE_HELP = `The production wiring in the simulator.

  npm run sim -- --whole --seeds N      N seeds, from --from (default 1)
  npm run sim -- --whole --fresh        the first seed is drawn by chance
  npm run sim -- --whole --seed S       one seed, to the byte as before
  npm run sim -- --whole --bugs [NAME]  known bugs, put into a copy of the packages: each must be caught
  --profile P    ${WHOLE_PROFILES.join(', ')}; else each seed draws one
  --only 3,7     only these faults of the seed's list
  --trace [N]    prints the last N lines of what happened
  --twice        runs each seed twice and compares the hashes
  --keep-going   goes on behind a failing seed
  --no-shrink    a failing seed's faults are not made fewer

Exit code as without --whole: 0, 1, 2, 101 crash, 102 safety, 103 liveness`

export async function runWholeCli(words: readonly string[], print: Print): Promise<WholeOutcome> {
  const args = parse(words)
  if (typeof args === 'string') {
    print(args)
    return args === WHOLE_HELP ? 'pass' : 'usage'
  }
  if (args.bugs !== undefined) {
    const { runWholeBugs } = await import('./bugs/runner.js')
    return (await runWholeBugs(args.bugs, print)) ? 'pass' : 'missed'
  }
  const { product, remove } = await loadProduct()
  try {
    return await runSeeds(args, product, print)
  } finally {
    remove()
  }
}

async function runSeeds(args: Args, product: ProductModules, print: Print): Promise<WholeOutcome> {
  const from = args.from === -1 ? randomInt(1, 2 ** 31) : args.from
  const first = args.seed ?? from
  const last = args.seed ?? from + args.seeds - 1
  const totals = new Totals()
  let outcome: WholeOutcome = 'pass'
  for (let seed = first; seed <= last; seed++) {
    const options = drawWhole(seed, args.profile)
    const faults = pickFaults(options, args.only)
    const result = await runWhole(options, product, { faults, trace: args.trace > 0 })
    totals.add(result)
    if (args.seed !== undefined) printRun(result, options, args, print)
    if (args.twice && (await runWhole(options, product, { faults })).hash !== result.hash) {
      print(`seed ${seed}: two runs, two hashes`)
      outcome = 'missed'
    }
    if (result.verdict === 'pass') continue
    outcome = result.verdict
    await report(result, options, args, product, print)
    if (!args.keepGoing) break
  }
  for (const line of totals.lines(first)) print(line)
  print(outcome === 'pass' ? 'no violation' : `FAILED: ${outcome}`)
  return outcome
}

function pickFaults(options: WholeOptions, only: readonly number[] | undefined): readonly WholeFault[] {
  const all = drawFaults(options)
  return only === undefined ? all : all.filter((_, i) => only.includes(i))
}

function printRun(result: WholeResult, options: WholeOptions, args: Args, print: Print): void {
  print(`options ${JSON.stringify(options)}`)
  for (const line of result.trace.slice(-args.trace)) print(line)
  print(`seed ${result.seed}: ${result.verdict} · hash ${result.hash} · ${result.events} events`)
}

async function report(
  result: WholeResult,
  options: WholeOptions,
  args: Args,
  product: ProductModules,
  print: Print,
): Promise<void> {
  print(`seed ${result.seed} (${options.profile}): ${result.verdict}: ${result.law}`)
  print(`  ${result.message}`)
  const all = args.only ?? result.faults.map((_, i) => i)
  const left = args.shrink ? await fewer(result, options, all, product) : all
  const list = drawFaults(options)
  for (const i of left) print(`  fault ${i}: ${JSON.stringify(list[i])}`)
  const profile = args.profile === undefined ? '' : ` --profile ${args.profile}`
  print(
    `  replay: npm run sim -- --whole --seed ${result.seed}${profile} --only ${left.join(',') || 'none'} --trace`,
  )
}

/** Leaves out fault by fault, as long as the same law fails. */
async function fewer(
  result: WholeResult,
  options: WholeOptions,
  all: readonly number[],
  product: ProductModules,
): Promise<readonly number[]> {
  let left = all
  for (let size = Math.ceil(all.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < left.length; ) {
      const rest = [...left.slice(0, at), ...left.slice(at + size)]
      const again = await runWhole(options, product, { faults: pickFaults(options, rest) })
      if (again.verdict === result.verdict && again.law === result.law) left = rest
      else at += size
    }
  }
  return left
}

class Totals {
  readonly #began = process.hrtime.bigint()
  #seeds = 0
  #millis = 0
  #events = 0
  #entries = 0
  #operations = 0
  #holds = 0
  #faults = 0
  #undecided = 0

  add({ time, events, entries, operations, holds, undecided, faults }: WholeResult): void {
    this.#seeds++
    this.#undecided += undecided
    this.#millis += time
    this.#events += events
    this.#entries += entries
    this.#operations += operations
    this.#holds += holds
    this.#faults += faults.length
  }

  lines(first: number): string[] {
    const seconds = Number(process.hrtime.bigint() - this.#began) / 1e9
    return [
      `${this.#seeds} seeds from ${first} in ${seconds.toFixed(1)} s: ${(this.#millis / 3_600_000).toFixed(2)} virtual hours,`,
      `${this.#events} events, ${this.#entries} entries, ${this.#operations} calls, ${this.#holds} holds, ${this.#faults} faults; ${this.#undecided} histories too long to judge`,
    ]
  }
}

function parse(words: readonly string[]): Args | string {
  const args: { -readonly [Name in keyof Args]: Args[Name] } = {
    seeds: 100,
    from: 1,
    seed: undefined,
    profile: undefined,
    only: undefined,
    trace: 0,
    bugs: undefined,
    keepGoing: false,
    twice: false,
    shrink: true,
  }
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string
    const next = words[i + 1]
    const value = next !== undefined && !next.startsWith('--') ? next : undefined
    if (value !== undefined) i++
    const wrong = take(args, word, value)
    if (wrong !== undefined) return wrong
  }
  return args
}

function take(
  args: { -readonly [Name in keyof Args]: Args[Name] },
  word: string,
  value: string | undefined,
): string | undefined {
  const number = Number(value)
  const needsNumber = word === '--seeds' || word === '--seed' || word === '--from'
  if (needsNumber && !Number.isSafeInteger(number)) return `${word} needs a number`
  switch (word) {
    case '--whole':
      return undefined
    case '--seeds':
      args.seeds = number
      return undefined
    case '--seed':
      args.seed = number
      return undefined
    case '--from':
      args.from = number
      return undefined
    case '--fresh':
      args.from = -1
      return undefined
    case '--profile':
      if (value === undefined || !isWholeProfile(value))
        return `--profile: one of ${WHOLE_PROFILES.join(', ')}`
      args.profile = value
      return undefined
    case '--only':
      args.only = (value ?? '')
        .split(',')
        .filter((item) => item !== '' && item !== 'none')
        .map(Number)
      return undefined
    case '--trace':
      args.trace = value === undefined ? 300 : number
      return undefined
    case '--bugs':
      args.bugs = value ?? ''
      return undefined
    case '--twice':
      args.twice = true
      return undefined
    case '--keep-going':
      args.keepGoing = true
      return undefined
    case '--no-shrink':
      args.shrink = false
      return undefined
    case '--help':
      return WHOLE_HELP
    default:
      return `unknown: ${word} (--whole --help tells what there is)`
  }
}
