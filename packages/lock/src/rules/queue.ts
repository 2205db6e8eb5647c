// Rule: the fair queue of waiters for a lock (docs/locks.md, section 7).

import { CAPS, type FlowArg } from '@latchkey/protocol'
import { CODE } from './hold-checks-and-answers.js'
import type { HoldRow, LockTransaction, WaiterRow } from './lock-transaction.js'
import { firstNotPassed, fits, membersOf, setFits } from './waiting-key-sets.js'

export type Ask = Pick<
  WaiterRow,
  'key' | 'id' | 'lease' | 'context' | 'fencingKey' | 'permits' | 'flow' | 'within'
>

/** The flow of a caller that names no flow and makes its call outside of every withLock. */
export const NO_FLOW: FlowArg = [null, []]

/**
 * Grants the lock to the first waiters of the queue, until the hold of the next waiter would conflict with
 * the present holds. Waiters whose wait or session is over are removed. No waiter overtakes a first waiter
 * that must still wait. Otherwise a stream of readers would keep a writer waiting for ever. The exception is
 * a waiter for a set of keys, which may be overtaken (waiting-key-sets.ts).
 *
 * Law: at the end of an entry, no queue has a waiter that may be granted the lock. Therefore each rule that
 * ends or downgrades a hold, or removes a waiter that others wait for, calls grantNext in the same entry. A
 * caller whose request can be granted immediately never joins a queue.
 */
export function grantNext(tx: LockTransaction, key: Uint8Array, code: number): void {
  // A waiter for a set of keys is granted or removed at all of its keys together. So the queues of the other
  // keys must also be served.
  const keys = [key]
  for (let next = keys.pop(); next !== undefined; next = keys.pop()) grantAt(tx, next, code, keys)
}

function grantAt(tx: LockTransaction, key: Uint8Array, code: number, others: Uint8Array[]): void {
  for (let next = nextAt(tx, key); next !== undefined; next = nextAt(tx, key)) {
    const life = tx.sessionLife(next.session)
    if (life === undefined || waitIsOver(next, tx.now)) {
      others.push(...remove(tx, next))
      continue
    }
    if (next.setCount === 0 ? !fits(tx, key, next.permits) : !setFits(tx, next)) return
    const members = membersOf(tx, next)
    for (const member of members) grant(tx, member, life, code)
    if (members.length > 1) others.push(...members.filter(({ permits }) => permits > 0).map((row) => row.key))
    if (next.permits === 0) return
  }
}

/**
 * Returns the next waiter to serve. If the first waiter waits for a set of keys that cannot be granted yet,
 * later waiters may overtake this set. Then the function returns the first waiter that may not be overtaken.
 */
function nextAt(tx: LockTransaction, key: Uint8Array): WaiterRow | undefined {
  const first = tx.firstWaiter(key)
  if (first === undefined || first.setCount === 0 || isOver(tx, first) || setFits(tx, first)) return first
  return firstNotPassed(tx, key)
}

const isOver = (tx: LockTransaction, row: WaiterRow): boolean =>
  tx.sessionLife(row.session) === undefined || waitIsOver(row, tx.now)

function grant(tx: LockTransaction, waiter: WaiterRow, life: number, code: number): void {
  tx.deleteWaiter(waiter)
  const touchBy = tx.now + Math.min(waiter.lease, life)
  const row = heldBy(tx, waiter, waiter.session, code, touchBy)
  hold(tx, row)
  tx.granted(row)
}

/**
 * Builds the row of a new hold, with the next token of its counter.
 *
 * Law: a hold gets a new arrival number at its grant, and does not keep the number of its wait. Without this
 * law: a later waiter overtakes a waiter for a set of keys, and both get shared holds. A member that restarts
 * reads the shared holds from its disk in the order of their waits. The other members have the order of the
 * grants, so the members disagree about the first holder.
 */
