// Rule: checks whether a hold is in force and who owns the hold, and builds the answers to lock requests.

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
import type { HoldRow, WaiterRow } from './lock-transaction.js'

/** The number that stands for each owner code in messages between client and member. */
export const CODE = Object.fromEntries(OWNER_CODES.map((code, i) => [code, i])) as Readonly<
  Record<OwnerCode, number>
>

/** In ms: how long the row of a hold is kept after the hold has expired. */
const RECLAIM_AFTER = 60 * 60 * 1000

/**
 * The last cluster time at which the hold is in force: its deadline, or touchBy for a grant that its session
 * has not confirmed yet.
 */
export function overAt(row: HoldRow): number {
  return row.touchBy === 0 ? row.deadline : Math.min(row.touchBy, row.deadline)
}

/** At the deadline itself, the hold is still in force. */
export function inForce(row: HoldRow | undefined, now: number): row is HoldRow {
  return row !== undefined && now <= overAt(row)
}

/** The last cluster time at which the row of an expired hold is kept. */
export function reclaimAt(row: HoldRow): number {
  return overAt(row) + RECLAIM_AFTER
}

/**
 * Whether the request comes from the holder. A `token` of 0 means that the request has no token. An older
 * token of the same hold is valid here, because the request may have been sent before the answer to a
 * rotation came.
 */
export function isSame(row: HoldRow, id: string, token: number): boolean {
  return row.id === id && (token === 0 || (token >= row.firstToken && token <= row.token))
}

/**
 * The value of the field `remaining` in a successful answer with each code. The numbers come from RheaKV, the
 * key-value store of JRaft.
 */
export const SUCCESS_NUMBER: Readonly<Record<number, number>> = {
  [CODE.FIRST_TIME]: FIRST_TIME_SUCCESS,
  [CODE.NEW_ACQUIRE]: NEW_ACQUIRE_SUCCESS,
  [CODE.KEEP_LEASE]: KEEP_LEASE_SUCCESS,
  [CODE.REENTRANT]: REENTRANT_SUCCESS,
}

/**
 * Builds the answer to a successful acquire or renewal.
 *
 * Law: no caller learns a deadline later than overAt. Without this law: a waiter's lease is longer than the
 * time for which its session stays open without a command. The session ends before the client confirms the
 * grant, so the lock is granted to the next waiter. The first waiter still believes in its whole lease, and
 * there are two holders.
 */
export function acquired(row: HoldRow, code: number, now: number): OwnerResult {
  const number = SUCCESS_NUMBER[code] as number
  return [row.id, overAt(row), number, row.token, row.acquires, row.context, code, now]
}

export function ownerOfHold(row: HoldRow, now: number): OwnerResult {
  return acquired(row, row.code, now)
}

export function refusedHeld(row: HoldRow, now: number): OwnerResult {
  return [row.id, overAt(row), overAt(row) - now, 0, 0, row.context, CODE.HELD, now]
}

/** Builds the answer that refuses a lock without a holder, because an earlier caller waits for the lock. */
export function refusedBehind(first: WaiterRow | undefined, id: string, now: number): OwnerResult {
  return [first?.id ?? id, now, 0, 0, 0, first?.context ?? null, CODE.HELD, now]
}

/** Builds the answer to a renewal that has failed. `row` is the expired hold, if there is one. */
export function keepLeaseFailed(row: HoldRow | undefined, id: string, now: number): OwnerResult {
  return [row?.id ?? id, 0, KEEP_LEASE_FAIL, 0, 0, row?.context ?? null, CODE.KEEP_LEASE_FAIL, now]
}

export function released(row: HoldRow, code: number, acquires: number, now: number): OwnerResult {
  return [row.id, row.deadline, 0, row.token, acquires, row.context, code, now]
}

export function notHeld(id: string, now: number): OwnerResult {
  return [id, 0, 0, 0, 0, NO_CONTEXT, CODE.NOT_HELD, now]
}

/** Builds the answer NOT_OWNER with the holder's id, token and context. The other fields have no meaning. */
export function notOwner(row: HoldRow, now: number): OwnerResult {
  return [row.id, 0, 0, row.token, 0, row.context, CODE.NOT_OWNER, now]
}

const NO_CONTEXT: ContextArg = null
