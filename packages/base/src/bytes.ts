// Rule: functions to compare, copy and view bytes, and to convert them to and from text.

const encoder = new TextEncoder()
/** Does not drop a byte order mark, because a key or a value may begin with this character. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export const EMPTY: Uint8Array = new Uint8Array(0)

export const utf8 = (text: string): Uint8Array => encoder.encode(text)
export const text = (bytes: Uint8Array): string => decoder.decode(bytes)

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b)
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0
}

export const startsWith = (bytes: Uint8Array, prefix: Uint8Array): boolean =>
  equalBytes(bytes.subarray(0, prefix.length), prefix)

/**
 * Returns a copy. A decoded message is a view of a received frame, so a part that is kept longer than the
 * frame must be copied.
 */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return Uint8Array.prototype.slice.call(bytes)
}

export const asBuffer = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/**
 * The methods behind Buffer.toString. They also take a Uint8Array that is no Buffer. Making a Buffer of such an
 * array would take longer than reading its text.
 */
const native = Buffer.prototype as unknown as Record<
  'latin1Slice' | 'utf8Slice',
  (this: Uint8Array, start: number, end: number) => string
>

/** Bytes that are not UTF-8 become U+FFFD. */
export const utf8Between = (bytes: Uint8Array, start: number, end: number): string =>
  native.utf8Slice.call(bytes, start, end)

/**
 * Returns a string with one character for each byte. Comparing two such strings gives the order of their
 * bytes.
 */
export const binary = (bytes: Uint8Array): string => native.latin1Slice.call(bytes, 0, bytes.length)
export const fromBinary = (key: string): Uint8Array => Buffer.from(key, 'latin1')

/**
 * Returns the smallest key that is greater than all keys with this prefix, or undefined if all bytes of the
 * prefix are 0xff.
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

/** Returns the first possible key after `key`. */
export function keyAfter(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}