export function heldBy(
  tx: LockTransaction,
  ask: Ask,
  session: number,
  code: number,
  touchBy: number,
): HoldRow {
  const token = tx.nextToken(ask.fencingKey)
  return {
    key: ask.key,
    id: ask.id,
    token,
    firstToken: token,
    acquires: 1,
    deadline: tx.now + ask.lease,
    context: ask.context,
    fencingKey: ask.fencingKey,
    session,
    since: tx.now,
    touchBy,
    code,
    permits: ask.permits,
    arrival: tx.nextArrival(),
    flow: ask.flow,
  }
}

export function hold(tx: LockTransaction, row: HoldRow): void {
  const over = row.permits === 0 ? undefined : tx.hold(row.key)
  if (over !== undefined) tx.deleteHold(over)
  tx.putHold(row)
  tx.happened('acquired', row)
}

/**
 * Puts the caller in the queue. `wait` is in milliseconds, and 0 means no limit. Returns false if the queue
 * is full. A caller that already waits keeps its place. A repeated request never shortens the wait, because
 * several attempts of one lock object share the place.
 */
export function enqueue(tx: LockTransaction, ask: Ask, session: number, wait: number): boolean {
  const place = tx.waiter(ask.key, ask.id)
  if (place === undefined && tx.waiterCount(ask.key) >= CAPS.waiters) return false
  const arrival = place?.arrival ?? tx.nextArrival()
  join(tx, ask, session, wait, { arrival, setFirst: place?.setFirst ?? 0, setCount: place?.setCount ?? 0 })
  return true
}

export function join(
  tx: LockTransaction,
  ask: Ask,
  session: number,
  wait: number,
  at: Pick<WaiterRow, 'arrival' | 'setFirst' | 'setCount'>,
): void {
  const place = tx.waiter(ask.key, ask.id)
  // The literal names each field. With `...at`, V8 made each row in a slow way, and a hand-over took three times
  // the processor time of the state machine.
  const row = {
    key: ask.key,
    arrival: at.arrival,
    id: ask.id,
    session,
    since: place?.since ?? tx.now,
    deadline: longer(place, wait === 0 ? 0 : tx.now + wait),
    lease: ask.lease,
    context: ask.context ?? place?.context ?? null,
    fencingKey: ask.fencingKey,
    permits: place?.permits ?? ask.permits,
    setFirst: at.setFirst,
    setCount: at.setCount,
    flow: place === undefined ? ask.flow : place.flow,
    within: place?.within ?? ask.within,
  }
  tx.putWaiter(row)
  if (place === undefined) tx.happened('queued', row)
}

function longer(place: WaiterRow | undefined, deadline: number): number {
  if (place === undefined) return deadline
  return place.deadline === 0 || deadline === 0 ? 0 : Math.max(place.deadline, deadline)
}

export function waitIsOver(row: WaiterRow, now: number): boolean {
  return row.deadline !== 0 && now > row.deadline
}

/** Deletes a hold that its owner has released, or that an operator has ended by force. */
export function freeAndGrant(tx: LockTransaction, row: HoldRow): void {
  tx.deleteHold(row)
  tx.happened('released', row)
  grantNext(tx, row.key, CODE.FIRST_TIME)
}

export function leave(tx: LockTransaction, waiter: WaiterRow): void {
  for (const key of remove(tx, waiter)) grantNext(tx, key, CODE.FIRST_TIME)
}

/** Removes a waiter, at all keys of its set. Returns the keys at which later waiters may be served now. */
export function remove(tx: LockTransaction, waiter: WaiterRow): Uint8Array[] {
  // A waiter for a set of keys has one row for each key, and the first row whose time is over removes all of
  // these rows. So this row may be removed already.
  if (tx.waiter(waiter.key, waiter.id)?.arrival !== waiter.arrival) return []
  return membersOf(tx, waiter)
    .filter((member) => {
      const first = tx.firstWaiter(member.key)
      tx.deleteWaiter(member)
      tx.happened('left', member)
      return first?.arrival === member.arrival || first?.setCount !== 0
    })
    .map(({ key }) => key)
}
