// Door: reads the headers and the query parameters of a request. A header with one value may occur only once.

import {
  type CallOptions,
  CAPS,
  DEFAULT_TIMEOUT,
  type Guard,
  millis,
  notOneOf,
  type ReadOptions,
  show,
} from '@latchkey/protocol'
import { didYouMean } from '@latchkey/base'
import type { Call } from './http-route-dependencies.js'
import { LIST_ROWS } from './route-schemas.js'
import type { Route } from './route-table.js'
import { keyOf, limitedKey, percentDecoded } from './route-of-path.js'
import { bytesOfBase64 } from './values-json.js'

export function oneHeader(call: Call, name: string): string | undefined {
  const value = call.headers[name]
  if (Array.isArray(value)) throw new TypeError(`${name} must be given once.`)
  return value
}

export function refuseUnknownQuery({ method, path, query: known }: Route, query: URLSearchParams): void {
  if (known === undefined) return
  const names = Object.keys(known)
  for (const name of query.keys()) {
    if (Object.hasOwn(known, name)) {
      if (query.getAll(name).length > 1) throw new TypeError(`${name} must be given once.`)
      continue
    }
    const hint = didYouMean(name, names)
    const all = names.length === 0 ? 'there are none' : `there are ${names.join(', ')}`
    throw new TypeError(
      `Unknown query parameter ${show(name)} of ${method} ${path}${hint === '' ? `: ${all}.` : hint}`,
    )
  }
}

const timeoutOption = (call: Call): number | undefined => durationOption(call, 'timeout')

/** Returns the option as ms. */
export function durationOption(call: Call, name: 'timeout' | 'ttl'): number | undefined {
  const text = call.query.get(name)
  return text === null ? undefined : millis(durationOf(text), name)
}

/** In a query, '5000' means 5000 ms, because a query has only texts and no numbers. */
const durationOf = (text: string): number | string => (/^[1-9][0-9]*$/.test(text) ? Number(text) : text)

export function callOptions(call: Call): CallOptions {
  return { timeout: timeoutOption(call), signal: call.signal }
}

/** The engine and the lock port have no default timeout, so this function adds one. */
export const limits = (call: Call) => ({
  timeout: timeoutOption(call) ?? DEFAULT_TIMEOUT,
  signal: call.signal,
})

export const writeOptions = (call: Call) => ({ guard: guardOf(call), ...callOptions(call) })

export function readOptions(call: Call): ReadOptions {
  const consistency = call.query.get('consistency') ?? 'linearizable'
  if (consistency !== 'linearizable' && consistency !== 'stale')
    throw notOneOf('consistency', consistency, ['linearizable', 'stale'])
  return { ...callOptions(call), consistency }
}

export function flagOption(call: Call, name: string, standard = false): boolean {
  const text = call.query.get(name)
  if (text === null) return standard
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw notOneOf(name, text, ['true', 'false'])
}

export function wholeOption(call: Call, name: string): number | undefined {
  const text = call.query.get(name)
  if (text === null) return undefined
  if (/^[0-9]{1,15}$/.test(text)) return Number(text)
  throw new TypeError(`${name} must be a whole number; got ${show(text)}`)
}

/**
 * A limit above the maximum is an error. If the limit were reduced in silence, the caller would get fewer
 * rows than it asked for and would think that the list is complete.
 */
export function limitOption(call: Call): number {
  const limit = wholeOption(call, 'limit') ?? LIST_ROWS
  if (limit <= CAPS.pageRows) return limit
  throw new TypeError(`limit must be at most ${CAPS.pageRows}; got ${limit}. "next" leads to the next page.`)
}

export function bytesOption(call: Call, name: string): Uint8Array | undefined {
  const start = `${name}=`
  const part = call.rawQuery.split('&').find((one) => one.startsWith(start))
  if (part !== undefined)
    return limitedKey(percentDecoded(part.slice(start.length).replaceAll('+', ' '), name), name)
  const text = call.query.get(name)
  return text === null ? undefined : limitedKey(Buffer.from(text), name)
}

const IN_BASE64 = 'base64:'

/**
 * The parameter `after` is the `next` of the previous page: a key as text, or 'base64:' and the key in
 * base64.
 */
export function afterOption(call: Call): Uint8Array | undefined {
  const text = call.query.get('after')
  if (text?.startsWith(IN_BASE64) === true)
    return limitedKey(bytesOfBase64(text.slice(IN_BASE64.length), 'after'), 'after')
  return bytesOption(call, 'after')
}

/** Converts a key of any bytes into the text from which afterOption gets the key back. */
export function nextOf(key: Uint8Array): string {
  const text = Buffer.from(key).toString('utf8')
  const isText = Buffer.from(text).equals(key) && !text.startsWith(IN_BASE64)
  return isText ? text : IN_BASE64 + Buffer.from(key).toString('base64')
}

/**
 * The header Latchkey-Guard has the form `key;token` with a percent-encoded key. The write is applied only
 * while a hold of this lock with this fencing token is in force.
 */
function guardOf(call: Call): Guard | undefined {
  const text = oneHeader(call, 'latchkey-guard')
  if (text === undefined) return undefined
  const [, key, token] = /^([^;]+);([1-9][0-9]{0,15})$/.exec(text.trim()) ?? []
  if (key === undefined || !Number.isSafeInteger(Number(token))) {
    throw new TypeError(
      'Latchkey-Guard must be key;token, the key percent-encoded, the token a positive number.',
    )
  }
  return { key: keyOf(key.replaceAll('/', '%2F')), token: Number(token) }
}
