// Rule: holds, waiters and counters as rows. Their bodies are packed lists, so that equal states have equal
// bytes.

import type { ContextArg } from '@latchkey/protocol'
import { pack } from '@latchkey/protocol'
import type { HoldRow, WaiterRow } from '@latchkey/lock'
import { copyBytes } from '@latchkey/base'
import { SPACE, counterKey, keyOf, keyOfNumber, numberIn } from '../keyspaces.js'
import type { Row } from '../storage/row-store.js'
import { sealBody } from '../storage/row-checksum.js'
import { COUNTER_SHAPE, HOLD_SHAPE, unpackRow, WAITER_SHAPE } from './packed-row.js'

const sealed = (key: Uint8Array, body: unknown): Row => ({ key, value: sealBody(key, pack(body)) })

export function encodeHold(row: HoldRow): Row {
  const { id, token, acquires, deadline, context, fencingKey, session, since, touchBy, code } = row
  return sealed(keyOf(SPACE.holds, row.key), [
    id,
    token,
    acquires,
    deadline,
    context,
    fencingKey,
    session,
    since,
    touchBy,
    code,
  ])
}

type PackedHold = readonly [
  string,
  number,
  number,
  number,
  ContextArg,
  Uint8Array | null,
  number,
  number,
  number,
  number,
]

export function decodeHold({ key, value }: Row): HoldRow {
  const packed = unpackRow(key, value, HOLD_SHAPE) as PackedHold
  const [id, token, acquires, deadline, context, fencingKey, session, since, touchBy, code] = packed
  return keptHold({
    key: key.subarray(1),
    id,
    token,
    acquires,
    deadline,
    context,
    fencingKey,
    session,
    since,
    touchBy,
    code,
  })
}

export function encodeWaiter(row: WaiterRow): Row {
  const { arrival, key, id, session, since, deadline, lease, context, fencingKey } = row
  const packed = [key, id, session, since, deadline, lease, context, fencingKey]
  return sealed(keyOfNumber(SPACE.waiters, arrival), packed)
}

type PackedWaiter = readonly [
  Uint8Array,
  string,
  number,
  number,
  number,
  number,
  ContextArg,
  Uint8Array | null,
]

export function decodeWaiter(row: Row): WaiterRow {
  const packed = unpackRow(row.key, row.value, WAITER_SHAPE) as PackedWaiter
  const [key, id, session, since, deadline, lease, context, fencingKey] = packed
  return keptWaiter({
    key,
    arrival: numberIn(row.key, 1),
    id,
    session,
    since,
    deadline,
    lease,
    context,
    fencingKey,
  })
}

export function encodeCounter(fencingKey: Uint8Array | null, last: number): Row {
  return sealed(counterKey(fencingKey), last)
}

export function decodeCounter({ key, value }: Row): { fencingKey: Uint8Array | null; last: number } {
  const last = unpackRow(key, value, COUNTER_SHAPE) as number
  return { fencingKey: key[1] === 0 ? null : key.subarray(2), last }
}

const kept = <T extends ContextArg>(value: T): T =>
  (value instanceof Uint8Array ? copyBytes(value) : value) as T

/**
 * Copies a row for keeping, because the row of a command has views of its entry. `before` is the row that it
 * replaces.
 * A new object is always built, so that V8 sees one shape for all kept rows: the first ten thousand renewals
 * in one command then take half the time.
 */
export function keptHold(row: HoldRow, before?: HoldRow): HoldRow {
  return {
    key: before?.key ?? copyBytes(row.key),
    id: row.id,
    token: row.token,
    acquires: row.acquires,
    deadline: row.deadline,
    context: row.context === before?.context ? row.context : kept(row.context),
    fencingKey: row.fencingKey === before?.fencingKey ? row.fencingKey : kept(row.fencingKey),
    session: row.session,
    since: row.since,
    touchBy: row.touchBy,
    code: row.code,
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
  }
}
