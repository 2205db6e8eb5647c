// Rule: the HTTP answers when a lock was not granted, and when a hold is over.

import { type LockPort, toOwner } from '@latchkey/lock'
import { LatchkeyError, nameOfLockKey, type OwnerResult, READ, shownKey } from '@latchkey/protocol'
import { keyJson } from './http-status-of-errors.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { codeOf, ownerJson } from './owner-json.js'
import { limits } from './request-headers-and-query.js'

export function ownerReply(
  status: number,
  owner: OwnerResult,
  message: string,
  retryable: boolean,
  more: object = {},
): Reply {
  return refusal(status, { ...more, ...ownerJson(owner) }, codeOf(owner), message, retryable)
}

const refusal = (
  status: number,
  fields: object,
  code: string,
  message: string,
  retryable: boolean,
): Reply => ({
  status,
  body: { ...fields, success: false, code, message, retryable, outcome: 'not-applied' },
})

/**
 * Answers a caller whose wait has ended without the locks. The answer names the owner of the first lock that
 * another caller holds now. Without this read, the answer would name the caller that held the lock when the
 * wait began. `taken` is the message that another caller holds the lock.
 *
 * If a read fails, for example because the caller has no right to read, the answer names no owner.
 */
export async function waitIsOver(
  call: Call,
  keys: readonly Uint8Array[],
  id: string,
  waitedMillis: number,
  taken: string,
): Promise<Reply> {
  const { lockPort } = call.by
  const [first] = keys as [Uint8Array]
  throwIfLeaderless(lockPort, first, waitedMillis)
  const message = `${taken} Try again, or wait longer.`
  const owners = await Promise.all(keys.map((key) => presentOwner(call, key)))
  const held = owners.findIndex((owner) => owner !== undefined && codeOf(owner) === 'HELD' && owner[0] !== id)
  const owner = owners[held]
  if (owner !== undefined) {
    const name = nameOfLockKey(keys[held] as Uint8Array)
    return ownerReply(409, owner, message, true, { ...keyJson(name), waitedMillis })
  }
  if (owners.includes(undefined)) return refusal(409, { waitedMillis }, 'HELD', message, true)
  throw new LatchkeyError('ERR_TIMEOUT', undefined, { key: shownKey(nameOfLockKey(first)), waitedMillis })
}

const presentOwner = (call: Call, key: Uint8Array): Promise<OwnerResult | undefined> =>
  call.by.lockPort
    .read([READ.lockOwner, key], limits(call))
    .then((owner) => owner as OwnerResult)
    .catch(() => undefined)

/** Without a leader, nobody knows who holds the lock now, and an answer "held by another" would be wrong. */
function throwIfLeaderless(port: LockPort, key: Uint8Array, waitedMillis: number): void {
  const leaderless = port.noLeader()
  if (leaderless === undefined) return
  const { message, missing, leader } = leaderless
  throw new LatchkeyError('ERR_NO_LEADER', message, {
    missing,
    leader,
    key: shownKey(nameOfLockKey(key)),
    waitedMillis,
  })
}

/**
 * Returns ERR_NOT_OWNER if another caller holds the lock, or if the same id holds the lock with a later
 * token. Otherwise returns ERR_LOCK_LOST.
 */
export function lostHold(
  owner: OwnerResult,
  key: Uint8Array,
  hold: { readonly id: string; readonly token: number },
): LatchkeyError {
  const fields = { key: shownKey(nameOfLockKey(key)), token: hold.token }
  const taken = codeOf(owner) === 'HELD' || codeOf(owner) === 'NOT_OWNER'
  if (!taken)
    return new LatchkeyError(
      'ERR_LOCK_LOST',
      'That hold is over: its lease has ended, or it was released. Stop the work it guarded; acquire again to go on.',
      fields,
    )
  const message =
    owner[0] === hold.id ? 'That id holds the lock under another token.' : 'Another caller holds the lock.'
  return new LatchkeyError('ERR_NOT_OWNER', message, { ...fields, owner: toOwner(owner) })
}
