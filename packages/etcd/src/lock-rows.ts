// Rule: the rows of a lock in etcd, and the etcd transactions that change these rows.
//
// The rows of a lock with key K, below the prefix:
// - held/K contains the holder's id. The row is attached to the etcd lease of the hold, so etcd deletes the
//   row when the lease ends.
// - info/K contains the context and other information for queries. The row is attached to the same lease as
//   held/K. No transaction has a condition on this row.
// - token/K is a row whose last revision is the fencing token. The row is attached to no lease, and only a
//   release deletes the row. So if token/K exists without held/K, the last hold has expired.
// - wait/H/I is a waiter with the id I, attached to its own lease. H is K in hex. The order of the queue is
//   the order of the rows' create revisions.
//
// Laws:
// - held/K is created only if the row does not exist and no waiter is before the caller (EN1, EN6).
// - A waiter creates held/K only while its own row exists (EN6). Without this law: a waiter whose row was
//   deleted gets the lock before the waiter that is now the first in the queue.
// - A waiter enters the queue with a new row. If the row of its earlier place still exists, the waiter revokes
//   the lease of that row first (EN6). Without this law: the put keeps the old revision of the row. So the
//   waiter never finds itself at the front, and all later waiters wait behind this row.
// - A hold is changed only if held/K is attached to the caller's lease. Without this law: a late release ends
//   the hold of another caller.
// - A token is the revision of a put, and revisions only rise (EN2).

import { asBuffer, binary, prefixEnd } from '@latchkey/base'
import type { EngineHold } from '@latchkey/lock'
import type { ContextArg } from '@latchkey/protocol'
import type { EtcdRow, OperationAnswer, TxnAnswer } from './etcd-types.js'

/** The value of the rows info/K and wait/H/I. */
export interface Info {
  readonly acquires: number
  readonly context: ContextArg
  /** In ms: for a hold, the lease that the caller asked for. For a waiter, its patience. */
  readonly lease: number
  /** When the hold or the wait began, by the wall clock of the client. */
  readonly since: number
}

export interface Place {
  readonly lease: string
  readonly revision: string
}

export interface Before {
  readonly hold: HeldRow | undefined
  /**
   * The row that blocks the caller: the row of the next waiter ahead in the queue, or held/K if no waiter is
   * ahead. When etcd deletes this row, the caller may become the holder. Undefined if no row blocks the
   * caller.
   */
  readonly row: Buffer | undefined
  readonly waiters: number
  /** The etcd lease of the caller's own row in the queue. Undefined if the caller has no row. */
  readonly ownLease: string | undefined
  readonly revision: string
}

export interface HeldRow extends Info {
  readonly key: Buffer
  readonly id: string
  readonly token: number
  readonly etcdLease: string
}

export class LockRows {
  readonly prefix: string

  constructor(prefix: string) {
    this.prefix = prefix
  }

  held = (key: Uint8Array): Buffer => this.#named('held/', key)
  info = (key: Uint8Array): Buffer => this.#named('info/', key)
  token = (key: Uint8Array): Buffer => this.#named('token/', key)
  /** The prefix of the waiters of all locks whose keys begin with `prefix`. */
  waitersBelow = (prefix: Uint8Array): Buffer =>
    Buffer.from(`${this.prefix}wait/${asBuffer(prefix).toString('hex')}`)
  waiters = (key: Uint8Array): Buffer => Buffer.concat([this.waitersBelow(key), SLASH])
  waiter = (key: Uint8Array, id: string): Buffer => Buffer.concat([this.waiters(key), Buffer.from(id)])

