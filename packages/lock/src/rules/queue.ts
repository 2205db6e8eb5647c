// Rule: the fair queue of waiters behind a hold (docs/locks.md, section 7).

import { CAPS } from '@latchkey/protocol'
import { CODE } from './lock-answers.js'
import type { HoldRow, LockTransaction, WaiterRow } from './lock-transaction.js'

export type Ask = Pick<WaiterRow, 'key' | 'id' | 'lease' | 'context' | 'fencingKey'>

/**
 * Grants the lock to the first waiter that is still alive.
 * Law: a queue exists only behind a hold in force. Therefore each rule that ends a hold calls grantNext in
 * the same entry, and a caller joins a queue only when it is refused with HELD.
 */
export function grantNext(tx: LockTransaction, key: Uint8Array, code: number): HoldRow | undefined {
  for (let next = tx.firstWaiter(key); next !== undefined; next = tx.firstWaiter(key)) {
    tx.deleteWaiter(next)
    const life = tx.sessionLife(next.session)
    if (life === undefined || waitIsOver(next, tx.now)) {
      tx.happened('left', next)
      continue
    }
    const row = heldBy(tx, next, next.session, code, tx.now + Math.min(next.lease, life))
    tx.putHold(row)
    tx.happened('acquired', row)
    tx.granted(row)
    return row
  }
  return undefined
}

/** The row of a new ownership, with the next token of its counter. */
export function heldBy(
  tx: LockTransaction,
  ask: Ask,
  session: number,
  code: number,
  touchBy: number,
): HoldRow {
  return {
    key: ask.key,
    id: ask.id,
    token: tx.nextToken(ask.fencingKey),
    acquires: 1,
    deadline: tx.now + ask.lease,
    context: ask.context,
    fencingKey: ask.fencingKey,
    session,
    since: tx.now,
    touchBy,
    code,
  }
}

/**
 * Puts the caller in the queue; `wait` is in milliseconds, 0 is no limit. Returns false if the queue is full.
 * A caller that waits already keeps its position. Asking again never shortens its wait, because several
 * attempts of one lock object share that position.
 */
export function enqueue(tx: LockTransaction, ask: Ask, session: number, wait: number): boolean {
  const place = tx.waiter(ask.key, ask.id)
  if (place === undefined && tx.waiterCount(ask.key) >= CAPS.waiters) return false
  const row = {
    key: ask.key,
    arrival: place?.arrival ?? tx.nextArrival(),
    id: ask.id,
    session,
    since: place?.since ?? tx.now,
    deadline: longer(place, wait === 0 ? 0 : tx.now + wait),
    lease: ask.lease,
    context: ask.context ?? place?.context ?? null,
    fencingKey: ask.fencingKey,
  }
  tx.putWaiter(row)
  if (place === undefined) tx.happened('queued', row)
  return true
}

function longer(place: WaiterRow | undefined, deadline: number): number {
  if (place === undefined) return deadline
  return place.deadline === 0 || deadline === 0 ? 0 : Math.max(place.deadline, deadline)
}

export function waitIsOver(row: WaiterRow, now: number): boolean {
  return row.deadline !== 0 && now > row.deadline
}

/**
 * Ends a hold that its owner released or an operator forced: the row is deleted, and the first live waiter is
 * granted the lock in the same entry.
 */
export function freeAndGrant(tx: LockTransaction, row: HoldRow): void {
  tx.deleteHold(row.key)
  tx.happened('released', row)
  grantNext(tx, row.key, CODE.FIRST_TIME)
}

/** Ends a wait of a caller that was not granted the lock. */
export function leave(tx: LockTransaction, waiter: WaiterRow): void {
  tx.deleteWaiter(waiter)
  tx.happened('left', waiter)
}
