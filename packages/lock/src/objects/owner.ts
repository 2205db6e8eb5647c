// Door: an Owner off the wire, as callers know it.

import { copyBytes, text } from '@latchkey/base'
import {
  type As,
  type ContextArg,
  type LockInfo,
  type LockInfoResult,
  OWNER_CODES,
  type Owner,
  type OwnerCode,
  type OwnerResult,
} from '@latchkey/protocol'

const SUCCESSES: ReadonlySet<OwnerCode> = new Set([
  'FIRST_TIME',
  'NEW_ACQUIRE',
  'KEEP_LEASE',
  'REENTRANT',
  'RELEASED',
  'DECREMENTED',
])

export function codeOf(result: OwnerResult): OwnerCode {
  return OWNER_CODES[result[6]] as OwnerCode
}

export function isSuccess(result: OwnerResult): boolean {
  return SUCCESSES.has(codeOf(result))
}

export function toOwner(result: OwnerResult): Owner {
  const [id, deadlineMillis, remainingMillis, fencingToken, acquires, context, , nowMillis] = result
  return {
    id,
    deadlineMillis,
    remainingMillis,
    fencingToken,
    acquires,
    context: toContext(context),
    success: isSuccess(result),
    code: codeOf(result),
    nowMillis,
  }
}

/** The type that was given: text is text, bytes are bytes, and belong to the caller. */
export function toContext(context: ContextArg): string | Uint8Array | undefined {
  if (context === null) return undefined
  return typeof context === 'string' ? context : copyBytes(context)
}

export function toLockInfo(row: LockInfoResult, as: As): LockInfo {
  const [key, id, context, fencingToken, acquires, remainingMillis, waiters] = row
  return {
    key: as === 'bytes' ? copyBytes(key) : text(key),
    id,
    context: toContext(context),
    fencingToken,
    acquires,
    remainingMillis,
    waiters,
  }
}
