// Rule: a value in a message: a few characters of it, whoever made it up.

/** At most some forty characters, of any value at all, also of one that a stranger made up: nothing of the value is called. */
export const show = (value: unknown): string => {
  if (typeof value === 'string')
    return value.length > 40 ? `${JSON.stringify(value.slice(0, 40))}...` : JSON.stringify(value)
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? 'an array' : nameOf(value)
}

/** The name of its class, where that is one. */
const nameOf = (value: object): string => {
  const maker: unknown = Object.getPrototypeOf(value)?.constructor
  return typeof maker === 'function' ? `a ${maker.name.slice(0, 40)}` : 'an object'
}
