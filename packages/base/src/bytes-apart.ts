// Rule: bytes that are encoded in a buffer. Large pieces are not copied into the buffer.

/** A large piece of the encoded bytes. It belongs before the byte at index `at` of the buffer. */
export interface Apart {
  readonly at: number
  readonly data: Uint8Array
}

/**
 * A piece of at least this many bytes is not copied into the buffer: a part of its own costs less than the
 * copy.
 */
export const APART_BYTES: number = 64 * 1024

/**
 * Returns the bytes [from, end) of the buffer, split into parts, with each large piece inserted at its index.
 */
export function withApart(buffer: Buffer, from: number, end: number, apart: readonly Apart[]): Uint8Array[] {
  const parts: Uint8Array[] = []
  let begin = from
  for (const { at, data } of apart) {
    if (begin < at) parts.push(buffer.subarray(begin, at))
    parts.push(data)
    begin = at
  }
  if (begin < end) parts.push(buffer.subarray(begin, end))
  return parts
}
