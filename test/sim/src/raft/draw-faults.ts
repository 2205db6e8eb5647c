// Rule: draws the list of faults before a run. Each fault has its own random numbers, so the other faults
// stay the same if one fault is left out.

import { seededRandom } from '@latchkey/base'
import type { TimedFault } from '../world/nemesis.js'
import { FAULT_KINDS, type FaultKind } from './fault-kinds.js'
import type { Options } from './options.js'

export interface Fault extends TimedFault {
  readonly kind: FaultKind
  /** In µs, the duration of a fault that has a duration. */
  readonly span: number
  /** Random numbers in [0, 1). They choose the members and the details of the fault. */
  readonly dice: readonly [number, number, number, number]
}

export function drawPlan(options: Options): readonly Fault[] {
  const random = seededRandom(options.seed).fork('faults')
  const kinds = FAULT_KINDS.filter((kind) => options.faults[kind] > 0)
  const total = kinds.reduce((sum, kind) => sum + options.faults[kind], 0)
  const faults: Fault[] = []
  if (total === 0) return faults
  const longest = options.member.electionTimeout * 1000 * 4
  for (let at = random.between(0, options.faultGap); at < options.duration; ) {
    let dice = random.float() * total
    const kind = kinds.find((candidate) => (dice -= options.faults[candidate]) < 0) ?? kinds[0]
    const span = Math.floor(1000 + random.float() ** 2 * longest)
    const own = seededRandom(options.seed).fork(`fault/${faults.length}`)
    faults.push({
      number: faults.length,
      at,
      kind: kind as FaultKind,
      span,
      dice: [own.float(), own.float(), own.float(), own.float()],
    })
    at += Math.floor(random.float() * 2 * options.faultGap) + 1
  }
  return faults
}
