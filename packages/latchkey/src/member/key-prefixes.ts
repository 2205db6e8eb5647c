// Rule: finds the prefix to which a key belongs, and checks whether ranges lie within prefixes.

import { compareBytes, prefixEnd, startsWith } from '@latchkey/base'

type Key = Uint8Array
/** The range contains its start, but not its end. `null` means no limit on this side. */
export type Span = readonly [start: Key | null, end: Key | null]

/** The list is sorted, and no prefix begins with another prefix, so at most one prefix can match. */
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

export function tidyPrefixes(prefixes: readonly Key[]): readonly Key[] {
  const tidy: Key[] = []
  for (const prefix of [...prefixes].sort(compareBytes)) {
    const before = tidy.at(-1)
    if (before === undefined || !startsWith(prefix, before)) tidy.push(prefix)
  }
  return tidy
}
