// Rule: the few things one does with bytes.

const encoder = new TextEncoder()
/** Nothing is dropped: a byte order mark is part of a key or a value as any other character. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export const EMPTY: Uint8Array = new Uint8Array(0)

export const utf8 = (text: string): Uint8Array => encoder.encode(text)
export const text = (bytes: Uint8Array): string => decoder.decode(bytes)

/** Byte order; the order of keys everywhere. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b)
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0
}

/** What Buffer's own views are made by, without the bounds that `subarray` works out: for where they are known. */
export const View = (Buffer as unknown as Record<symbol, unknown>)[Symbol.species] as new (
  memory: ArrayBufferLike,
  offset: number,
  length: number,
) => Buffer

/** A copy that shares no memory with its source. Decoded messages are views of a frame: copy what you keep. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return Uint8Array.prototype.slice.call(bytes)
}

/** The same bytes; no copy. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Bytes as a string of one character a byte: a Map key whose string order is the byte order. */
export const binary = (bytes: Uint8Array): string => asBuffer(bytes).toString('latin1')
export const fromBinary = (key: string): Uint8Array => Buffer.from(key, 'latin1')

/** The first key behind all keys that start with `prefix`; undefined when there is none (all 0xff). */
export function prefixEnd(prefix: Uint8Array): Uint8Array | undefined {
  for (let i = prefix.length - 1; i >= 0; i--) {
    if (prefix[i] !== 0xff) {
      const end = copyBytes(prefix.subarray(0, i + 1))
      end[i] = (end[i] as number) + 1
      return end
    }
  }
  return undefined
}
