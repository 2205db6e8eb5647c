// Rule: the byte format of the index of expiring keys. keyspaces.ts has a table of its rows. A `place` is the
// key of such a row without its first byte, which names the key space.

import { fromBinary } from '@latchkey/base'
import { numberIn } from '../keyspaces.js'
import type { Life } from './key-value-row.js'

export const KIND = { due: 0, session: 1, holder: 2 } as const
/**
 * In ms of cluster time. The first entry of each period of this length searches for keys whose ttl has ended
 * (rules/key-expiry.ts).
 */
export const PERIOD = 100
export const periodOf = (time: number): number => Math.floor(time / PERIOD)

/** The largest cluster time or session id that fits into the key of a row of the index. */
const MOST = 2 ** 48 - 1

export function placeOf(kind: number, number: number, key = ''): string {
  const head = Buffer.allocUnsafe(7)
  head[0] = kind
  head.writeUIntBE(number, 1, 6)
  return head.toString('latin1') + key
}

/** A decoded row of the index. */
export interface Indexed {
  /** The key of the row, without its first byte. */
  readonly place: string
  readonly life: Life
  readonly key: string
}

export function indexedAt(place: string): Indexed {
  const head = fromBinary(place.slice(0, 7))
  const kind = head[0] === KIND.due ? 'due' : 'session'
  return { place, life: { kind, number: numberIn(head, 1) }, key: place.slice(7) }
}

/** Returns the end of a key that is put at cluster time `now` with this ttl. */
export const lifeUntil = (now: number, ttl: number): Life => ({
  kind: 'due',
  number: Math.min(Math.ceil(now) + ttl, MOST),
})

/** Returns true if the bytes are a valid key of a row of the index, without its first byte. */
export function isPlace(place: Uint8Array, mostKeyBytes: number): boolean {
  if (place[0] === KIND.holder) return place.length === 7
  return (place[0] as number) < KIND.holder && place.length > 7 && place.length <= 7 + mostKeyBytes
}
