// Rule: what reads see. Nothing here writes.

import type { LockInfoResult, OwnerResult, TicketResult } from '@latchkey/protocol'
import { CODE, inForce, notHeld, overAt, ownerOfHold } from './lock-answers.js'
import type { HoldRow, LockView } from './lock-transaction.js'

/** Is exactly that hold in force? What a guard and a condition { lock, token } ask. */
export function isHeldWith(view: LockView, key: Uint8Array, token: number): boolean {
  const row = view.hold(key)
  return inForce(row, view.now) && row.token === token
}

/** What became of a ticket: (key, id). */
export function ticketOf(view: LockView, key: Uint8Array, id: string): TicketResult {
  const row = view.hold(key)
  if (inForce(row, view.now) && row.id === id) return ['granted', ownerOfHold(row, view.now)]
  return view.waiter(key, id) === undefined ? ['unknown', null] : ['queued', null]
}

/** One line of a lockQuery; undefined: the hold is over and left out. */
export function lockInfo(view: LockView, row: HoldRow): LockInfoResult | undefined {
  if (!inForce(row, view.now)) return undefined
  const remaining = overAt(row) - view.now
  return [row.key, row.id, row.context, row.token, row.acquires, remaining, view.waiterCount(row.key)]
}

/** Who holds it now: HELD with all that is known, its token and acquires too, or NOT_HELD with no id. */
export function lockOwner(view: LockView, key: Uint8Array): OwnerResult {
  const row = view.hold(key)
  if (!inForce(row, view.now)) return notHeld('', view.now)
  const remaining = overAt(row) - view.now
  return [row.id, overAt(row), remaining, row.token, row.acquires, row.context, CODE.HELD, view.now]
}
