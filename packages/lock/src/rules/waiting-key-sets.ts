// Rule: decides when a caller that waits for a set of keys gets all keys of the set (docs/locks.md, section
// 12).
//
// A set takes no key before all of its keys can be taken in one log entry. So while an older hold or waiter
// blocks one key of the set, a later caller may take another key that is free. A hold or waiter is older than
// the set if the hold or waiter came to the key before the set. After the last older hold or waiter has gone,
// no later caller overtakes the set.
//
// Laws:
// - There is no circle of waiting. A set waits for holds and for waiters with lower arrival numbers, and one
//   counter gives the numbers for all keys. So the waiter with the lowest number waits for holds alone.
// - No set waits for ever. The number of older holds and waiters falls and never grows. When this number is
//   0, no further caller overtakes the set. Without this law: two callers acquire the two keys of a set
//   alternately, so that one of the two keys is always held. The set is never granted.

import { inForce } from './hold-checks-and-answers.js'
import type { LockTransaction, WaiterRow } from './lock-transaction.js'

/**
 * How many waiting sets a caller may overtake at one key. Each overtaken set costs a check of all its keys,
 * so the limit bounds the time to apply one log entry. A caller that would overtake more sets must wait.
 */
const MOST_PASSED = 4

/**
 * Whether a new hold with these permits can be in force together with the present holds. `permits` 0 means an
 * exclusive hold, which excludes all other holds.
 */
export function fits(tx: LockTransaction, key: Uint8Array, permits: number): boolean {
  if (inForce(tx.hold(key), tx.now)) return false
  const shared = tx.shared(key)
  if (permits === 0) return shared === undefined
  const most = tx.permitsOf(key)
  return most === undefined || (shared?.permits ?? 0) + permits <= most
}

export function membersOf(tx: LockTransaction, one: WaiterRow): WaiterRow[] {
  if (one.setCount === 0) return [one]
  const members: WaiterRow[] = []
  for (let arrival = one.setFirst; arrival < one.setFirst + one.setCount; arrival++) {
    const member = tx.waiterOfSet(arrival)
    if (member !== undefined) members.push(member)
  }
  return members
}

/**
 * Whether all keys of the set can be granted now. The set must be the first waiter at each key, because sets
 * do not overtake each other.
 */
export const setFits = (tx: LockTransaction, one: WaiterRow): boolean =>
  membersOf(tx, one).every(
    ({ key, arrival, permits }) => tx.firstWaiter(key)?.arrival === arrival && fits(tx, key, permits),
  )

/**
 * Returns the first key of a new set that the caller cannot have now, because of a waiter or a hold.
 * Undefined means that the caller can have all keys.
 */
export const firstConflict = <Asked extends Pick<WaiterRow, 'key' | 'permits'>>(
  tx: LockTransaction,
  set: readonly Asked[],
): Asked | undefined =>
  set.find(({ key, permits }) => tx.firstWaiter(key) !== undefined || !fits(tx, key, permits))

/**
 * Returns the first waiter that a new caller may not overtake. A new caller may overtake at most MOST_PASSED
 * waiters, and only waiters for sets that still wait for an older hold or waiter. Undefined means that the
 * new caller need not wait if its hold is compatible with the present holds.
 */
export function firstNotPassed(tx: LockTransaction, key: Uint8Array): WaiterRow | undefined {
  const first = tx.firstWaiter(key)
  if (first === undefined || first.setCount === 0) return first
  let passed = 0
  for (const waiter of tx.queueOf(key))
    if (waiter.setCount === 0 || ++passed > MOST_PASSED || !waitsForEarlier(tx, waiter)) return waiter
  return undefined
}

/** Whether a hold or waiter that is older than the set prevents the set from getting one of its keys. */
function waitsForEarlier(tx: LockTransaction, set: WaiterRow): boolean {
  const isEarlier = (arrival: number | undefined) => arrival !== undefined && arrival < set.setFirst
  return membersOf(tx, set).some(({ key, permits }) => {
    const exclusive = tx.hold(key)
    if (inForce(exclusive, tx.now) && isEarlier(exclusive.arrival)) return true
    if (permits === 0 && isEarlier(tx.shared(key)?.first.arrival)) return true
    return isEarlier(tx.firstWaiter(key)?.arrival)
  })
}
