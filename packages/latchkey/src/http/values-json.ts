// Door: reads and writes values in JSON as { "text" }, { "base64" } or { "json" }, and keys, which are text
// if they are UTF-8.
//
// Law: an answer names the form of each value and never changes its bytes. A value that cannot be sent in the
// form that the caller asks for is sent in base64. Without this law: a caller asks for text, gets changed
// bytes for a picture among the values, writes these bytes back, and destroys the picture.

import { isUtf8 } from 'node:buffer'
import { knownNames, notOneOf, refuseUnknown, show, toValue } from '@latchkey/protocol'
import type { Call } from './http-ports.js'

export type ValueForm = 'text' | 'base64' | 'json'
const FORMS = ['text', 'base64', 'json'] as const
const VALUE_FIELDS = knownNames(...FORMS)

export function formOption(call: Call): ValueForm | undefined {
  const text = call.query.get('as')
  if (text === null) return undefined
  const form = FORMS.find((one) => one === text)
  if (form === undefined) throw notOneOf('as', text, FORMS)
  return form
}

export function valueJson(value: Uint8Array, form: ValueForm | undefined): object {
  if (form !== 'base64' && isUtf8(value)) {
    const text = Buffer.from(value).toString('utf8')
    if (form === 'json') return parsed(text) ?? inBase64(value)
    return { text }
  }
  return inBase64(value)
}

const inBase64 = (value: Uint8Array) => ({ base64: Buffer.from(value).toString('base64') })

/**
 * Returns the parsed JSON. Undefined if the text is not JSON, or is nested more deeply than JSON.stringify
 * can write.
 */
function parsed(text: string): object | undefined {
  try {
    const json: unknown = JSON.parse(text)
    JSON.stringify(json)
    return { json }
  } catch {
    return undefined
  }
}

/** Returns the bytes of a value in a body. `name` is the value's path in the body, for error messages. */
export function valueOf(given: unknown, name: string): Uint8Array {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw noValue(name, given)
  refuseUnknown(given, VALUE_FIELDS, 'field', name)
  const { text, base64, json } = given as Record<ValueForm, unknown>
  if (Object.keys(given).length !== 1) throw noValue(name, given)
  if (base64 !== undefined) return bytesOfBase64(base64, `${name}.base64`)
  if (json !== undefined) return toValue(json, 'json', `${name}.json`)
  if (typeof text !== 'string') throw new TypeError(`${name}.text must be a text; got ${show(text)}`)
  return Buffer.from(text)
}

const noValue = (name: string, given: unknown) =>
  new TypeError(`${name} must be { "text": … }, { "base64": … } or { "json": … }; got ${show(given)}`)

/**
 * Decodes base64 with or without padding. Node ignores invalid characters, so the function encodes the result
 * again and compares the two texts.
 */
export function bytesOfBase64(text: unknown, name: string): Uint8Array {
  const plain = typeof text === 'string' ? text.replace(/={1,2}$/, '') : undefined
  const bytes = Buffer.from(plain ?? '', 'base64')
  if (plain !== undefined && bytes.toString('base64').replace(/=+$/, '') === plain) return bytes
  throw new TypeError(`${name} must be base64; got ${show(text)}`)
}

/**
 * Reads an argument that the caller gives as text under `name`, or in base64 under `nameBase64`. Undefined if
 * the caller gives neither.
 */
export function bytesField(
  given: Readonly<Record<string, unknown>>,
  name: string,
  of: string,
): string | Uint8Array | undefined {
  const { [name]: text, [`${name}Base64`]: base64 } = given
  if (base64 === undefined) {
    if (text === undefined || typeof text === 'string') return text
    throw new TypeError(`${of}.${name} must be a text; got ${show(text)}`)
  }
  if (text !== undefined) throw new TypeError(`${of} has ${name} and ${name}Base64: give one of them`)
  return bytesOfBase64(base64, `${of}.${name}Base64`)
}
