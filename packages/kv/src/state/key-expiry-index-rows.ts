// Rule: the rows of the index that says when each key expires. keyspaces.ts describes these rows. A `place`
// is the key of such a row without the byte of its space.

import { fromBinary } from '@latchkey/base'
import { numberIn } from '../keyspaces.js'
import type { Life } from './key-value-row.js'

export const KIND = { due: 0, session: 1, holder: 2 } as const
/**
 * In ms of cluster time. Keys with a ttl are searched for once in each period of this length
 * (rules/key-expiry.ts).
 */
export const PERIOD = 100
export const periodOf = (time: number): number => Math.floor(time / PERIOD)

/** The largest number that fits into the key of such a row. */
const MOST = 2 ** 48 - 1

export function placeOf(kind: number, number: number, key = ''): string {
  const head = Buffer.allocUnsafe(7)
  head[0] = kind
  head.writeUIntBE(number, 1, 6)
  return head.toString('latin1') + key
}

/** A row of the index, decoded. */
export interface Indexed {
  /** The key of the row, without its space. */
  readonly place: string
  readonly life: Life
  readonly key: string
}

export function indexedAt(place: string): Indexed {
  const head = fromBinary(place.slice(0, 7))
  const kind = head[0] === KIND.due ? 'due' : 'session'
  return { place, life: { kind, number: numberIn(head, 1) }, key: place.slice(7) }
}

/** Returns the lifetime of a key that is put at `now` with this ttl. */
export const lifeUntil = (now: number, ttl: number): Life => ({
  kind: 'due',
  number: Math.min(Math.ceil(now) + ttl, MOST),
})

/** Whether these bytes are a valid key of the index, without its space. */
export function isPlace(place: Uint8Array, mostKeyBytes: number): boolean {
  if (place[0] === KIND.holder) return place.length === 7
  return (place[0] as number) < KIND.holder && place.length > 7 && place.length <= 7 + mostKeyBytes
}
