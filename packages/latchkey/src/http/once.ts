// Door: Idempotency-Key: a write that is asked for again happens once, and has the same answer (C73).
//
// The answer is kept as a key of the store, below a prefix of its own, for KEPT_MS of cluster time. A caller
// that is limited to prefixes has it below its first one, so that its rights are those of any other key.

import { txnOnce } from '@latchkey/client'
import { DEFAULT_TIMEOUT, type EntryOfKey, show, type Txn, type WriteOptions } from '@latchkey/protocol'
import type { Call } from './http-ports.js'
import { oneHeader } from './request-options.js'

export const KEPT_BELOW = 'latchkey/idempotency/'
const KEPT_MS = 24 * 60 * 60 * 1000
const SHAPE = /^[\x21-\x7e]{1,255}$/

/** The results of a txn, in the order of its steps. */
export interface TxnDone {
  readonly succeeded: boolean
  readonly results: readonly (true | number | EntryOfKey | undefined)[]
  readonly revision: number
}

/** undefined: the caller does not ask for it. */
export function idempotencyKey(call: Call): string | undefined {
  const key = oneHeader(call, 'idempotency-key')
  if (key === undefined || SHAPE.test(key)) return key
  throw new TypeError(
    `Idempotency-Key must have 1 to 255 printable characters: draw a random one for each request; got ${show(key)}`,
  )
}

/**
 * Law: where a repeat would do more than the first request, the header is refused, and not ignored. Without this
 * law: a caller that believes in it counts a latch down twice, and the latch opens before the work is done.
 */
export function refuseIdempotencyKey(call: Call, instead: string): void {
  if (idempotencyKey(call) !== undefined)
    throw new TypeError(`${call.route.method} ${call.route.path} takes no Idempotency-Key here: ${instead}`)
}

export function writeOnce(call: Call, idempotent: string, txn: Txn, options: WriteOptions): Promise<TxnDone> {
  const below = call.who?.keys?.[0] ?? Buffer.alloc(0)
  const key = Buffer.concat([below, Buffer.from(KEPT_BELOW + idempotent)])
  const { timeout = DEFAULT_TIMEOUT, ...rest } = options
  return txnOnce(call.by.engine, txn, { ...rest, timeout: timeout as number }, { key, life: KEPT_MS })
}

/** A txn that happens once if the caller asks for that. */
export function writeTxn(call: Call, txn: Txn, options: WriteOptions): Promise<TxnDone> {
  const idempotent = idempotencyKey(call)
  return idempotent === undefined
    ? call.by.txn(txn, { ...options, as: 'bytes' })
    : writeOnce(call, idempotent, txn, options)
}
