// Rule: an Owner as JSON, and the remaining time that a holder may count on by its own clock.

import { type ContextArg, OWNER_CODES, type OwnerCode, type OwnerResult } from '@latchkey/protocol'

export const codeOf = (owner: OwnerResult): OwnerCode => OWNER_CODES[owner[6]] as OwnerCode
export const tokenOf = (owner: OwnerResult): number => owner[3]

const GRANTED: ReadonlySet<OwnerCode> = new Set(['FIRST_TIME', 'NEW_ACQUIRE', 'KEEP_LEASE', 'REENTRANT'])
export const isGranted = (owner: OwnerResult): boolean => GRANTED.has(codeOf(owner))

export function ownerJson(owner: OwnerResult): object {
  const [id, deadlineMillis, remainingMillis, fencingToken, acquires, context, , nowMillis] = owner
  return { id, deadlineMillis, remainingMillis, fencingToken, acquires, ...contextJson(context), nowMillis }
}

/** Text stays text; bytes are sent in base64, in a field of another name, because JSON has no bytes. */
export function contextJson(context: ContextArg): object {
  if (context === null) return {}
  return typeof context === 'string'
    ? { context }
    : { contextBase64: Buffer.from(context).toString('base64') }
}

/**
 * Law (CT5: an answer that proves leadership bounds the cluster time; docs/locks.md): `stamped` is the time
 * of an entry that was made after the caller sent its request at s. So at a later instant t cluster time is
 * at most stamped + (t - s) * rate on the caller's clock, and it is below `deadline` while t - s is below
 * this result. If there are several such entries, the first one gives the best bound: an entry made after a
 * long wait would count the wait against the lease.
 */
export function promisedMillis(deadline: number, stamped: number, rate: number): number {
  return Math.max(0, Math.floor((deadline - stamped) / rate))
}