  #named(kind: string, key: Uint8Array): Buffer {
    return Buffer.concat([Buffer.from(this.prefix + kind), key])
  }

  // ---- Transactions

  /**
   * Creates the hold if the lock is free and no waiter is ahead of the caller in the queue. All waiters are
   * ahead of a caller without a place. If the hold is not created, the transaction reads what blocks the
   * caller: the present hold and the last waiter ahead.
   */
  take(key: Uint8Array, id: string, lease: string, info: Info, place: Place | undefined): object {
    const free =
      place === undefined
        ? [noneBelow(this.waiters(key))]
        : [standsSince(this.waiter(key, id), place), firstOf(this.waiters(key), place)]
    const leave = place === undefined ? [] : [remove(this.waiter(key, id))]
    const puts = [
      put(this.token(key), EMPTY_VALUE, undefined),
      put(this.held(key), Buffer.from(id), lease),
      put(this.info(key), encode(info), lease),
    ]
    return {
      compare: [missing(this.held(key)), ...free],
      success: [...puts, ...leave],
      failure: this.#look(key, id, place),
    }
  }

  wait(key: Uint8Array, id: string, lease: string, info: Info): object {
    return { success: [put(this.waiter(key, id), encode(info), lease), ...this.#look(key, id, undefined)] }
  }

  look(key: Uint8Array, id: string, place: Place | undefined): object {
    return { success: this.#look(key, id, place) }
  }

  #look(key: Uint8Array, id: string, place: Place | undefined): object[] {
    const { waiters } = this
    const before = place === undefined ? {} : { max_create_revision: String(BigInt(place.revision) - 1n) }
    return [
      range(this.held(key)),
      range(this.info(key)),
      range(this.token(key)),
      range(this.waiter(key, id)),
      // Two rows are read, because the last waiter may be the caller itself.
      below(waiters(key), { ...before, limit: 2, sort_target: 'Create', sort_order: 'Descend' }),
    ]
  }

  /**
   * Executes the operations if the row held/K is attached to this etcd lease. Otherwise the transaction reads
   * who holds the lock.
   */
  #change(key: Uint8Array, id: string, lease: string, operations: readonly object[]): object {
    return {
      compare: [standsOn(this.held(key), lease)],
      success: operations,
      failure: this.#look(key, id, undefined),
    }
  }

  end(key: Uint8Array, id: string, lease: string): object {
    return this.#change(key, id, lease, this.#ending(key))
  }

  rotate(key: Uint8Array, id: string, lease: string): object {
    return this.#change(key, id, lease, [put(this.token(key), EMPTY_VALUE, undefined)])
  }

  updateInfo(key: Uint8Array, id: string, lease: string, info: Info): object {
    return this.#change(key, id, lease, [put(this.info(key), encode(info), lease)])
  }

  move(key: Uint8Array, id: string, from: string, to: string, info: Info): object {
    const puts = [put(this.held(key), Buffer.from(id), to), put(this.info(key), encode(info), to)]
    return this.#change(key, id, from, puts)
  }

  force(key: Uint8Array, token: number): object {
    return { compare: this.guard(key, token), success: this.#ending(key) }
  }

  /**
   * Returns two conditions of an etcd transaction. The two conditions are true at the same time only if the
   * hold with that token is in force.
   */
  guard(key: Uint8Array, token: number): object[] {
    return [
      { key: this.token(key), target: 'Mod', result: 'Equal', mod_revision: String(token) },
      { key: this.held(key), target: 'Create', result: 'Greater', create_revision: '0' },
    ]
  }

  #ending(key: Uint8Array): object[] {
    return [remove(this.held(key)), remove(this.info(key)), remove(this.token(key))]
  }

  // ---- Answers

  /**
   * Decodes the rows that a failed take, a `wait` or a `look` has read. `skip` is the number of operations
   * before the reads.
   */
  before(key: Uint8Array, id: string, answer: TxnAnswer, skip = 0): Before {
    const [held, info, token, place, waiters] = answer.responses.slice(skip)
    const hold = heldRow(key, rowsOf(held)[0], rowsOf(info)[0], rowsOf(token)[0])
    const own = this.waiter(key, id)
    const last = rowsOf(waiters).find((row) => !row.key.equals(own))
    const row = last?.key ?? (hold === undefined ? undefined : this.held(key))
    const count = Number(waiters?.response_range?.count ?? 0)
    const ownLease = rowsOf(place)[0]?.lease
    return { hold, row, waiters: count, ownLease, revision: answer.header.revision }
  }
}

