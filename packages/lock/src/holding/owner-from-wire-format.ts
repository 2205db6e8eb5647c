// Door: turns an owner of the wire format into the Owner that callers get.

import { startsWith } from '@latchkey/base'
import {
  type As,
  type ContextArg,
  type Decoding,
  type FlowLink,
  type HoldKind,
  LatchkeyError,
  type LockInfo,
  type LockInfoResult,
  type LockMode,
  nameOfLockKey,
  type ObstacleResult,
  OWNER_CODES,
  type Owner,
  type OwnerCode,
  type OwnerResult,
  type PermitInfo,
  type QueuedResult,
  show,
  shownLockKey,
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

/** Copies the bytes of a frame, which are a Buffer, to a plain Uint8Array for the caller. */
const plain = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

/**
 * Copies the context bytes of an owner. Without the copy, a stored owner would keep the whole received frame
 * in memory.
 */
export function toKept(result: OwnerResult): OwnerResult {
  const [id, deadline, remaining, token, acquires, context, code, now] = result
  if (!(context instanceof Uint8Array)) return result
  return [id, deadline, remaining, token, acquires, plain(context), code, now]
}

export function toContext(context: ContextArg): string | Uint8Array | undefined {
  if (context === null) return undefined
  return typeof context === 'string' ? context : plain(context)
}

export const modeOf = (permits: number): LockMode => (permits === 0 ? 'exclusive' : 'shared')

export function toLockInfo(row: LockInfoResult, how: Decoding): LockInfo<As> {
  const [key, , , , , , , , queue, permits] = row
  return {
    key: toUserKey(nameOfLockKey(key), how),
    mode: modeOf(permits),
    ...heldOf(row),
    ...(queue === null ? {} : { queue: queue.map((one) => ({ ...queuedOf(one), mode: modeOf(one[3]) })) }),
  }
}

export function toHoldInfo(kind: HoldKind, row: LockInfoResult, how: Decoding): LockInfo<As> {
  const { queue, ...info } = { kind, ...toLockInfo(row, how) }
  const permits = kind === 'semaphore'
  const waiters = queue?.map((one, at) => (permits ? { ...one, permits: row[8]?.[at]?.[3] } : one))
  return { ...info, ...(permits ? { permits: row[9] } : {}), ...(waiters && { queue: waiters }) }
}

export function toPermitInfo(row: LockInfoResult, how: Decoding): PermitInfo<As> {
  const [key, , , , , , , , queue, permits] = row
  return {
    name: toUserKey(nameOfLockKey(key), how),
    permits,
    ...heldOf(row),
    ...(queue === null ? {} : { queue: queue.map((one) => ({ ...queuedOf(one), permits: one[3] })) }),
  }
}

const heldOf = ([, id, context, token, acquires, remaining, waiters, since]: LockInfoResult) => ({
  id,
  context: toContext(context),
  fencingToken: token,
  acquires,
  remainingMillis: remaining,
  sinceMillis: since,
  waiters,
})

const queuedOf = ([id, context, waitedMillis]: QueuedResult) => ({
  id,
  context: toContext(context),
  waitedMillis,
})

/** Returns the error of an attempt that neither got the lock nor entered the queue. */
export function obstacleError(obstacle: ObstacleResult, lockKey: Uint8Array, how: Decoding): LatchkeyError {
  const key = shownLockKey(lockKey, how)
  if (obstacle[0] === 'deadlock') return new LatchkeyError('ERR_DEADLOCK', OTHER_MODE, { key })
  if (obstacle[0] === 'circle') return circleError(obstacle[1], key, how)
  const [, present] = obstacle
  const message = `The semaphore has ${present} permits. Name that number as \`of\`, or change it with semaphores.resize().`
  return new LatchkeyError('ERR_MISMATCH', message, { key, present })
}

/**
 * The error leaves out keys that are not below the prefix of a sub, because a caller of the sub must not see
 * these keys.
 */
export function circleError(
  links: readonly FlowLink[],
  asked: string | Uint8Array,
  how: Decoding,
): LatchkeyError {
  const circle = links
    .filter(([, key]) => startsWith(nameOfLockKey(key), how.prefix))
    .map(([flow, key]) => ({ flow, key: shownLockKey(key, how) }))
  const waits = circle.map(({ flow, key }) => `${show(flow)} for ${show(key)}`).join(', ')
  const message = `The wait would never end: ${waits === '' ? 'flows' : waits} wait for each other. Release what this flow holds and begin again, or take all locks in one step with acquireAll().`
  return new LatchkeyError('ERR_DEADLOCK', message, { key: asked, circle })
}

const OTHER_MODE =
  'This owner holds the lock in the other mode and would wait for itself. Release the hold first, or downgrade an exclusive one.'
