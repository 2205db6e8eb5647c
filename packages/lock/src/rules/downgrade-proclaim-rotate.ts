// Rule: the changes that an owner makes to its own hold: a downgrade to shared, another context (proclaim),
// or a new token (rotate).
//
// A rotation may race with other requests. Each race ends well:
// - A renewal, reentry or release with the old token comes after a rotation. isSame accepts every token of
//   this hold, so the owner's own request is not refused.
// - A worker that the owner has stopped makes a guarded write with the old token after a rotation. isHeldWith
//   accepts the current token and no other token, so the write is refused.
// - The answer to a rotation is lost. The client repeats the call, and the session returns the stored answer
//   with the same token. If the caller has no session, it repeats the rotation with the same idempotency key,
//   and gets the answer of presentHold.
// - A rotation comes after a release or a loss. The id has no hold, so nothing changes. The answer is
//   NOT_HELD or NOT_OWNER.
// - Two rotations of one hold follow each other. The token of the second rotation is in force.

import { equalBytes } from '@latchkey/base'
import type { ContextArg, OwnerResult } from '@latchkey/protocol'
import { CODE, acquired, inForce, isSame, notHeld, notOwner } from './hold-checks-and-answers.js'
import { holdOf, holderOf } from './lock-reads.js'
import type { HoldRow, LockTransaction } from './lock-transaction.js'
import { grantNext } from './queue.js'

/**
 * Runs `change` on the hold of that id if the hold is in force. Otherwise the answer names the present holder
 * of the lock. A change also confirms the grant of the hold, so touchBy becomes 0.
 */
function changeOwn(
  tx: LockTransaction,
  key: Uint8Array,
  id: string,
  token: number,
  change: (row: HoldRow) => HoldRow,
): OwnerResult {
  const row = holdOf(tx, key, id)
  if (inForce(row, tx.now) && isSame(row, id, token)) return acquired(change(row), CODE.KEEP_LEASE, tx.now)
  const other = holderOf(tx, key)
  return inForce(other, tx.now) ? notOwner(other, tx.now) : notHeld(id, tx.now)
}

/** The shared requests at the front of the queue are granted the lock in the same log entry. */
export function downgrade(tx: LockTransaction, key: Uint8Array, id: string, token: number): OwnerResult {
  return changeOwn(tx, key, id, token, (row) => {
    if (row.permits > 0) return row
    tx.deleteHold(row)
    const shared = { ...row, touchBy: 0, permits: 1 }
    tx.putHold(shared)
    tx.happened('renewed', shared)
    grantNext(tx, key, CODE.FIRST_TIME)
    return shared
  })
}

/**
 * In an election, the context of the hold is the value that the leader proclaims. If the leader proclaims its
 * present value again, no event happens. Without this law: the answer to a proclaim over HTTP is lost, the
 * leader repeats the request, and each observer gets a second event for one change.
 */
export function proclaim(
  tx: LockTransaction,
  key: Uint8Array,
  id: string,
  token: number,
  context: ContextArg,
): OwnerResult {
  return changeOwn(tx, key, id, token, (row) => {
    const changed = { ...row, touchBy: 0, context }
    tx.putHold(changed)
    if (!isSameContext(row.context, context)) tx.happened('proclaimed', changed)
    return changed
  })
}

const isSameContext = (a: ContextArg, b: ContextArg): boolean =>
  a instanceof Uint8Array && b instanceof Uint8Array ? equalBytes(a, b) : a === b

export function rotate(tx: LockTransaction, key: Uint8Array, id: string, token: number): OwnerResult {
  return changeOwn(tx, key, id, token, (row) => {
    const changed = { ...row, touchBy: 0, token: tx.nextToken(row.fencingKey) }
    tx.putHold(changed)
    tx.happened('rotated', changed)
    return changed
  })
}

/** Changes nothing. Answers a repeated change with the present token and the present end of the hold. */
export const presentHold = (tx: LockTransaction, key: Uint8Array, id: string, token: number): OwnerResult =>
  changeOwn(tx, key, id, token, (row) => row)
