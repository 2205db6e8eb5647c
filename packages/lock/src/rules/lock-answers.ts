// Rule: what a row says, and the Owner that an asker is answered with.

import {
  type ContextArg,
  FIRST_TIME_SUCCESS,
  KEEP_LEASE_FAIL,
  KEEP_LEASE_SUCCESS,
  NEW_ACQUIRE_SUCCESS,
  OWNER_CODES,
  type OwnerCode,
  type OwnerResult,
  REENTRANT_SUCCESS,
} from '@latchkey/protocol'
import type { HoldRow } from './lock-transaction.js'

/** The number of each code on the wire. */
export const CODE = Object.fromEntries(OWNER_CODES.map((code, i) => [code, i])) as Readonly<
  Record<OwnerCode, number>
>

const RECLAIM_AFTER = 60 * 60 * 1000

/** The last cluster time at which the hold is in force: its deadline, or earlier for a grant that nobody touched yet. */
export function overAt(row: HoldRow): number {
  return row.touchBy === 0 ? row.deadline : Math.min(row.touchBy, row.deadline)
}

/** A lease is over at an entry with now > deadline, not at the deadline itself. */
export function inForce(row: HoldRow | undefined, now: number): row is HoldRow {
  return row !== undefined && now <= overAt(row)
}

/** Expired rows stay until somebody takes over, their owner releases, or now > this. */
export function reclaimAt(row: HoldRow): number {
  return overAt(row) + RECLAIM_AFTER
}

/** "Same": the same id; where the request carries a token, that as well. */
export function isSame(row: HoldRow, id: string, token: number): boolean {
  return row.id === id && (token === 0 || row.token === token)
}

/** RheaKV's number for each success of an acquire. */
const SUCCESS_NUMBER: Readonly<Record<number, number>> = {
  [CODE.FIRST_TIME]: FIRST_TIME_SUCCESS,
  [CODE.NEW_ACQUIRE]: NEW_ACQUIRE_SUCCESS,
  [CODE.KEEP_LEASE]: KEEP_LEASE_SUCCESS,
  [CODE.REENTRANT]: REENTRANT_SUCCESS,
}

/**
 * A success of an acquire: everything of the hold as it is now. Law: nobody is told a deadline behind overAt. A waiter whose lease is
 * longer than its session's life would else go on for the whole lease after its untouched grant had gone to the next.
 */
export function acquired(row: HoldRow, code: number, now: number): OwnerResult {
  const number = SUCCESS_NUMBER[code] as number
  return [row.id, overAt(row), number, row.token, row.acquires, row.context, code, now]
}

/** How a grant is told: by a push, or to one who asks for its ticket. */
export function ownerOfHold(row: HoldRow, now: number): OwnerResult {
  return acquired(row, row.code, now)
}

export function refusedHeld(row: HoldRow, now: number): OwnerResult {
  return [row.id, overAt(row), overAt(row) - now, 0, 0, row.context, CODE.HELD, now]
}

/** `row`: the expired one, if there is one; its id and context are told. */
export function keepLeaseFailed(row: HoldRow | undefined, id: string, now: number): OwnerResult {
  return [row?.id ?? id, 0, KEEP_LEASE_FAIL, 0, 0, row?.context ?? null, CODE.KEEP_LEASE_FAIL, now]
}

/** RELEASED, DECREMENTED, EXPIRED: the caller's id and the token, deadline and context of its hold. */
export function released(row: HoldRow, code: number, acquires: number, now: number): OwnerResult {
  return [row.id, row.deadline, 0, row.token, acquires, row.context, code, now]
}

export function notHeld(id: string, now: number): OwnerResult {
  return [id, 0, 0, 0, 0, NO_CONTEXT, CODE.NOT_HELD, now]
}

/** The holder's id, token and context; the rest has no value. */
export function notOwner(row: HoldRow, now: number): OwnerResult {
  return [row.id, 0, 0, row.token, 0, row.context, CODE.NOT_OWNER, now]
}

const NO_CONTEXT: ContextArg = null
