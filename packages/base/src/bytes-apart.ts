// Rule: encoded bytes whose large pieces are not copied into the buffer. The buffer and the pieces are
// written together (writev).

/** A large piece of the encoded bytes. The piece comes before the buffer's byte at index `at`. */
export interface Apart {
  readonly at: number
  readonly data: Uint8Array
}

/**
 * In bytes. A piece of at least this size is not copied, because an additional part of a write costs less
 * than the copy.
 */
export const APART_BYTES: number = 64 * 1024

/** Returns the buffer's bytes from `from` to `end` as a list of parts, with each large piece at its place. */
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
