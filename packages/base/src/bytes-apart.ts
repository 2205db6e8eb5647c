// Rule: bytes that are encoded in a buffer, with large pieces that are not copied into it.

/** A large piece. Its bytes stand before the byte at `at` of the buffer. */
export interface Apart {
  readonly at: number
  readonly data: Uint8Array
}

/** The least bytes of a piece for which a part of its own costs less than a copy. */
export const APART_BYTES: number = 64 * 1024

/** Returns the bytes [from, end) of the buffer with the large pieces in their places, as parts in their order. */
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
