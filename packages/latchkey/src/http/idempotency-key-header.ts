// Door: the header Idempotency-Key. The cluster applies a write with this header once, and a repeated request
// gets the same answer (C73). The answer to a repeated change of a hold has the present hold (C76).
//
// The store keeps the answer in a key below a reserved prefix, for KEPT_MS of cluster time. If the caller may
// use only some prefixes of keys, the first of these prefixes stands before the reserved prefix. So the check
// of the caller's rights also covers the key of the answer.

import type { CallsAppliedOnce } from '@latchkey/client'
import {
  type As,
  type EntryOfKey,
  LatchkeyError,
  show,
  type Txn,
  type WriteOptions,
} from '@latchkey/protocol'
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
 * Without this law: a caller relies on the header, repeats a request, and enters a barrier twice. The next
 * generation of the barrier then opens before all its parties have come. `ifRepeated` says what a repeated
 * request would do, and what to do instead.
 */
export function refuseIdempotencyKey(call: Call, ifRepeated: string | undefined): void {
  if (ifRepeated !== undefined && idempotencyKey(call) !== undefined)
    throw new TypeError(
      `${call.route.method} ${call.route.path} takes no Idempotency-Key here. ${ifRepeated}`,
    )
}

/** If the request has the header, each of the returned calls is applied only once. */
export function onceCalls(call: Call): CallsAppliedOnce<As> {
  const idempotent = idempotencyKey(call)
  if (idempotent === undefined) return call.by
  const keys = call.who?.keys
  if (keys?.length === 0)
    throw new LatchkeyError(
      'ERR_FORBIDDEN',
      'These credentials may touch no keys, so the cluster cannot keep the answer for the Idempotency-Key. Send the request without the header, or give the credentials a prefix of keys.',
    )
  const below = keys?.[0] ?? Buffer.alloc(0)
  const key = Buffer.concat([below, Buffer.from(KEPT_BELOW + idempotent)])
  return call.by.appliedOnce({ key, life: KEPT_MS })
}

export const writeTxn = (call: Call, txn: Txn, options: WriteOptions): Promise<TxnDone> =>
  onceCalls(call).txn(txn, { ...options, as: 'bytes' })
