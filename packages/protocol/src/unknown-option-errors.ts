// Door: refuses the name of an option or a field that a call does not know.
//
// Law: no unknown name is ignored. Without this law, a user could write `put(key, value, { gaurd })`, and the
// put would succeed without its guard. A former holder could then overwrite a value of the present holder.

import { didYouMean } from '@latchkey/base'
import { show } from './value-in-errors.js'

export type KnownNames = Readonly<Record<string, true>>

export const knownNames = (...names: readonly string[]): KnownNames =>
  Object.freeze(Object.fromEntries(names.map((name) => [name, true as const])))

/** `of` is the call, or the argument that has these fields. */
export function refuseUnknown(given: object, known: KnownNames, kind: 'option' | 'field', of: string): void {
  for (const name in given)
    if (known[name] !== true && Object.hasOwn(given, name))
      throw unknownName(kind, name, of, Object.keys(known))
}

export function unknownName(
  kind: 'option' | 'field',
  name: string,
  of: string,
  known: readonly string[],
): TypeError {
  const hint = didYouMean(name, known) || `: known are ${known.join(', ')}`
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name
  return new TypeError(`unknown ${kind} ${JSON.stringify(shown)} of ${of}${hint}`)
}

export function notOneOf(name: string, value: unknown, known: readonly string[]): TypeError {
  const quoted = known.map((word) => `'${word}'`)
  const last = quoted.pop() ?? ''
  const list = quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`
  const hint = typeof value === 'string' ? didYouMean(value, known) : ''
  return new TypeError(`${name} must be ${list}; got ${show(value)}${hint}`)
}
