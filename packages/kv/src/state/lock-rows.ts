// Rule: encodes and decodes the stored rows of holds, waiters, semaphores and fencing counters. The bodies
// are msgpack lists, so that equal states have equal bytes.

import type { ContextArg } from '@latchkey/protocol'
import { pack } from '@latchkey/protocol'
import type { HoldRow, WaiterRow } from '@latchkey/lock'
import { binary, copyBytes } from '@latchkey/base'
import { SPACE, counterKey, keyOf, keyOfBinary, keyOfNumber, numberIn } from '../keyspaces.js'
import type { Row } from '../storage/row-store-interface.js'
import { withChecksum } from '../storage/stored-row-checksum.js'
import {
  COUNTER_SHAPE,
  HOLD_FIELDS,
  HOLD_SHAPE,
  SHARED_HOLD_SHAPE,
  SIZE_SHAPE,
  unpackRow,
  WAITER_FIELDS,
  WAITER_SHAPE,
} from './unpack-stored-row.js'

const rowWith = (key: Uint8Array, body: unknown): Row => ({ key, value: withChecksum(key, pack(body)) })

const namesOf = <Table extends object>(table: Table) => Object.keys(table) as (keyof Table & string)[]
const HOLD_NAMES = namesOf(HOLD_FIELDS)
const WAITER_NAMES = namesOf(WAITER_FIELDS)

const listed = <Row extends object>(row: Row, names: readonly (keyof Row)[]) => names.map((name) => row[name])
/** Fills `row` with the fields of a decoded body. The format of the body was checked before. */
function withBody<Row>(row: Partial<Row>, names: readonly (keyof Row)[], body: readonly unknown[]): Row {
  for (const [at, name] of names.entries()) row[name] = body[at] as Row[typeof name]
  return row as Row
}

export function encodeHold(row: HoldRow): Row {
  const body = listed(row, HOLD_NAMES)
  if (row.permits === 0) return rowWith(keyOf(SPACE.holds, row.key), body)
  return rowWith(keyOfNumber(SPACE.shared, row.arrival), [row.key, row.permits, body])
}

export function decodeHold({ key, value }: Row): HoldRow {
  const body = unpackRow(key, value, HOLD_SHAPE) as unknown[]
  return keptHold(withBody<HoldRow>({ key: key.subarray(1), permits: 0 }, HOLD_NAMES, body))
}

export function decodeSharedHold(row: Row): HoldRow {
  const shared = unpackRow(row.key, row.value, SHARED_HOLD_SHAPE)
  const [key, permits, body] = shared as [Uint8Array, number, unknown[]]
  return keptHold(withBody<HoldRow>({ key, permits }, HOLD_NAMES, body))
}

/** `key` has one character for each byte. */
export const encodeSize = (key: string, of: number, due: number): Row =>
  rowWith(keyOfBinary(SPACE.semaphores, key), [of, due])

export function decodeSize({ key, value }: Row): { key: string; of: number; due: number } {
  const [of, due] = unpackRow(key, value, SIZE_SHAPE) as [number, number]
  return { key: binary(key.subarray(1)), of, due }
}

export const encodeWaiter = (row: WaiterRow): Row =>
  rowWith(keyOfNumber(SPACE.waiters, row.arrival), listed(row, WAITER_NAMES))

export function decodeWaiter({ key, value }: Row): WaiterRow {
  const body = unpackRow(key, value, WAITER_SHAPE) as unknown[]
  return keptWaiter(withBody<WaiterRow>({ arrival: numberIn(key, 1) }, WAITER_NAMES, body))
}

export function encodeCounter(fencingKey: Uint8Array | null, last: number): Row {
  return rowWith(counterKey(fencingKey), last)
}

export function decodeCounter({ key, value }: Row): { fencingKey: Uint8Array | null; last: number } {
  const last = unpackRow(key, value, COUNTER_SHAPE) as number
  return { fencingKey: key[1] === 0 ? null : key.subarray(2), last }
}

const kept = <T extends ContextArg>(value: T): T =>
  (value instanceof Uint8Array ? copyBytes(value) : value) as T

/**
 * Copies a hold for the table in memory, because the row of a command has views of the bytes of its entry.
 * `before` is the row that the copy replaces.
 *
 * The function always builds a new object, so that all holds have the same hidden class in V8. Otherwise ten
 * thousand renewals in one command take twice the time.
 */
export function keptHold(row: HoldRow, before?: HoldRow): HoldRow {
  return {
    key: before?.key ?? copyBytes(row.key),
    id: row.id,
    token: row.token,
    firstToken: row.firstToken,
    acquires: row.acquires,
    deadline: row.deadline,
    context: row.context === before?.context ? row.context : kept(row.context),
    fencingKey: row.fencingKey === before?.fencingKey ? row.fencingKey : kept(row.fencingKey),
    session: row.session,
    since: row.since,
    touchBy: row.touchBy,
    code: row.code,
    permits: row.permits,
    arrival: row.arrival,
    flow: row.flow,
  }
}

export function keptWaiter(row: WaiterRow): WaiterRow {
  return {
    key: copyBytes(row.key),
    arrival: row.arrival,
    id: row.id,
    session: row.session,
    since: row.since,
    deadline: row.deadline,
    lease: row.lease,
    context: kept(row.context),
    fencingKey: kept(row.fencingKey),
    permits: row.permits,
    setFirst: row.setFirst,
    setCount: row.setCount,
    flow: row.flow,
    within: row.within,
  }
}
