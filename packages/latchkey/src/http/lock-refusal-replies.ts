// Rule: the HTTP answers when a lock was not granted, and when a hold is over.

import { type LockPort, toOwner } from '@latchkey/lock'
import { LatchkeyError, nameOfLockKey, type OwnerResult, shownKey } from '@latchkey/protocol'
import type { Reply } from './http-route-dependencies.js'
import { codeOf, ownerJson } from './owner-json.js'

export function ownerReply(
  status: number,
  owner: OwnerResult,
  message: string,
  retryable: boolean,
  more: object = {},
): Reply {
  const body = {
    ...more,
    ...ownerJson(owner),
    success: false,
    code: codeOf(owner),
    message,
    retryable,
    outcome: 'not-applied',
  }
  return { status, body }
}

/** Without a leader, nobody knows who holds the lock now, and an answer "held by another" would be wrong. */
export function throwIfLeaderless(port: LockPort, key: Uint8Array, waitedMillis: number): void {
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
