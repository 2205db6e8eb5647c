// Rule: draws the faults of a seed, as a list that can be shortened. `who` chooses the member, and -1 means
// the leader.

import { type Random, seededRandom } from '@latchkey/base'
import type { WholeOptions, WholeWorkload } from './options.js'

export const FAULT_KINDS = [
  'kill',
  'power',
  'powerAll',
  'pause',
  'suspend',
  'isolate',
  'cut',
  'oneWay',
  'reset',
  'slowNet',
  'slowDisk',
  'sickDisk',
  'wall',
  'rate',
  'transfer',
  'compact',
  'clientPause',
  'clientSuspend',
  'clientKill',
  'clientCut',
  'clientReset',
] as const
/** Kinds that no seed draws. Only directed faults name them. */
export type FaultKind =
  | (typeof FAULT_KINDS)[number]
  | 'forgottenVote'
  | 'statesLost'
  | 'unseenRemoval'
  | 'foreignDirectory'
  | 'foreignAmongOthers'

/**
 * True if a member of another cluster takes part in one of the faults. Such a member needs its own copy of
 * the product.
 */
export const needsForeign = (faults: readonly WholeFault[] | undefined): boolean =>
  faults?.some(({ kind }) => kind === 'foreignDirectory' || kind === 'foreignAmongOthers') === true

export interface WholeFault {
  /** The time of the fault, in µs. */
  readonly at: number
  readonly kind: FaultKind
  readonly who: number
  readonly other: number
  /** The duration of the fault, in ms. */
  readonly millis: number
}

const BIAS: Readonly<Partial<Record<WholeWorkload, readonly FaultKind[]>>> = {
  power: ['power', 'powerAll', 'powerAll', 'kill', 'sickDisk'],
  snapshots: ['compact', 'kill', 'power', 'isolate', 'compact'],
  deadline: ['rate', 'clientPause', 'pause', 'transfer', 'clientSuspend', 'slowNet'],
  renewing: ['clientPause', 'pause', 'transfer', 'clientCut', 'slowNet'],
  barriers: ['clientKill', 'kill', 'transfer', 'clientCut', 'clientReset', 'clientPause'],
  waiters: ['clientKill', 'kill', 'transfer', 'clientCut', 'clientReset'],
  idempotency: ['clientKill', 'kill', 'transfer', 'clientCut', 'clientReset', 'power'],
}

export interface DrawnFault extends WholeFault {
  /** The number of the fault in the list of the seed. */
  readonly number: number
}

export function drawFaults(options: WholeOptions): readonly DrawnFault[] {
  const random = seededRandom(`whole-faults/${options.seed}`)
  const count = Math.floor((options.duration / 1000) * options.faults * (0.5 + random.float()))
  const bias = BIAS[options.workload] ?? []
  const kinds = FAULT_KINDS.filter(() => random.chance(0.6))
  const pool = [...kinds, ...bias, 'pause' as const]
  const faults = Array.from({ length: count }, () => drawFault(options, random, random.pick(pool)))
  return faults.sort((a, b) => a.at - b.at).map((fault, number) => ({ number, ...fault }))
}

function drawFault(options: WholeOptions, random: Random, kind: FaultKind): WholeFault {
  const longest = Math.max(options.electionTimeout * 3, options.lease[1] * 2)
  const u = random.float()
  return {
    at: random.between(200_000, options.duration * 1000),
    kind,
    who: random.chance(0.5) ? -1 : random.between(0, 100),
    other: random.between(0, 100),
    millis: Math.floor(5 + u * u * longest),
  }
}
