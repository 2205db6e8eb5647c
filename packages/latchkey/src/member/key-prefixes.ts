// Rule: finds out which keys and ranges lie below which prefixes.

import { compareBytes, prefixEnd, startsWith } from '@latchkey/base'

type Key = Uint8Array
/** A range of keys. The start belongs to the range, and the end does not. null means no limit. */
export type Span = readonly [start: Key | null, end: Key | null]

/**
 * Finds the prefix of a key in a sorted list of prefixes. No prefix in the list begins with another one. Only
 * the last prefix that is not greater than the key can be the prefix of the key. So a command of many keys
 * costs little more for a client with many prefixes.
 */
export function prefixOf(prefixes: readonly Key[], key: Key): Key | undefined {
  let [low, high] = [0, prefixes.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareBytes(prefixes[middle] as Key, key) <= 0) low = middle + 1
    else high = middle
  }
  const last = prefixes[low - 1]
  return last !== undefined && startsWith(key, last) ? last : undefined
}

export function isBelowOne(prefixes: readonly Key[], [start, end]: Span): boolean {
  const prefix = start === null ? undefined : prefixOf(prefixes, start)
  if (prefix === undefined) return false
  const last = prefixEnd(prefix)
  return last === undefined || (end !== null && compareBytes(end, last) <= 0)
}

/**
 * Returns the prefixes in the form that an Identity needs: sorted, and without prefixes that begin with
 * another one.
 */
export function tidyPrefixes(prefixes: readonly Key[]): readonly Key[] {
  const tidy: Key[] = []
  for (const prefix of [...prefixes].sort(compareBytes)) {
    const before = tidy.at(-1)
    if (before === undefined || !startsWith(prefix, before)) tidy.push(prefix)
  }
  return tidy
}
