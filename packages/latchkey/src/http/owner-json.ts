// Rule: converts an Owner to JSON, and computes how long a holder may count on its hold by its own clock.

import { type ContextArg, OWNER_CODES, type OwnerCode, type OwnerResult } from '@latchkey/protocol'

export const codeOf = (owner: OwnerResult): OwnerCode => OWNER_CODES[owner[6]] as OwnerCode
export const tokenOf = (owner: OwnerResult): number => owner[3]

const GRANTED: ReadonlySet<OwnerCode> = new Set(['FIRST_TIME', 'NEW_ACQUIRE', 'KEEP_LEASE', 'REENTRANT'])
export const isGranted = (owner: OwnerResult): boolean => GRANTED.has(codeOf(owner))

export function ownerJson(owner: OwnerResult): object {
  const [id, deadlineMillis, remainingMillis, fencingToken, acquires, context, , nowMillis] = owner
  return { id, deadlineMillis, remainingMillis, fencingToken, acquires, ...contextJson(context), nowMillis }
}

/**
 * Returns a context for JSON. A text is sent as text. Bytes are sent in base64 under the name
 * `contextBase64`, because JSON has no bytes.
 */
export function contextJson(context: ContextArg): object {
  if (context === null) return {}
  return typeof context === 'string'
    ? { context }
    : { contextBase64: Buffer.from(context).toString('base64') }
}

/**
 * Returns how long the caller may count on its hold, in ms after the caller sent its request.
 * Law: an answer that proves leadership bounds the cluster time (CT5, docs/locks.md). The caller sent its
 * request at its time s, and `stamped` is the time of an entry that was made after that. At a later time t of
 * the caller, the cluster time is at most stamped + (t - s) * rate. So the cluster time is less than
 * `deadline` while t - s is less than this result. If the request caused several entries, `stamped` must come
 * from the first one: after a long wait, a later entry would count the wait against the lease.
 */
export function promisedMillis(deadline: number, stamped: number, rate: number): number {
  return Math.max(0, Math.floor((deadline - stamped) / rate))
}
