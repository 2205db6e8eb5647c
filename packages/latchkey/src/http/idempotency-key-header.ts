// Door: the header Idempotency-Key. The cluster applies a write with this header once, and a repeated request
// gets the same answer (C73).
//
// The store keeps the answer in a key below a reserved prefix, for KEPT_MS of cluster time. If the caller may
// use only some prefixes of keys, the first of these prefixes stands before the reserved prefix. So the check
// of the caller's rights also covers the key of the answer.

import { txnOnce } from '@latchkey/client'
import { DEFAULT_TIMEOUT, type EntryOfKey, show, type Txn, type WriteOptions } from '@latchkey/protocol'
import type { Call } from './http-route-dependencies.js'
import { oneHeader } from './request-headers-and-query.js'

const KEPT_BELOW = 'latchkey/idempotency/'
/** In ms. A day. */
const KEPT_MS = 24 * 60 * 60 * 1000
const SHAPE = /^[\x21-\x7e]{1,255}$/

/** `results` has one element for each step of the transaction. */
export interface TxnDone {
  readonly succeeded: boolean
  readonly results: readonly (true | number | EntryOfKey | undefined)[]
  readonly revision: number
}

export function idempotencyKey(call: Call): string | undefined {
  const key = oneHeader(call, 'idempotency-key')
  if (key === undefined || SHAPE.test(key)) return key
  throw new TypeError(
    `Idempotency-Key must have 1 to 255 printable characters: draw a random one for each request; got ${show(key)}`,
  )
}

/**
 * Law: a route whose repeated request would change something again refuses the header, and never ignores it.
 * Without this law: a caller relies on the header, repeats a request, and counts a latch down twice. The latch
 * then opens before the work is done. `ifRepeated` says what a repeated request would do.
 */
export function refuseIdempotencyKey(call: Call, ifRepeated: string | undefined): void {
  if (ifRepeated !== undefined && idempotencyKey(call) !== undefined)
    throw new TypeError(
      `${call.route.method} ${call.route.path} takes no Idempotency-Key here. ${ifRepeated}`,
    )
}

export function writeOnce(call: Call, idempotent: string, txn: Txn, options: WriteOptions): Promise<TxnDone> {
  const below = call.who?.keys?.[0] ?? Buffer.alloc(0)
  const key = Buffer.concat([below, Buffer.from(KEPT_BELOW + idempotent)])
  const { timeout = DEFAULT_TIMEOUT, ...rest } = options
  return txnOnce(call.by.engine, txn, { ...rest, timeout: timeout as number }, { key, life: KEPT_MS })
}

export function writeTxn(call: Call, txn: Txn, options: WriteOptions): Promise<TxnDone> {
  const idempotent = idempotencyKey(call)
  return idempotent === undefined
    ? call.by.txn(txn, { ...options, as: 'bytes' })
    : writeOnce(call, idempotent, txn, options)
}
