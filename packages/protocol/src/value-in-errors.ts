// Rule: describes any value in an error message, in a few characters.

/**
 * Describes a value in at most about forty characters. The function calls no method of the value, because a
 * stranger may have sent the value.
 */
export const show = (value: unknown): string => {
  if (typeof value === 'string')
    return value.length > 40 ? `${JSON.stringify(value.slice(0, 40))}...` : JSON.stringify(value)
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? 'an array' : nameOf(value)
}

/** Returns 'a' and the name of the value's class, or 'an object' if the value has no class. */
const nameOf = (value: object): string => {
  const maker: unknown = Object.getPrototypeOf(value)?.constructor
  return typeof maker === 'function' ? `a ${maker.name.slice(0, 40)}` : 'an object'
}

/**
 * Converts a stored key for an error message: into a string if the bytes are valid text, otherwise into a
 * copy of the bytes.
 */
export function shownKey(key: Uint8Array): string | Uint8Array {
  try {
    return utf8Only.decode(key)
  } catch {
    return new Uint8Array(key)
  }
}
/** Describes a key or a name in a message, as text if the bytes are valid text. */
export const showKey = (key: string | Uint8Array): string =>
  show(typeof key === 'string' ? key : shownKey(key))

const utf8Only = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
