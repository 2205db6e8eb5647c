// Rule: answers reads of locks, of owners, and of the state of one acquirer. It writes nothing.

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
 * shared hold counts only if `shared` allows it, because holders of a shared lock are expected to read only.
 */
export function isHeldWith(view: LockView, key: Uint8Array, token: number, shared = false): boolean {
  const row = view.hold(key)
  if (inForce(row, view.now) && row.token === token) return true
  return shared && inForce(view.sharedHoldWith(key, token), view.now)
}

/** The hold of that id: an exclusive hold, even if its lease is over, or a shared hold. */
export function holdOf(view: LockView, key: Uint8Array, id: string): HoldRow | undefined {
  const row = view.hold(key)
  return row?.id === id ? row : view.sharedHold(key, id)
}

/** The hold that prevents an exclusive one: the exclusive hold, or the first of the shared holds. */
export function holderOf(view: LockView, key: Uint8Array): HoldRow | undefined {
  const row = view.hold(key)
  return inForce(row, view.now) ? row : view.shared(key)?.first
}

/**
 * The holder, for the answer to a write whose guard is not in force. If there are several holders, it is the
 * first. null means that there is no holder.
 */
export function guardHolder(view: LockView, key: Uint8Array): HolderResult | null {
  const row = holderOf(view, key)
  if (!inForce(row, view.now)) return null
  return [row.id, row.context, row.token, overAt(row) - view.now, Math.max(0, view.now - row.since)]
}

/** The state of an acquirer, which the pair (key, id) names. This pair is called a ticket. */
export function ticketOf(view: LockView, key: Uint8Array, id: string): TicketResult {
  const row = holdOf(view, key, id)
  if (inForce(row, view.now)) return ['granted', ownerOfHold(row, view.now)]
  return view.waiter(key, id) === undefined ? ['unknown', null] : ['queued', null]
}

/**
 * One result of a lockQuery. Undefined if the hold is over, so that the hold is left out. With `queue` the
 * result has the waiters, in the order of their arrival.
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

/**
 * The answer to a question for the present holder: HELD with all fields, also token and acquires, or NOT_HELD
 * with an empty id.
 */
export function lockOwner(view: LockView, key: Uint8Array): OwnerResult {
  const row = holderOf(view, key)
  if (!inForce(row, view.now)) return notHeld('', view.now)
  const remaining = overAt(row) - view.now
  return [row.id, overAt(row), remaining, row.token, row.acquires, row.context, CODE.HELD, view.now]
}
