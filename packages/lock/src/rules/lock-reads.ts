// Rule: answers reads of locks, tickets and owners; writes nothing.

import type {
  HolderResult,
  LockInfoResult,
  OwnerResult,
  QueuedResult,
  TicketResult,
} from '@latchkey/protocol'
import { CODE, inForce, notHeld, overAt, ownerOfHold } from './lock-answers.js'
import type { HoldRow, LockView, WaiterRow } from './lock-transaction.js'

/**
 * Whether the hold with exactly that token is in force. Guards and conditions { lock, token } use this. A
 * shared hold counts only where `shared` says so: whoever may only read must not write by mistake.
 */
export function isHeldWith(view: LockView, key: Uint8Array, token: number, shared = false): boolean {
  const row = view.hold(key)
  if (inForce(row, view.now) && row.token === token) return true
  return shared && inForce(view.sharedHoldWith(key, token), view.now)
}

/** The hold of that id: an exclusive one, also if it is over, or a shared one. */
export function holdOf(view: LockView, key: Uint8Array, id: string): HoldRow | undefined {
  const row = view.hold(key)
  return row?.id === id ? row : view.sharedHold(key, id)
}

/** Who stands in the way of an exclusive hold: the exclusive holder, or the first of those who share. */
export function holderOf(view: LockView, key: Uint8Array): HoldRow | undefined {
  const row = view.hold(key)
  return inForce(row, view.now) ? row : view.shared(key)?.first
}

/** The holder, for the answer to a write whose guard does not hold; null: nobody. Of several the first. */
export function guardHolder(view: LockView, key: Uint8Array): HolderResult | null {
  const row = holderOf(view, key)
  if (!inForce(row, view.now)) return null
  return [row.id, row.context, row.token, overAt(row) - view.now, Math.max(0, view.now - row.since)]
}

/** The state of a ticket, which is the pair (key, id) of an acquirer. */
export function ticketOf(view: LockView, key: Uint8Array, id: string): TicketResult {
  const row = holdOf(view, key, id)
  if (inForce(row, view.now)) return ['granted', ownerOfHold(row, view.now)]
  return view.waiter(key, id) === undefined ? ['unknown', null] : ['queued', null]
}

/**
 * One result of a lockQuery; undefined if the hold is over, so that it is left out. `queue`: with the
 * waiters, in their order.
 */
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

/** The current holder: HELD with all of its fields, also token and acquires; or NOT_HELD with an empty id. */
export function lockOwner(view: LockView, key: Uint8Array): OwnerResult {
  const row = holderOf(view, key)
  if (!inForce(row, view.now)) return notHeld('', view.now)
  const remaining = overAt(row) - view.now
  return [row.id, overAt(row), remaining, row.token, row.acquires, row.context, CODE.HELD, view.now]
}
