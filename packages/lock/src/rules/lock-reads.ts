// Rule: answers reads of locks, tickets and owners; writes nothing.

import type { LockInfoResult, OwnerResult, QueuedResult, TicketResult } from '@latchkey/protocol'
import { CODE, inForce, notHeld, overAt, ownerOfHold } from './lock-answers.js'
import type { HoldRow, LockView, WaiterRow } from './lock-transaction.js'

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

/**
 * One result of a lockQuery; undefined if the hold is over, so that it is left out. `queue`: with the
 * waiters, in their order.
 */
export function lockInfo(view: LockView, row: HoldRow, queue = false): LockInfoResult | undefined {
  if (!inForce(row, view.now)) return undefined
  const { key, id, context, token, acquires } = row
  const waiters = queue ? [...view.queueOf(key)].map((waiter) => queued(view, waiter)) : null
  const held = Math.max(0, view.now - row.since)
  return [key, id, context, token, acquires, overAt(row) - view.now, view.waiterCount(key), held, waiters]
}

const queued = ({ now }: LockView, { id, context, since }: WaiterRow): QueuedResult => [
  id,
  context,
  Math.max(0, now - since),
]

/** The current holder: HELD with all of its fields, also token and acquires; or NOT_HELD with an empty id. */
export function lockOwner(view: LockView, key: Uint8Array): OwnerResult {
  const row = view.hold(key)
  if (!inForce(row, view.now)) return notHeld('', view.now)
  const remaining = overAt(row) - view.now
  return [row.id, overAt(row), remaining, row.token, row.acquires, row.context, CODE.HELD, view.now]
}
