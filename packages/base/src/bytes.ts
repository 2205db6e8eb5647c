// Rule: small functions over bytes: compare, copy, view, and convert to and from text.

const encoder = new TextEncoder()
/**
 * Decodes UTF-8. A byte order mark is kept, because it may be part of a key or a value like any other
 * character.
 */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export const EMPTY: Uint8Array = new Uint8Array(0)

export const utf8 = (text: string): Uint8Array => encoder.encode(text)
export const text = (bytes: Uint8Array): string => decoder.decode(bytes)

/** Compares byte by byte. All keys are ordered by this function. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b)
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0
}

export const startsWith = (bytes: Uint8Array, prefix: Uint8Array): boolean =>
  equalBytes(bytes.subarray(0, prefix.length), prefix)

/**
 * Returns a copy that shares no memory with its source. A decoded message is a view of a received frame. So
 * each part that is kept longer than the frame must be copied.
 */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return Uint8Array.prototype.slice.call(bytes)
}

/** Returns a Buffer over the same memory, without a copy. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Returns a string with one character for each byte. Such strings are ordered like their bytes. */
export const binary = (bytes: Uint8Array): string => asBuffer(bytes).toString('latin1')
export const fromBinary = (key: string): Uint8Array => Buffer.from(key, 'latin1')

/**
 * Returns the first key after all keys that start with `prefix`. Returns undefined if each byte of the prefix
 * is 0xff, because then no such key exists.
 */
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
