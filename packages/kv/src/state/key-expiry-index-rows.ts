// Rule: the byte format of the index of expiring keys. keyspaces.ts has a table of its rows. An `indexKey` is
// the key of a row of the index without its first byte, which names the key space.

import { fromBinary } from '@latchkey/base'
import { numberIn } from '../keyspaces.js'
import type { Expiry } from './key-value-row-format.js'

export const KIND = { due: 0, session: 1, sessionWithKeys: 2 } as const
/**
 * The length of a period, in ms of cluster time. When the store applies the first log entry of a period, the
 * store searches for keys whose ttl has ended (rules/key-expiry.ts).
 */
export const PERIOD = 100
export const periodOf = (time: number): number => Math.floor(time / PERIOD)

/** The largest cluster time or session id that fits into the key of a row of the index. */
const MOST = 2 ** 48 - 1

export function indexKeyOf(kind: number, number: number, key = ''): string {
  const head = Buffer.allocUnsafe(7)
  head[0] = kind
  head.writeUIntBE(number, 1, 6)
  return head.toString('latin1') + key
}

export interface Indexed {
  readonly indexKey: string
  readonly expiry: Expiry
  readonly key: string
}

export function indexedAt(indexKey: string): Indexed {
  const head = fromBinary(indexKey.slice(0, 7))
  const kind = head[0] === KIND.due ? 'due' : 'session'
  return { indexKey, expiry: { kind, number: numberIn(head, 1) }, key: indexKey.slice(7) }
}

/** Returns the expiry of a key that is put at cluster time `now` with this ttl. */
export const expiryAfter = (now: number, ttl: number): Expiry => ({
  kind: 'due',
  number: Math.min(Math.ceil(now) + ttl, MOST),
})

/** Returns true if the bytes are a valid `indexKey`. */
export function isIndexKey(indexKey: Uint8Array, mostKeyBytes: number): boolean {
  if (indexKey[0] === KIND.sessionWithKeys) return indexKey.length === 7
  return (
    (indexKey[0] as number) < KIND.sessionWithKeys &&
    indexKey.length > 7 &&
    indexKey.length <= 7 + mostKeyBytes
  )
}
