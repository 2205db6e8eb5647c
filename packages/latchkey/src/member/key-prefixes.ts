// Rule: which keys and ranges lie below which prefixes.

import { compareBytes, prefixEnd, startsWith } from '@latchkey/base'

type Key = Uint8Array
/** The start is in the range, the end is not. null means no limit. */
export type Span = readonly [start: Key | null, end: Key | null]

/**
 * Finds the prefix of a key in a sorted list of prefixes, none of which begins with another. Only the last
 * prefix that is not greater than the key can be its prefix. So a command of many keys costs little more for
 * a client with many prefixes.
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

/** Returns the prefixes as an Identity has them: sorted, and none of them begins with another one. */
export function tidyPrefixes(prefixes: readonly Key[]): readonly Key[] {
  const tidy: Key[] = []
  for (const prefix of [...prefixes].sort(compareBytes)) {
    const before = tidy.at(-1)
    if (before === undefined || !startsWith(prefix, before)) tidy.push(prefix)
  }
  return tidy
}