const SLASH = Buffer.from('/')
const EMPTY_VALUE = Buffer.alloc(0)

// ---- the parts of a transaction

const missing = (key: Buffer): object => ({
  key,
  target: 'Create',
  result: 'Equal',
  create_revision: '0',
})
/**
 * A condition that is true if the range has no rows. etcd treats an empty range as one row with revision 0.
 */
const noneBelow = (prefix: Buffer): object => ({ ...missing(prefix), range_end: endOf(prefix) })

/** A condition that is true if the waiter has had its row since it entered the queue. */
const standsSince = (key: Buffer, { revision }: Place): object => ({
  key,
  target: 'Create',
  result: 'Equal',
  create_revision: revision,
})

/**
 * A condition that is true if the range has a row, and if each row was created at the revision of `place` or
 * later. One transaction creates the row of only one waiter, so no two waiters have the same revision.
 */
const firstOf = (prefix: Buffer, place: Place): object => ({
  key: prefix,
  range_end: endOf(prefix),
  target: 'Create',
  result: 'Greater',
  create_revision: String(BigInt(place.revision) - 1n),
})

const standsOn = (key: Buffer, lease: string): object => ({ key, target: 'Lease', result: 'Equal', lease })

const put = (key: Buffer, value: Buffer, lease: string | undefined): object => ({
  request_put: { key, value, lease: lease ?? '0', prev_kv: true },
})
const remove = (key: Buffer): object => ({ request_delete_range: { key } })
export const range = (key: Buffer): object => ({ request_range: { key } })
export const below = (prefix: Buffer, more: object = {}): object => ({
  request_range: { key: prefix, range_end: endOf(prefix), ...more },
})

/** prefixEnd returns undefined only for a prefix of 0xff bytes. No prefix of rows consists of such bytes. */
const endOf = (prefix: Buffer): Buffer => asBuffer(prefixEnd(prefix) ?? EMPTY_VALUE)

export const rowsOf = (answer: OperationAnswer | undefined): readonly EtcdRow[] =>
  answer?.response_range?.kvs ?? []

/**
 * True if token/K existed before this take. A release deletes token/K, so if token/K existed, the last hold
 * was not released but has expired.
 */
export const hadToken = (taken: TxnAnswer): boolean =>
  (taken.responses[0]?.response_put?.prev_kv ?? null) !== null

// ---- values

function encode({ acquires, context, lease, since }: Info): Buffer {
  const bytes = typeof context === 'string' || context === null ? undefined : binary(context)
  const text = typeof context === 'string' ? context : undefined
  return Buffer.from(JSON.stringify({ acquires, text, bytes, lease, since }))
}

/** Another program may have written the value, so unreadable parts count as missing. */
export function decodeInfo(value: Buffer | undefined): Info {
  const told = parsed(value)
  const number = (name: string) => (typeof told[name] === 'number' ? told[name] : 0)
  const { text, bytes } = told
  const context =
    typeof text === 'string' ? text : typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : null
  return { acquires: number('acquires'), context, lease: number('lease'), since: number('since') }
}

function parsed(value: Buffer | undefined): Record<string, unknown> {
  try {
    return Object(JSON.parse(String(value))) as Record<string, unknown>
  } catch {
    return {}
  }
}

export function heldRow(
  key: Uint8Array,
  held: EtcdRow | undefined,
  info: EtcdRow | undefined,
  token: EtcdRow | undefined,
): HeldRow | undefined {
  if (held === undefined) return undefined
  return {
    ...decodeInfo(info?.value),
    key: asBuffer(key),
    id: held.value.toString(),
    token: Number(token?.mod_revision ?? 0),
    etcdLease: held.lease,
  }
}

/**
 * The exact end of another client's hold is not known. The deadline is the latest possible end, which is one
 * whole lease from now.
 */
export const otherHold = (row: HeldRow | undefined, now: number): EngineHold | undefined =>
  row && { ...row, deadline: now + row.lease }
