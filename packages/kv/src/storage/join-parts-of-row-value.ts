// Rule: computes the length and the bytes of a changed row's value, which may be in several parts.

import type { RowChange } from './row-store-interface.js'

const NO_PARTS: readonly Uint8Array[] = []

/** Returns 0 if the row is removed. */
export function valueBytes({ value, rest = NO_PARTS }: RowChange): number {
  let bytes = value?.length ?? 0
  for (const part of rest) bytes += part.length
  return bytes
}

/** Returns the value in one buffer, or undefined if the row is removed. */
export const wholeValue = ({ value, rest }: RowChange): Uint8Array | undefined =>
  value === undefined || rest === undefined ? value : Buffer.concat([value, ...rest])
