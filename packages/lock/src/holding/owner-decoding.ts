// Door: turns an owner of the wire format into the Owner that callers get.

import {
  type As,
  type ContextArg,
  type Decoding,
  type LockInfo,
  type LockInfoResult,
  OWNER_CODES,
  type Owner,
  type OwnerCode,
  type OwnerResult,
  type QueuedInfo,
  type QueuedResult,
  toUserKey,
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

/**
 * Bytes of a frame are Buffers, and a copy of a Buffer is a Buffer too. Callers get a plain Uint8Array of
 * their own.
 */
const plain = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

/**
 * For an owner that is kept: its bytes are a view of the received frame, and would keep the whole frame in
 * memory.
 */
export function toKept(result: OwnerResult): OwnerResult {
  const [id, deadline, remaining, token, acquires, context, code, now] = result
  if (!(context instanceof Uint8Array)) return result
  return [id, deadline, remaining, token, acquires, plain(context), code, now]
}

/** Keeps the type: a string stays a string, and bytes become a copy for the caller. */
export function toContext(context: ContextArg): string | Uint8Array | undefined {
  if (context === null) return undefined
  return typeof context === 'string' ? context : plain(context)
}

/**
 * The key for an error message, if the caller's own key is not known here: a string if the bytes are valid
 * text.
 */
export function shownKey(key: Uint8Array): string | Uint8Array {
  try {
    return utf8Only.decode(key)
  } catch {
    return plain(key)
  }
}
const utf8Only = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function toLockInfo(row: LockInfoResult, how: Decoding): LockInfo<As> {
  const [key, id, context, fencingToken, acquires, remainingMillis, waiters, sinceMillis, queue] = row
  return {
    key: toUserKey(key, how),
    id,
    context: toContext(context),
    fencingToken,
    acquires,
    remainingMillis,
    sinceMillis,
    waiters,
    ...(queue === null ? {} : { queue: queue.map(toQueued) }),
  }
}

const toQueued = ([id, context, waitedMillis]: QueuedResult): QueuedInfo => ({
  id,
  context: toContext(context),
  waitedMillis,
})
