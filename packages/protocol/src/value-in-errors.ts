// Rule: describes any value in an error message, in a few characters.

/**
 * Calls no method of an object. A stranger may send an object such as { toString: 1 }, and String() would
 * throw an error.
 */
export const show = (value: unknown): string => {
  if (typeof value === 'string')
    return value.length > 40 ? `${JSON.stringify(value.slice(0, 40))}...` : JSON.stringify(value)
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? 'an array' : nameOf(value)
}

const nameOf = (value: object): string => {
  const maker: unknown = Object.getPrototypeOf(value)?.constructor
  return typeof maker === 'function' ? `a ${maker.name.slice(0, 40)}` : 'an object'
}

/** Returns the key as a string if the bytes are valid UTF-8, otherwise a copy of the bytes. */
export function shownKey(key: Uint8Array): string | Uint8Array {
  try {
    return utf8Only.decode(key)
  } catch {
    return new Uint8Array(key)
  }
}
export const showKey = (key: string | Uint8Array): string =>
  show(typeof key === 'string' ? key : shownKey(key))

const utf8Only = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
