// Rule: answers reads of locks, tickets and owners; writes nothing.

import type { LockInfoResult, OwnerResult, TicketResult } from '@latchkey/protocol'
import { CODE, inForce, notHeld, overAt, ownerOfHold } from './lock-answers.js'
import type { HoldRow, LockView } from './lock-transaction.js'

/** Whether the hold with exactly that token is in force. Guards and conditions { lock, token } use this. */
export function isHeldWith(view: LockView, key: Uint8Array, token: number): boolean {
  const row = view.hold(key)
  return inForce(row, view.now) && row.token === token
}

/** The state of a ticket, which is the pair (key, id) of an acquirer. */
export function ticketOf(view: LockView, key: Uint8Array, id: string): TicketResult {
  const row = view.hold(key)
  if (inForce(row, view.now) && row.id === id) return ['granted', ownerOfHold(row, view.now)]
  return view.waiter(key, id) === undefined ? ['unknown', null] : ['queued', null]
}

/** One result of a lockQuery; undefined if the hold is over, so that it is left out. */
export function lockInfo(view: LockView, row: HoldRow): LockInfoResult | undefined {
  if (!inForce(row, view.now)) return undefined
  const remaining = overAt(row) - view.now
  return [row.key, row.id, row.context, row.token, row.acquires, remaining, view.waiterCount(row.key)]
}

/** The current holder: HELD with all of its fields, also token and acquires; or NOT_HELD with an empty id. */
export function lockOwner(view: LockView, key: Uint8Array): OwnerResult {
  const row = view.hold(key)
  if (!inForce(row, view.now)) return notHeld('', view.now)
  const remaining = overAt(row) - view.now
  return [row.id, overAt(row), remaining, row.token, row.acquires, row.context, CODE.HELD, view.now]
}
