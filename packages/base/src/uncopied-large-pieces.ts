// Rule: joins encoded bytes with large pieces that are not copied. One call of writev writes all parts
// together.

/** A large piece that is not in the buffer. It comes before the byte of the buffer at index `at`. */
export interface Apart {
  readonly at: number
  readonly data: Uint8Array
}

/** In bytes. For a piece of at least this size, an additional part of a writev costs less than a copy. */
export const APART_BYTES: number = 64 * 1024

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
