// Rule: decides tryLockWith and renewals; each function is one row of the table in docs/locks.md, section 2.

import type { Command, ErrorCode, OP, OwnerResult, RenewalArg, RenewResult } from '@latchkey/protocol'
import { CODE, acquired, inForce, isSame, keepLeaseFailed, overAt, refusedHeld } from './lock-answers.js'
import type { HoldRow, LockTransaction } from './lock-transaction.js'
import { type Ask, enqueue, heldBy } from './queue.js'

export type TryLockCommand = Extract<Command, readonly [typeof OP.tryLock, ...unknown[]]>
export type RenewCommand = Extract<Command, readonly [typeof OP.renew, ...unknown[]]>

export interface TryLock extends Ask {
  readonly keepLease: boolean
  /** The token that the request carries; 0: none. */
  readonly token: number
  /**
   * null: one attempt, without queueing. Otherwise the milliseconds to wait after a refusal with HELD; 0 is
   * no limit.
   */
  readonly wait: number | null
}

/** The answer to send, or the error code to refuse with. After a refusal with a code nothing was written. */
export type TryLockAnswer = readonly [owner: OwnerResult, queued: boolean] | ErrorCode

export function tryLock(tx: LockTransaction, session: number, command: TryLockCommand): TryLockAnswer {
  const [, key, fencingKey, keepLease, id, lease, token, context, wait] = command
  return decide(tx, session, { key, fencingKey, keepLease, id, lease, token, context, wait })
}

/**
 * Many renewals in one command: each one is a tryLockWith with keepLease, and they run in the order of the
 * list.
 * The answers carry no contexts: no caller needs them, and those of thousands of holds would make one answer
 * too large.
 * An answer has the short form of RenewResult, without an owner object for each hold, because every member
 * builds it and one command may hold ten thousand renewals.
 */
export function renew(tx: LockTransaction, list: RenewCommand[1]): RenewResult {
  const items: (OwnerResult | number)[] = []
  for (const one of list) items.push(renewOne(tx, one))
  return [tx.now, items]
}

/**
 * The parts are read by index: a destructuring pattern goes through the iterator of the list, which is slow
 * until V8 has optimized the function.
 */
function renewOne(tx: LockTransaction, one: RenewalArg): OwnerResult | number {
  const key = one[0]
  const id = one[1]
  const token = one[2]
  const lease = one[3]
  const row = tx.hold(key)
  if (!inForce(row, tx.now)) return bare(keepLeaseFailed(row, id, tx.now))
  if (!isSame(row, id, token)) return bare(refusedHeld(row, tx.now))
  const kept = prolong(tx, row, lease)
  const asAsked = kept.token === token && kept.acquires === 1
  return asAsked ? overAt(kept) - tx.now : bare(acquired(kept, CODE.KEEP_LEASE, tx.now))
}

const bare = ([id, deadline, remaining, token, acquires, , code, now]: OwnerResult): OwnerResult => [
  id,
  deadline,
  remaining,
  token,
  acquires,
  null,
  code,
  now,
]

function decide(tx: LockTransaction, session: number, ask: TryLock): TryLockAnswer {
  const row = tx.hold(ask.key)
  if (!inForce(row, tx.now)) {
    if (ask.keepLease) return [keepLeaseFailed(row, ask.id, tx.now), false]
    return [take(tx, session, ask, row === undefined ? CODE.FIRST_TIME : CODE.NEW_ACQUIRE), false]
  }
  if (!isSame(row, ask.id, ask.token)) return refuse(tx, session, ask, row)
  return [ask.keepLease ? keep(tx, row, ask.lease) : reenter(tx, row, ask), false]
}

function take(tx: LockTransaction, session: number, ask: TryLock, code: number): OwnerResult {
  const row = heldBy(tx, ask, session, code, 0)
  tx.putHold(row)
  tx.happened('acquired', row)
  return acquired(row, code, tx.now)
}

const keep = (tx: LockTransaction, row: HoldRow, lease: number): OwnerResult =>
  acquired(prolong(tx, row, lease), CODE.KEEP_LEASE, tx.now)

/**
 * A deadline never moves backwards: a renewal with a short lease must not end a hold earlier than an answer
 * already promised.
 */
function prolong(tx: LockTransaction, row: HoldRow, lease: number): HoldRow {
  const kept = { ...row, deadline: Math.max(row.deadline, tx.now + lease), touchBy: 0 }
  tx.putHold(kept)
  tx.happened('renewed', kept)
  return kept
}

function reenter(tx: LockTransaction, row: HoldRow, ask: TryLock): OwnerResult {
  const again = {
    ...row,
    deadline: Math.max(row.deadline, tx.now + ask.lease),
    acquires: row.acquires + 1,
    context: ask.context ?? row.context,
    touchBy: 0,
  }
  tx.putHold(again)
  tx.happened('renewed', again)
  return acquired(again, CODE.REENTRANT, tx.now)
}

/**
 * A renewal never queues. An acquirer that meets a hold of its own id under another token does not queue
 * either. It would wait for itself, and its ticket (key, id) would name both a hold and a waiter.
 */
function refuse(tx: LockTransaction, session: number, ask: TryLock, row: HoldRow): TryLockAnswer {
  const owner = refusedHeld(row, tx.now)
  if (ask.wait === null || ask.keepLease || row.id === ask.id) return [owner, false]
  return enqueue(tx, ask, session, ask.wait) ? [owner, true] : 'ERR_BUSY'
}
