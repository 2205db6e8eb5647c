// Rule: answers reads of locks, of owners, and of the state of one acquirer. These functions write nothing.

import type {
  HolderResult,
  LockInfoResult,
  OwnerResult,
  QueuedResult,
  TicketResult,
} from '@latchkey/protocol'
import { CODE, inForce, notHeld, overAt, ownerOfHold } from './hold-checks-and-answers.js'
import type { HoldRow, LockView, WaiterRow } from './lock-transaction.js'

/**
 * Whether a hold with exactly that token is in force, for guards and conditions. A shared hold counts only if
 * `shared` is true, because holders of a shared lock should not write.
 */
export function isHeldWith(view: LockView, key: Uint8Array, token: number, shared = false): boolean {
  const row = view.hold(key)
  if (inForce(row, view.now) && row.token === token) return true
  return shared && inForce(view.sharedHoldWith(key, token), view.now)
}

export function holdOf(view: LockView, key: Uint8Array, id: string): HoldRow | undefined {
  const row = view.hold(key)
  return row?.id === id ? row : view.sharedHold(key, id)
}

/** Returns the exclusive hold in force, or else the first shared hold. */
export function holderOf(view: LockView, key: Uint8Array): HoldRow | undefined {
  const row = view.hold(key)
  return inForce(row, view.now) ? row : view.shared(key)?.first
}

/** Returns the first holder, for the error of a refused write. null means that there is no holder. */
export function guardHolder(view: LockView, key: Uint8Array): HolderResult | null {
  const row = holderOf(view, key)
  if (!inForce(row, view.now)) return null
  return [row.id, row.context, row.token, overAt(row) - view.now, Math.max(0, view.now - row.since)]
}

/**
 * Returns the state of an acquirer: granted, queued or unknown. The pair (key, id) names the acquirer and is
 * called a ticket.
 */
export function ticketOf(view: LockView, key: Uint8Array, id: string): TicketResult {
  const row = holdOf(view, key, id)
  if (inForce(row, view.now)) return ['granted', ownerOfHold(row, view.now)]
  return view.waiter(key, id) === undefined ? ['unknown', null] : ['queued', null]
}

/** Builds one row of the answer to a lockQuery. Returns undefined if the hold is over. */
export function lockInfo(view: LockView, row: HoldRow, queue = false): LockInfoResult | undefined {
  if (!inForce(row, view.now)) return undefined
  const { key, id, context, token, acquires, permits } = row
  const waiters = queue ? [...view.queueOf(key)].map((waiter) => queued(view, waiter)) : null
  const held = Math.max(0, view.now - row.since)
  return [
    key,
    id,
    context,
    token,
    acquires,
    overAt(row) - view.now,
    view.waiterCount(key),
    held,
    waiters,
    permits,
  ]
}

const queued = ({ now }: LockView, { id, context, since, permits }: WaiterRow): QueuedResult => [
  id,
  context,
  Math.max(0, now - since),
  permits,
]

/** Answers who holds the lock now: HELD with all fields, or NOT_HELD with an empty id. */
export function lockOwner(view: LockView, key: Uint8Array): OwnerResult {
  const row = holderOf(view, key)
  if (!inForce(row, view.now)) return notHeld('', view.now)
  const remaining = overAt(row) - view.now
  return [row.id, overAt(row), remaining, row.token, row.acquires, row.context, CODE.HELD, view.now]
}
