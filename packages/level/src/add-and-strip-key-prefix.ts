// Rule: converts the keys of a LevelDB-like database to keys under its prefix in the store, and back.

import { compareBytes, prefixEnd } from '@latchkey/base'

export interface LevelRange {
  readonly gte?: Uint8Array | undefined
  readonly gt?: Uint8Array | undefined
  readonly lte?: Uint8Array | undefined
  readonly lt?: Uint8Array | undefined
}

/** A range of keys in the store, from `start` to before `end`. */
export interface StoreRange {
  readonly start: Uint8Array
  readonly end: Uint8Array
}

export class Prefix {
  readonly #bytes: Uint8Array
  readonly #whole: StoreRange

  constructor(prefix: unknown) {
    if (typeof prefix !== 'string' && !(prefix instanceof Uint8Array))
      throw new TypeError('prefix must be a string or a Uint8Array')
    const bytes = Uint8Array.from(Buffer.from(prefix as string))
    const end = prefixEnd(bytes)
    if (bytes.length === 0 || !end)
      throw new TypeError('prefix must not be empty, nor of 0xff bytes alone: nothing could lie behind it')
    this.#bytes = bytes
    this.#whole = { start: bytes, end }
  }

  key(key: Uint8Array): Uint8Array {
    const full = new Uint8Array(this.#bytes.length + key.length)
    full.set(this.#bytes)
    full.set(key, this.#bytes.length)
    return full
  }

  strip(key: Uint8Array): Uint8Array {
    return key.subarray(this.#bytes.length)
  }

  range({ gte, gt, lte, lt }: LevelRange): StoreRange {
    const start = gte ? this.key(gte) : gt ? behind(this.key(gt)) : this.#whole.start
    const end = lte ? behind(this.key(lte)) : lt ? this.key(lt) : this.#whole.end
    return { start, end }
  }
}

/** Returns the smallest key that is greater than `key`. */
function behind(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}

export const isEmpty = ({ start, end }: StoreRange): boolean => compareBytes(start, end) >= 0

/**
 * Returns the part of the range that an iterator still reads after a seek. If the target is outside of the
 * range, the result is empty.
 */
export function seekIn(range: StoreRange, target: Uint8Array, reverse: boolean): StoreRange {
  const outside = compareBytes(target, range.start) < 0 || compareBytes(target, range.end) >= 0
  if (outside) return { start: range.end, end: range.end }
  return reverse ? { start: range.start, end: behind(target) } : { start: target, end: range.end }
}
