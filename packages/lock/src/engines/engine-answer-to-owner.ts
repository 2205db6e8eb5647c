// Rule: converts the answers of a lock engine to the form that the lock objects read.

import { KEEP_LEASE_FAIL, type OwnerCode, type OwnerResult } from '@latchkey/protocol'
import { CODE, SUCCESS_NUMBER } from '../rules/hold-checks-and-answers.js'
import type { EngineHold, ReleaseAnswer, TakeAnswer } from './lock-engine-interface.js'

/**
 * Builds the OwnerResult of an answer. If the call has succeeded, `remaining` is the fixed number that
 * SUCCESS_NUMBER has for the code. Otherwise `remaining` is the rest of the hold's lease in ms.
 */
function ownerOf(hold: EngineHold, code: OwnerCode, now: number): OwnerResult {
  const { id, deadline, token, acquires, context } = hold
  const remaining = SUCCESS_NUMBER[CODE[code]] ?? Math.max(0, deadline - now)
  return [id, deadline, remaining, token, acquires, context, CODE[code], now]
}

const nobody = (id: string, code: OwnerCode, now: number, remaining = 0): OwnerResult => [
  id,
  0,
  remaining,
  0,
  0,
  null,
  CODE[code],
  now,
]

export function takenOwner(id: string, { code, hold, now }: TakeAnswer): OwnerResult {
  if (hold === undefined || code === 'LATE') return nobody(id, 'HELD', now)
  return ownerOf(hold, code, now)
}

export const grantedOwner = (id: string, answer: TakeAnswer): OwnerResult | undefined =>
  answer.code === 'HELD' || answer.code === 'LATE' ? undefined : takenOwner(id, answer)

export const keptOwner = (id: string, hold: EngineHold | undefined, now: number): OwnerResult =>
  hold === undefined ? nobody(id, 'KEEP_LEASE_FAIL', now, KEEP_LEASE_FAIL) : ownerOf(hold, 'KEEP_LEASE', now)

export const releasedOwner = (id: string, { code, hold, now }: ReleaseAnswer): OwnerResult =>
  hold === undefined ? nobody(id, code, now) : ownerOf(hold, code, now)
