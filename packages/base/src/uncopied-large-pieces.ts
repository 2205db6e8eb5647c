// Rule: joins encoded bytes with large byte arrays that are not copied into the buffer. The result is a list
// of parts for one call of writev.

/** A large byte array that belongs into the encoded bytes, before the byte of the buffer at index `at`. */
export interface Apart {
  readonly at: number
  readonly data: Uint8Array
}

/**
 * In bytes. A byte array of at least this size is not copied, because one more part of a writev costs less
 * than a copy.
 */
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
