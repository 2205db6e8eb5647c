// Rule: the rows of the index of keys' lives (keyspaces.ts draws them): which key goes when. A place is a row's key after its space.

import { fromBinary } from '@latchkey/base'
import { numberIn } from '../keyspaces.js'
import type { Life } from './data-row.js'

export const KIND = { due: 0, session: 1, holder: 2 } as const
/** Cluster time, ms: keys with a ttl are looked for once in that time (rules/key-expiry.ts). */
export const PERIOD = 100
export const periodOf = (time: number): number => Math.floor(time / PERIOD)

/** What a row's key has room for. */
const MOST = 2 ** 48 - 1

export function placeOf(kind: number, number: number, key = ''): string {
  const head = Buffer.allocUnsafe(7)
  head[0] = kind
  head.writeUIntBE(number, 1, 6)
  return head.toString('latin1') + key
}

/** A row of the index. */
export interface Indexed {
  /** Its key there. */
  readonly place: string
  readonly life: Life
  readonly key: string
}

export function indexedAt(place: string): Indexed {
  const head = fromBinary(place.slice(0, 7))
  const kind = head[0] === KIND.due ? 'due' : 'session'
  return { place, life: { kind, number: numberIn(head, 1) }, key: place.slice(7) }
}

/** The life that begins at `now`. */
export const lifeUntil = (now: number, ttl: number): Life => ({
  kind: 'due',
  number: Math.min(Math.ceil(now) + ttl, MOST),
})

/** Of a row of the index: its key behind the space's byte. */
export function isPlace(place: Uint8Array, mostKeyBytes: number): boolean {
  if (place[0] === KIND.holder) return place.length === 7
  return (place[0] as number) < KIND.holder && place.length > 7 && place.length <= 7 + mostKeyBytes
}
