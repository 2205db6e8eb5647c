// Rule: converts an Owner to JSON, and computes for how long a holder may rely on its hold by its own clock.

import { type ContextArg, OWNER_CODES, type OwnerCode, type OwnerResult } from '@latchkey/protocol'

export const codeOf = (owner: OwnerResult): OwnerCode => OWNER_CODES[owner[6]] as OwnerCode
export const tokenOf = (owner: OwnerResult): number => owner[3]

const GRANTED: ReadonlySet<OwnerCode> = new Set(['FIRST_TIME', 'NEW_ACQUIRE', 'KEEP_LEASE', 'REENTRANT'])
export const isGranted = (owner: OwnerResult): boolean => GRANTED.has(codeOf(owner))

export function ownerJson(owner: OwnerResult): object {
  const [id, deadlineMillis, remainingMillis, fencingToken, acquires, context, , nowMillis] = owner
  return { id, deadlineMillis, remainingMillis, fencingToken, acquires, ...contextJson(context), nowMillis }
}

/** Bytes are sent in base64 as `contextBase64`, because JSON has no bytes. */
export function contextJson(context: ContextArg): object {
  if (context === null) return {}
  return typeof context === 'string'
    ? { context }
    : { contextBase64: Buffer.from(context).toString('base64') }
}

/**
 * Returns for how many ms the caller may rely on its hold, counted from the moment at which the caller sent
 * its request.
 * Law (CT5, docs/locks.md): the caller sends its request at its local time s. `entryTime` is the cluster time
 * of the request's log entry, which the leader made after s. At a local time t, the cluster time is at most
 * entryTime + (t - s) * rate. So the lease has not ended while t - s is less than the result. If the request
 * caused several log entries, `entryTime` belongs to the first entry. The difference t - s already contains
 * the duration of a wait, and a later `entryTime` would subtract this duration a second time.
 */
export function promisedMillis(deadline: number, entryTime: number, rate: number): number {
  return Math.max(0, Math.floor((deadline - entryTime) / rate))
}
