// Rule: the value of a changed row, which may be in several parts.

import type { RowChange } from './row-store.js'

const NO_PARTS: readonly Uint8Array[] = []

/** The number of bytes of the value. */
export function valueBytes({ value, rest = NO_PARTS }: RowChange): number {
  let bytes = value?.length ?? 0
  for (const part of rest) bytes += part.length
  return bytes
}

/** The value in one piece. Undefined means that the row is removed. */
export const wholeValue = ({ value, rest }: RowChange): Uint8Array | undefined =>
  value === undefined || rest === undefined ? value : Buffer.concat([value, ...rest])
