// Door: converts values to JSON and back, as { "text" }, { "base64" } or { "json" }. Keys are text if their
// bytes are UTF-8, and base64 otherwise.
//
// Law: each value in an answer names its form, and the bytes of a value are never changed. A value that
// cannot be sent in the form that the caller asked for is sent in base64. Without this law: a caller asks for
// text, gets the changed bytes of a picture, writes these bytes back, and destroys the picture.

import { isUtf8 } from 'node:buffer'
import { knownNames, notOneOf, refuseUnknown, show, toValue } from '@latchkey/protocol'
import type { Call } from './http-route-dependencies.js'

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

/** Undefined if the text is no JSON, or is nested too deeply for JSON.stringify. */
function parsed(text: string): object | undefined {
  try {
    const json: unknown = JSON.parse(text)
    JSON.stringify(json)
    return { json }
  } catch {
    return undefined
  }
}

/** `name` is the path of the value in the body, for messages of errors. */
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
 * Accepts base64 with or without padding. Node ignores invalid characters, so the result is encoded again and
 * compared.
 */
export function bytesOfBase64(text: unknown, name: string): Uint8Array {
  const plain = typeof text === 'string' ? text.replace(/={1,2}$/, '') : undefined
  const bytes = Buffer.from(plain ?? '', 'base64')
  if (plain !== undefined && bytes.toString('base64').replace(/=+$/, '') === plain) return bytes
  throw new TypeError(`${name} must be base64; got ${show(text)}`)
}

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
