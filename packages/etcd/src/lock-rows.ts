// Rule: the rows of a lock in etcd, and the transactions that change them.
//
// Below the prefix, for a lock of key K:
//   held/K     who holds the lock. It is on the lease of the hold, and is deleted with it.
//   info/K     the context and other data, for callers that ask; on the same lease. No rule depends on it.
//   token/K    its revision is the fencing token. It is on no lease, and a release deletes it. So if it is still
//              there, the hold before was not released: it has expired.
//   wait/H/I   a waiter with the id I, on a lease of its own. H is K in hex. The queue has the order in which
//              these rows were made.
//
// Laws:
// - held/K is made only if it is missing and no waiter is before the caller (EN1, EN6).
// - Each change of a hold is made only where held/K is on the lease of the caller. Without this: a release
//   that comes late ends the hold of another.
// - A token is the revision of a put, and revisions only rise (EN2).

import { asBuffer, binary, prefixEnd } from '@latchkey/base'
import type { EngineHold } from '@latchkey/lock'
import type { ContextArg } from '@latchkey/protocol'
import type { EtcdRow, OperationAnswer, TxnAnswer } from './etcd-types.js'

/** The value of info/K and of wait/H/I. */
export interface Info {
  readonly acquires: number
  readonly context: ContextArg
  /** In ms, the lease that was asked for. */
  readonly lease: number
  /** The date of its client when it began. */
  readonly since: number
}

export interface Place {
  readonly lease: string
  /** The revision that has made the row. */
  readonly revision: string
}

/** What is before a caller in the queue. */
export interface Before {
  readonly hold: HeldRow | undefined
  /** The row whose end may let the caller pass. Undefined if nothing is before the caller. */
  readonly row: Buffer | undefined
  readonly waiters: number
  /** Whether the caller itself has a place in the queue. */
  readonly isWaiting: boolean
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
  /** The rows of the waiters of all locks whose keys begin with the prefix. */
  waitersBelow = (prefix: Uint8Array): Buffer =>
    Buffer.from(`${this.prefix}wait/${asBuffer(prefix).toString('hex')}`)
  waiters = (key: Uint8Array): Buffer => Buffer.concat([this.waitersBelow(key), SLASH])
  waiter = (key: Uint8Array, id: string): Buffer => Buffer.concat([this.waiters(key), Buffer.from(id)])

  #named(kind: string, key: Uint8Array): Buffer {
    return Buffer.concat([Buffer.from(this.prefix + kind), key])
  }

  // ---- Transactions

  /**
   * Makes the hold if the lock is free and no waiter is before this place. Otherwise returns
   * what is before it.
   */
  take(key: Uint8Array, id: string, lease: string, info: Info, place: Place | undefined): object {
    const free = place === undefined ? noneBelow(this.waiters(key)) : firstOf(this.waiters(key), place)
    const leave = place === undefined ? [] : [remove(this.waiter(key, id))]
    const puts = [
      put(this.token(key), EMPTY_VALUE, undefined),
      put(this.held(key), Buffer.from(id), lease),
      put(this.info(key), encode(info), lease),
    ]
    return {
      compare: [missing(this.held(key)), free],
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
      // Two rows are read, because the last one may be the caller itself, which has just come.
      below(waiters(key), { ...before, limit: 2, sort_target: 'Create', sort_order: 'Descend' }),
    ]
  }

  /** Changes the hold of that lease. Otherwise returns who has it. */
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

  tell(key: Uint8Array, id: string, lease: string, info: Info): object {
    return this.#change(key, id, lease, [put(this.info(key), encode(info), lease)])
  }

  /** Moves the hold to another lease. */
  move(key: Uint8Array, id: string, from: string, to: string, info: Info): object {
    const puts = [put(this.held(key), Buffer.from(id), to), put(this.info(key), encode(info), to)]
    return this.#change(key, id, from, puts)
  }

  force(key: Uint8Array, token: number): object {
    return { compare: this.guard(key, token), success: this.#ending(key) }
  }

  /** Both conditions are true only while the hold with that token is in force. */
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
   * Returns what a failed take, `wait` or `look` has found. `skip` is how many operations come
   * before the reads.
   */
  before(key: Uint8Array, id: string, answer: TxnAnswer, skip = 0): Before {
    const [held, info, token, place, waiters] = answer.responses.slice(skip)
    const hold = heldRow(key, rowsOf(held)[0], rowsOf(info)[0], rowsOf(token)[0])
    const own = this.waiter(key, id)
    const last = rowsOf(waiters).find((row) => !row.key.equals(own))
    const row = last?.key ?? (hold === undefined ? undefined : this.held(key))
    const count = Number(waiters?.response_range?.count ?? 0)
    const isWaiting = rowsOf(place).length > 0
    return { hold, row, waiters: count, isWaiting, revision: answer.header.revision }
  }
}

const SLASH = Buffer.from('/')
const EMPTY_VALUE = Buffer.alloc(0)

// ---- The parts of a transaction

const missing = (key: Buffer): object => ({
  key,
  target: 'Create',
  result: 'Equal',
  create_revision: '0',
})
/** A range without rows counts as one row of revision 0. */
const noneBelow = (prefix: Buffer): object => ({ ...missing(prefix), range_end: endOf(prefix) })

/** Each row of the range was made at that revision or later, and the row of the caller itself exists. */
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

/** Prefixes of rows end with a letter or a slash, so another prefix always follows them. */
const endOf = (prefix: Buffer): Buffer => asBuffer(prefixEnd(prefix) ?? EMPTY_VALUE)

export const rowsOf = (answer: OperationAnswer | undefined): readonly EtcdRow[] =>
  answer?.response_range?.kvs ?? []

/** Whether the hold before was left to expire. In that case its token still exists. */
export const hadToken = (taken: TxnAnswer): boolean =>
  (taken.responses[0]?.response_put?.prev_kv ?? null) !== null

// ---- Values

function encode({ acquires, context, lease, since }: Info): Buffer {
  const bytes = typeof context === 'string' || context === null ? undefined : binary(context)
  const text = typeof context === 'string' ? context : undefined
  return Buffer.from(JSON.stringify({ acquires, text, bytes, lease, since }))
}

/**
 * Decodes the value. Another program may have written there, so a value that cannot be read
 * counts as missing.
 */
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

/** Returns the hold of another caller. Its end on the own clock is not known, but comes within its lease. */
export const otherHold = (row: HeldRow | undefined, now: number): EngineHold | undefined =>
  row && { ...row, deadline: now + row.lease }
