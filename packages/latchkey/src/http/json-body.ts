// Door: reads a request body as a JSON object. A field that the table of routes does not list is an error.

import { knownNames, refuseUnknown } from '@latchkey/protocol'
import type { Call } from './http-route-dependencies.js'

/**
 * In bytes. The context of a hold has up to 4 KiB. Even if each character of the context is escaped, the
 * context fits into a body together with all other fields.
 */
const MOST_BYTES = 64 * 1024

export async function objectOf(call: Call, most = MOST_BYTES): Promise<Record<string, unknown>> {
  const { body } = call.route
  const text = Buffer.from(await call.body(most)).toString('utf8')
  if (text === '' && body?.optional === true) return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new TypeError('The body must be a JSON object.', { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('The body must be a JSON object.')
  refuseUnknown(value, knownNames(...Object.keys(body?.fields ?? {})), 'field', 'the body')
  return value as Record<string, unknown>
}
