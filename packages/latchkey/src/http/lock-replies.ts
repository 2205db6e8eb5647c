// Rule: the answers about a hold that was not granted, or that has ended.

import { type LockPort, toOwner } from '@latchkey/lock'
import { LatchkeyError, nameOfLockKey, type OwnerResult, shownKey } from '@latchkey/protocol'
import type { Reply } from './http-ports.js'
import { codeOf, ownerJson } from './owner-json.js'

/** Returns the Owner of the lock, together with the fields that every refusal has. */
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

/**
 * Throws ERR_NO_LEADER if the cluster has no leader. The Owner is then only the state at the begin of the
 * wait. Without this error, the caller cannot distinguish a lock with another holder from a cluster without a
 * leader.
 */
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
 * Returns ERR_LOCK_LOST if no hold is in force. Returns ERR_NOT_OWNER if another caller holds the lock, or
 * this caller's id holds the lock with a later token.
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
    owner[0] === hold.id ? 'That id holds the lock under another token.' : 'Another holds the lock.'
  return new LatchkeyError('ERR_NOT_OWNER', message, { ...fields, owner: toOwner(owner) })
}
