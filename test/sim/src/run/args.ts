// Door: reads the command line. An unknown word is an error.

import type { Profile, Setting } from './profile.js'
import { DEFAULT_PROFILE, profileOf, PROFILES } from './profiles.js'

export interface Args {
  readonly help: boolean
  readonly seed: number | undefined
  readonly seeds: number
  readonly from: number
  readonly profile: Profile
  /** Undefined means that each seed draws its workload. */
  readonly workload: string | undefined
  readonly only: readonly number[] | undefined
  readonly settings: readonly Setting[]
  readonly trace: number
  readonly twice: boolean
  readonly outerOnly: boolean
  readonly shrink: boolean
  readonly keepGoing: boolean
  /** Undefined means no bugs, and '' means all bugs. */
  readonly bugs: string | undefined
  readonly scenarios: boolean
}

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const HELP = `The deterministic simulator.

  npm run sim -- --seeds N            N seeds, from --from (default 1); stops at the first that fails
  npm run sim -- --seed S             one seed, to the byte as before
  npm run sim -- --bugs [NAME]        known bugs, put into a copy of the packages: each must be caught
  npm run sim -- --scenarios          the directed scenarios of the profile ${DEFAULT_PROFILE}

  --from S          the first seed
  --fresh           the first seed is drawn by chance, and printed
  --profile P       ${PROFILES.map(({ name }) => name).join(' or ')} (default ${DEFAULT_PROFILE})
  --workload W      what the seeds do; else each seed draws one
${PROFILES.map(({ name, workloads }) => `                    ${name}: ${workloads.join(', ')}`).join('\n')}
  --only 3,7        only these faults of the seed's list (what shrinking has left), or none
  --set PATH=JSON   an option set otherwise than the seed draws it; may come several times
  --trace [N]       prints the last N lines of what happened (default 200)
  --twice           runs each seed twice and compares the hashes
  --outer           only laws that a client or a replica would notice
  --no-shrink       a failing seed is not made smaller
  --keep-going      goes on behind a failing seed

Exit code: 0 all passed · 1 a bug was not caught, or hashes differ · 2 wrong usage
           101 the code under test threw · 102 a law is broken (safety) · 103 no progress (liveness)`

export function parseArgs(words: readonly string[]): Args {
  const args: { -readonly [Name in keyof Args]: Args[Name] } = { ...DEFAULTS, settings: [] }
  const settings: Setting[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string
    const next = words[i + 1]
    const value = next !== undefined && !next.startsWith('--') ? next : undefined
    const flag = FLAGS[word]
    if (flag === undefined) throw new UsageError(`unknown: ${word} (--help tells what there is)`)
    if (word === '--set') settings.push(setting(required(word, value)))
    else Object.assign(args, flag(value))
    if (value !== undefined) {
      if (VALUELESS.has(word)) throw new UsageError(`${word} takes no value`)
      i++
    }
  }
  const { profile, workload, scenarios } = args
  if (workload !== undefined && !profile.workloads.includes(workload))
    throw new UsageError(`--workload: the profile ${profile.name} has ${profile.workloads.join(', ')}`)
  if (scenarios && profile.name !== DEFAULT_PROFILE)
    throw new UsageError(`--scenarios belong to the profile ${DEFAULT_PROFILE}`)
  return { ...args, settings }
}

const DEFAULTS: Args = {
  help: false,
  seed: undefined,
  seeds: 100,
  from: 1,
  profile: profile(DEFAULT_PROFILE),
  workload: undefined,
  only: undefined,
  settings: [],
  trace: 0,
  twice: false,
  outerOnly: false,
  shrink: true,
  keepGoing: false,
  bugs: undefined,
  scenarios: false,
}

const VALUELESS = new Set([
  '--help',
  '--fresh',
  '--twice',
  '--outer',
  '--no-shrink',
  '--keep-going',
  '--scenarios',
])

type Flag = (value: string | undefined) => Partial<Args>

const FLAGS: Readonly<Record<string, Flag>> = {
  '--help': () => ({ help: true }),
  '--seed': (value) => ({ seed: whole('--seed', value) }),
  '--seeds': (value) => ({ seeds: whole('--seeds', value) }),
  '--from': (value) => ({ from: whole('--from', value) }),
  '--fresh': () => ({ from: -1 }),
  '--profile': (value) => ({ profile: profile(value) }),
  '--workload': (value) => ({ workload: required('--workload', value) }),
  '--only': (value) => ({
    only: (value ?? '')
      .split(',')
      .filter((item) => item !== '' && item !== 'none')
      .map((item) => whole('--only', item)),
  }),
  '--set': () => ({}),
  '--trace': (value) => ({ trace: value === undefined ? 200 : whole('--trace', value) }),
  '--twice': () => ({ twice: true }),
  '--outer': () => ({ outerOnly: true }),
  '--no-shrink': () => ({ shrink: false }),
  '--keep-going': () => ({ keepGoing: true }),
  '--bugs': (value) => ({ bugs: value ?? '' }),
  '--scenarios': () => ({ scenarios: true }),
}

function required(word: string, value: string | undefined): string {
  if (value === undefined) throw new UsageError(`${word} needs a value`)
  return value
}

function whole(word: string, value: string | undefined): number {
  const number = Number(required(word, value))
  if (!Number.isSafeInteger(number) || number < 0)
    throw new UsageError(`${word}: ${value} is no whole number`)
  return number
}

function profile(value: string | undefined): Profile {
  const found = profileOf(required('--profile', value))
  if (found === undefined)
    throw new UsageError(`--profile: one of ${PROFILES.map(({ name }) => name).join(', ')}`)
  return found
}

function setting(text: string): Setting {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError('--set needs PATH=JSON')
  try {
    return [text.slice(0, at), JSON.parse(text.slice(at + 1)) ?? undefined]
  } catch {
    throw new UsageError(`--set ${text}: the value is no JSON`)
  }
}
