// Door: encodes and decodes values in the encoding of a call.
//
// Law (VA2): a value is either stored completely or refused. Without this law, a program could put an order
// as JSON, with a Map of its items. JSON turns a Map into `{}`, and the items would be lost.

import type { As } from './key-and-value-encodings.js'
import { packValue, unpackValue } from './msgpack-codec-of-user-values.js'
import { show } from './value-in-errors.js'

export function encodeJson(value: unknown, name: string): Uint8Array {
  let text: string | undefined
  try {
    text = JSON.stringify(value, refuseUnfit)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`${name} cannot be stored as JSON: ${why}`, { cause })
  }
  if (text !== undefined) return Buffer.from(text, 'utf8')
  throw new TypeError(`${name} must not be undefined: delete the key, or put null`)
}

/**
 * JSON.stringify calls this function for each property. `this` is the object or array with the property. If
 * the property has a toJSON, `value` is the result of toJSON.
 */
function refuseUnfit(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const found = unfit(value, this[key])
  if (found === undefined) return value
  throw new TypeError(`${key === '' ? 'it' : `the property ${show(key)}`} is ${found}`)
}

function unfit(value: unknown, given: unknown): string | undefined {
  const kind = typeof value
  if (kind === 'function' || kind === 'symbol' || kind === 'bigint') return `a ${kind}`
  if (kind === 'number') return Number.isFinite(value) ? undefined : String(value)
  if (kind !== 'object' || value === null) return undefined
  const isBinary = ArrayBuffer.isView(given) || given instanceof ArrayBuffer
  if (isBinary || value instanceof Map || value instanceof Set)
    return `${show(given)}: as 'msgpack' it can be stored`
  return undefined
}

export function encodeParsed(value: unknown, as: As, name: string): Uint8Array {
  if (value === undefined) throw new TypeError(`${name} must not be undefined: delete the key, or put null`)
  return as === 'json' ? encodeJson(value, name) : packValue(value, name)
}

/** A decoder without `fatal` would replace bytes that are not UTF-8 by another character. */
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Throws if the bytes cannot be decoded. */
export const decodeParsed = (bytes: Uint8Array, as: As): unknown =>
  as === 'json' ? (JSON.parse(strict.decode(bytes)) as unknown) : unpackValue(bytes)
