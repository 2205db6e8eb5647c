// Door: the routes that read several keys: GET /v1/kv and POST /v1/kv:getMany.
//
// Law: `next` is null only on the last page. A page ends early if its rows have too many bytes, so a short
// page need not be the last one. Only the store's answer says whether more rows follow.

import { compareBytes, elementAt } from '@latchkey/base'
import { pagesOf } from '@latchkey/client'
import { CAPS, DEFAULT_TIMEOUT, LatchkeyError, type Range, rangeArgs, show } from '@latchkey/protocol'
import { keyJson } from './http-status-of-errors.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { objectOf } from './json-body.js'
import {
  afterOption,
  bytesOption,
  flagOption,
  limitOption,
  nextOf,
  readOptions,
} from './request-headers-and-query.js'
import { bytesField, formOption, type ValueForm, valueJson } from './values-json.js'

export async function listKeys(call: Call): Promise<Reply> {
  const limit = limitOption(call)
  const keysOnly = flagOption(call, 'keys_only')
  const form = formOption(call)
  const { timeout = DEFAULT_TIMEOUT, signal, consistency } = readOptions(call)
  const bounds = rangeArgs({ ...rangeOf(call), limit: limit + 1, keysOnly })
  const part = keysOnly ? 'keys' : 'revisions'
  const options = { timeout: timeout as number, signal, stale: consistency === 'stale' }
  const pages = pagesOf(call.by.engine, { ...bounds, part }, options)
  try {
    const { value: page } = await pages.next()
    if (page === undefined) throw new LatchkeyError('ERR_PROTOCOL')
    const rows = page.rows.slice(0, limit)
    const last = rows.at(-1)
    const isMore = page.rows.length > limit || page.view !== 0
    const entries = rows.map(([key, value, modRevision]) => ({
      ...keyJson(key),
      ...(value !== null && { value: valueJson(value, form), modRevision }),
    }))
    const next = isMore && last !== undefined ? nextOf(last[0]) : null
    return { status: 200, body: { revision: page.revision, entries, next } }
  } finally {
    await pages.return(undefined)
  }
}

/** If `after` and `gte` are both given, the range begins at the greater key. */
function rangeOf(call: Call): Range {
  const [prefix, gte, lt] = ['prefix', 'gte', 'lt'].map((name) => bytesOption(call, name))
  const after = afterOption(call)
  const isAfter = after !== undefined && (gte === undefined || compareBytes(after, gte) >= 0)
  return { prefix, lt, ...(isAfter ? { gt: after } : { gte }) }
}

/** In bytes. CAPS.readKeys keys of usual length fit into a body. */
const MOST_BYTES = 1024 * 1024

export async function getMany(call: Call): Promise<Reply> {
  const form = formOption(call)
  const options = readOptions(call)
  const { keys } = await objectOf(call, MOST_BYTES)
  if (!Array.isArray(keys)) throw new TypeError(`keys must be a list; got ${show(keys)}`)
  if (keys.length > CAPS.readKeys)
    throw new LatchkeyError('ERR_TOO_LARGE', `One call may ask for ${CAPS.readKeys} keys. Split it.`)
  const named = keys.map((key: unknown, at) => keyOfList(key, `keys[${at}]`))
  const values = await call.by.multiGet(named, { ...options, as: 'bytes' })
  return {
    status: 200,
    headers: JSON_TYPE,
    stream: { pieces: entriesOf(named, values, form), isEndless: false },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

function keyOfList(given: unknown, name: string): string | Uint8Array {
  if (typeof given === 'string') return given
  const isObject = typeof given === 'object' && given !== null
  const key = isObject ? bytesField(given as Record<string, unknown>, 'key', name) : undefined
  if (key !== undefined) return key
  throw new TypeError(`${name} must be a text or { "keyBase64": … }; got ${show(given)}`)
}

/** Yields the JSON of one value at a time. A conversion of 15 MiB in one step would block the event loop. */
async function* entriesOf(
  keys: readonly (string | Uint8Array)[],
  values: readonly (Uint8Array | undefined)[],
  form: ValueForm | undefined,
): AsyncGenerator<string, undefined> {
  let text = '{"entries":['
  for (const [at, value] of values.entries()) {
    const key = keyJson(elementAt(keys, at))
    const entry = value === undefined ? null : { ...key, value: valueJson(value, form) }
    text += `${at === 0 ? '' : ','}${JSON.stringify(entry)}`
    if (text.length < PIECE) continue
    yield text
    text = ''
  }
  yield `${text}]}\n`
  return undefined
}

/** In bytes. The size of one piece of a long answer. */
const PIECE = 64 * 1024
